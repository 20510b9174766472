import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { importCircles } from './rooms.ts'
import { RULES } from './rules.ts'
import type { SourceFile } from './source-file.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDERS = ['core', 'gateway', 'search-node', 'jobs', 'test']

function sourceFiles(): readonly SourceFile[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
      .filter((path) => /\.(ts|mjs|lua)$/.test(path))
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
  )
}

const files = sourceFiles()

test('the scan sees the whole project', () => {
  expect(files.map((file) => file.path)).toEqual(
    expect.arrayContaining([
      'core/platform/bounds.ts',
      'gateway/config.ts',
      'search-node/config.ts',
      'jobs/cli/bootstrap.mjs',
      'test/architecture/rules.ts',
    ]),
  )
})

describe.each(RULES)('$guarantee', (rule) => {
  test('holds', () => {
    expect(files.flatMap((file) => rule.breaches(file))).toEqual([])
  })

  test.each(rule.bad)('would notice $path', (bad) => {
    expect(rule.breaches(bad)).not.toEqual([])
  })
})

describe('no file imports itself by way of others', () => {
  test('holds', () => {
    expect(importCircles(files)).toEqual([])
  })

  test('would notice a circle, of types too', () => {
    const circle = [
      { path: 'core/a.ts', text: "import { b } from './b.ts'" },
      { path: 'core/b.ts', text: "import type { c } from '#core/c.ts'" },
      { path: 'core/c.ts', text: "export { a } from './a.ts'" },
    ]
    expect(importCircles(circle)).toEqual(['core/a.ts -> core/b.ts -> core/c.ts -> core/a.ts'])
    expect(importCircles(circle.slice(1))).toEqual([])
  })
})
