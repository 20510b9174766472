import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'
import { folderOfFile } from '#test/support/folder.ts'

/**
 * Every rule of .oxlintrc.json that the project relies on, with code that breaks it. The test fails if a rule is
 * switched off or renamed by a new linter release.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const BAD: Readonly<Record<string, string | readonly string[]>> = {
  'typescript(no-floating-promises)':
    'export async function work(): Promise<void> {}\nexport function start(): void {\n  work()\n}\n',
  'typescript(no-misused-promises)':
    'export async function work(): Promise<boolean> {\n  return true\n}\nexport function start(): ' +
    'number {\n  return work() ? 1 : 2\n}\n',
  'typescript(await-thenable)': 'export async function work(): Promise<number> {\n  return await 1\n}\n',
  'typescript(only-throw-error)': "export function refuse(): never {\n  throw 'no'\n}\n",
  'typescript(switch-exhaustiveness-check)':
    "export function rank(level: 'low' | 'high'): number {\n  switch (level) {\n    case 'low':\n    " +
    '  return 1\n  }\n  return 2\n}\n',
  'typescript(no-explicit-any)': 'export function take(value: any): string {\n  return String(value)\n}\n',
  'typescript(no-non-null-assertion)':
    'export function first(list: readonly string[]): string {\n  return list[0]!\n}\n',
  'typescript(no-unsafe-member-access)':
    'export function port(text: string): unknown {\n  return JSON.parse(text).port\n}\n',
  'typescript(consistent-type-imports)':
    "import { Shape } from './shape.ts'\nexport function area(shape: Shape): number {\n  return shape.side ** 2\n}\n",
  'import(no-cycle)':
    "import type { There } from './partner.ts'\nexport interface Here {\n  readonly there?: There\n}\n",
  'node(no-process-env)': [
    'export const port = process.env.PORT\n',
    "export const level = process['env']['LOG_LEVEL']\n",
  ],
  'eslint(no-restricted-imports)': [
    "import Client, {\n  type RedisOptions,\n} from 'ioredis'\nexport const open = (options: RedisOptions): Client => " +
      'new Client(options)\n',
    "export const { Redis } = await import('ioredis')\n",
    "import { env } from 'node:process'\nexport const port = env['PORT']\n",
  ],
  'eslint(no-restricted-properties)': [
    "import { test } from 'vitest'\ntest.fails('ids differ', () => {})\n",
    "import { describe } from 'vitest'\ndescribe.runIf(slow)('ids', () => {})\n",
    "import { test } from 'vitest'\ntest.concurrent.skipIf(slow)('ids differ', () => {})\n",
    "import { expect } from 'vitest'\nawait expect\n  .poll(() => 1)\n  .toBe(1)\n",
    "import { vi } from 'vitest'\nawait vi.waitFor(() => undefined)\n",
    "import { vi } from 'vitest'\nawait vi.waitUntil(() => true)\n",
    "import { vi } from 'vitest'\nvi.setConfig({ testTimeout: 90_000 })\n",
  ],
  'eslint(no-warning-comments)': ['// TODO: make them sortable\n', '/* FIXME */\n', 'export const one = 1 // XXX\n'],
  'vitest(no-conditional-tests)': "import { test } from 'vitest'\nif (slow) test('ids differ', () => {})\n",
  'vitest(no-disabled-tests)': "import { test } from 'vitest'\ntest.skip('ids differ', () => {})\n",
  'vitest(no-focused-tests)': "import { test } from 'vitest'\ntest.only('ids differ', () => {})\n",
  'vitest(warn-todo)': "import { test } from 'vitest'\ntest.todo('ids differ')\n",
  'import(no-default-export)': 'export default function start(): void {}\n',
  'eslint(no-unused-vars)': 'export function sum(): number {\n  const unused = 1\n  return 2\n}\n',
  'eslint(no-console)': "export function say(): void {\n  console.log('hello')\n}\n",
  'eslint(eqeqeq)': 'export function same(a: number, b: number): boolean {\n  return a == b\n}\n',
  'eslint(max-lines-per-function)': [
    'export function long(): number {\n  let sum = 0\n',
    '  sum += 1\n'.repeat(60),
    '  return sum\n}\n',
  ].join(''),
  'eslint(max-lines)': `export const list = [\n${'  1,\n'.repeat(320)}]\n`,
  'unicorn(prefer-node-protocol)': "import { join } from 'path'\nexport const both = join('a', 'b')\n",
}

const FILES = Object.entries(BAD).flatMap(([rule, texts]) =>
  [texts].flat().map((text, at) => ({ rule, name: `${rule} ${at}.ts`, text })),
)

const reportSchema = z.object({ diagnostics: z.array(z.object({ code: z.string().optional(), filename: z.string() })) })
const reported = new Map<string, Set<string>>()
const folder = folderOfFile()

beforeAll(() => {
  mkdirSync(join(folder, 'core'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  copyFileSync(join(ROOT, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        target: 'ES2024',
        module: 'NodeNext',
        strict: true,
        noEmit: true,
        allowImportingTsExtensions: true,
        types: [],
      },
      include: ['core'],
    }),
  )
  writeFileSync(join(folder, 'core/shape.ts'), 'export interface Shape {\n  readonly side: number\n}\n')
  writeFileSync(
    join(folder, 'core/partner.ts'),
    "import type { Here } from './import(no-cycle) 0.ts'\nexport interface There {\n  readonly here?: Here\n}\n",
  )
  for (const { name, text } of FILES) writeFileSync(join(folder, 'core', name), text)
  const { stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'node_modules/.bin/oxlint'), '--format', 'json'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: CALL_TIMEOUT_MS,
  })
  const report = reportSchema.safeParse(stdout === '' ? undefined : JSON.parse(stdout))
  if (!report.success) throw new Error(`oxlint gave no report: ${stderr}${stdout}`)
  for (const { code = '', filename } of report.data.diagnostics)
    reported.set(code, (reported.get(code) ?? new Set()).add(filename))
})

test.each(FILES)('the linter refuses code that breaks $name', ({ rule, name }) => {
  expect([...(reported.get(rule) ?? [])]).toContainEqual(expect.stringContaining(name))
})

test('the linter accepts a file that breaks nothing', () => {
  expect([...reported.values()].flatMap((names) => [...names])).not.toContainEqual(expect.stringContaining('shape.ts'))
})
