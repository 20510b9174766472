import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SCRIPTS, blocksOf, isRun, pagesInOrder, scriptCalls, spansOf } from './commands.ts'
import { PAGES, ROOT, pageAt } from './pages.ts'
import { until } from '#test/support/until.ts'

/** `parsed-commands.test.ts` checks the operator's options; the others have no help. */
const WITHOUT_HELP = new Set([
  'operator',
  'test',
  'test:all',
  'test:soak',
  'test:watch',
  'bench:import',
  'start:encoder',
])

/** The pages' commands in their order, each page after a line on standard error that names it. */
function script(): string {
  return pagesInOrder()
    .flatMap((page) => [
      `echo '== ${page.path}' >&2`,
      ...blocksOf(page)
        .filter(isRun)
        .map(({ text }) => text),
    ])
    .join('\n')
}

/** The keys of an object and of all within, without values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return typeof value === 'object' ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([key, below]) => [key, shapeOf(below)]))
}

test('no page holds a command that fails: all run in one shell, against the demo', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'evidence documents '))
  const checkout = join(folder, 'checkout')
  copyCheckout(checkout)
  const environment = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    // The checkout's packages are those of this one, where nothing of another folder is to stay.
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
  }
  const demo = spawn('npm', ['run', 'demo'], {
    cwd: checkout,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = new Promise<number | null>((resolve) => demo.once('exit', resolve))
  let output = ''
  for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  try {
    await until('the demo is ready or has ended', (seen) => {
      seen(output)
      return existsSync(join(checkout, '.data/demo/ready.json')) || demo.exitCode !== null
    })
    expect(demo.exitCode, output).toBeNull()
    const told = execFileSync('bash', ['-euo', 'pipefail', '-c', script()], {
      cwd: checkout,
      env: environment,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const replies = told.split('\n').flatMap((line) => line.match(/\{"request_id":.*?"usage":\{[^}]*\}\}/g) ?? [])
    const shown = blocksOf(pageAt('README.md')).find(({ language }) => language === 'json')
    expect(shapeOf(JSON.parse(replies[0] ?? ''))).toEqual(shapeOf(JSON.parse(shown?.text ?? '')))
    expect(replies[0]).toContain('"label":"COB-M 2.1"')
    expect(replies.find((reply) => reply.includes('Harbour Lights Order, Section 1'))).toContain('"decision":"answer"')
    expect(told).toContain('PROVED: ')
    expect(told).toMatch(/erk_live_[0-9A-Za-z]{33}/)
  } finally {
    // Ctrl-C reaches the whole foreground group of a terminal.
    if (demo.pid !== undefined && demo.exitCode === null) process.kill(-demo.pid, 'SIGINT')
    await ended
    await until('Postgres has ended', () => !existsSync(join(checkout, '.data/demo/postgres/cluster/postmaster.pid')))
    expect(output).toContain('Stopping')
    rmSync(folder, { recursive: true, force: true })
  }
})

test('options of scripts in the documents are those that their help lists', () => {
  const optionsOf = new Map<string, Set<string>>()
  const texts = PAGES.flatMap((page) => [...blocksOf(page).map(({ text }) => text), ...spansOf(page)])
  for (const { script: name, words } of texts.flatMap(scriptCalls)) {
    const options = words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0] ?? word)
    if (WITHOUT_HELP.has(name) || options.length === 0) continue
    optionsOf.set(name, new Set([...(optionsOf.get(name) ?? []), ...options]))
  }
  expect([...optionsOf.keys()]).toContain('demo')
  for (const [name, options] of optionsOf) {
    const entry = SCRIPTS[name]?.split(' ').find((word) => word.endsWith('main.ts')) ?? name
    const { stdout, stderr } = spawnSync(process.execPath, [entry, '--help'], { cwd: ROOT, encoding: 'utf8' })
    for (const option of options) expect(`${stdout}${stderr}`, `npm run ${name}`).toContain(option)
  }
})

/** The files as they are now, tracked or new, with this checkout's packages. */
function copyCheckout(to: string): void {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  for (const file of files.split('\0'))
    if (file !== '' && existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(to, file))
  symlinkSync(join(ROOT, 'node_modules'), join(to, 'node_modules'))
}
