import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const COLUMNS_MAX = 120
/** Paths in documents are written from the root, or from one of these where the text says which. */
const BASES = ['', 'search-node/search/', 'core/index/', 'core/index/references/']
const FOLDERS = /^(?:core|gateway|search-node|jobs|test|proto|candidates|parser)\//
const documents = [...globSync('*.md', { cwd: ROOT }), ...globSync('core/decisions/*.md', { cwd: ROOT })].toSorted()

/** `a/{b,c}.ts` names two paths. */
function expanded(path: string): readonly string[] {
  const braces = /^(.*?)\{([^}]*)\}(.*)$/.exec(path)
  if (braces === null) return [path]
  const [, before = '', choices = '', after = ''] = braces
  return choices.split(',').flatMap((choice) => expanded(`${before}${choice}${after}`))
}

function exists(path: string): boolean {
  return BASES.some((base) => globSync(`${base}${path}`, { cwd: ROOT }).length > 0)
}

function missingPaths(text: string): readonly string[] {
  return [...text.matchAll(/`([\w./*{},-]+\/[\w./*{},-]*)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => FOLDERS.test(path) && !/\.\.\.|<|>/.test(path))
    .flatMap(expanded)
    .filter((path) => !exists(path))
}

function missingLinks(text: string, folder: string): readonly string[] {
  return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)|^\[[^\]]+\]: (\S+)$/gm)]
    .map(([, inline, referred]) => inline ?? referred ?? '')
    .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(ROOT, folder, target)))
}

function longLines(text: string): readonly string[] {
  return text.split('\n').filter((line) => [...line].length > COLUMNS_MAX)
}

test('the documents are there', () => {
  expect(documents).toEqual(
    expect.arrayContaining([
      'ARCHITECTURE.md',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'GLOSSARY.md',
      'README.md',
      'SECURITY.md',
      'core/decisions/README.md',
    ]),
  )
})

describe.each(documents)('%s', (document) => {
  const text = readFileSync(join(ROOT, document), 'utf8')

  test('names files that exist', () => {
    expect(missingPaths(text)).toEqual([])
  })

  test('links to what exists', () => {
    expect(missingLinks(text, dirname(document))).toEqual([])
  })

  test('keeps its lines within 120 characters', () => {
    expect(longLines(text)).toEqual([])
  })
})

test('a path, a link and a line that are wrong are noticed', () => {
  expect(missingPaths('`core/index/format/{reader,nothing}.ts` and `candidates/source.ts`')).toEqual([
    'core/index/format/nothing.ts',
  ])
  expect(missingLinks('[a](README.md) [b](gone.md#there) [c](https://example.org)\n[d]: gone-too.md', '')).toEqual([
    'gone.md',
    'gone-too.md',
  ])
  expect(longLines(`é${'x'.repeat(119)}\n${'x'.repeat(121)}`)).toEqual(['x'.repeat(121)])
})

test('every decision record is in the index, with its status', () => {
  const index = readFileSync(join(ROOT, 'core/decisions/README.md'), 'utf8')
  for (const name of globSync('*.md', { cwd: join(ROOT, 'core/decisions') }).filter((one) => one !== 'README.md')) {
    const record = readFileSync(join(ROOT, 'core/decisions', name), 'utf8')
    expect(record).toMatch(/^# \d{4} .+\n\n- Date: \d{4}-\d{2}-\d{2}\n- Status: (?:Accepted|Superseded by)/)
    expect(index).toContain(`| [${name.slice(0, 4)}] | ${/^# \d{4} (.+)$/m.exec(record)?.[1] ?? 'untitled'} |`)
    expect(index).toContain(`[${name.slice(0, 4)}]: ${name}`)
  }
})
