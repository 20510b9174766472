import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { RULES } from './rules.ts'
import type { SourceFile } from './source-file.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDERS = ['core', 'law', 'gateway', 'search-node', 'jobs', 'operator', 'clients', 'test']

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
      'operator/bootstrap.mjs',
      'test/architecture/rules.ts',
    ]),
  )
})

describe.each(RULES)('$guarantee', (rule) => {
  test('holds', () => {
    expect(files.flatMap((file) => rule.breaches(file))).toEqual([])
  })

  test.each(rule.bad)('would notice %s', (path, text) => {
    expect(rule.breaches({ path, text })).not.toEqual([])
  })
})
