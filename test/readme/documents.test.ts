import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { STAGES } from '#gateway/retrieve/request-context.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const COLUMNS_MAX = 120
/** Paths in documents are written from the root, or from one of these where the text says which. */
const BASES = ['', 'search-node/search/', 'core/index/', 'core/index/references/']
const FOLDERS = /^(?:core|gateway|search-node|jobs|test|proto|candidates|parser)\//
const RECORD_WORDS_MAX = 600
const documents = ['*.md', 'core/decisions/*.md', 'core/limits/*.md', 'test/*.md']
  .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
  .toSorted()

/** `a/{b,c}.ts` names two paths. */
function expanded(path: string): readonly string[] {
  const braces = /^(.*?)\{([^}]*)\}(.*)$/.exec(path)
  if (braces === null) return [path]
  const [, before = '', choices = '', after = ''] = braces
  return choices.split(',').flatMap((choice) => expanded(`${before}${choice}${after}`))
}

/** A file name without a folder is that of any file. */
const fileNames = new Set(
  globSync('{core,gateway,search-node,jobs,proto,test}/**/*.*', { cwd: ROOT }).map((path) => basename(path)),
)

function exists(path: string): boolean {
  if (!path.includes('/')) return fileNames.has(path)
  return BASES.some((base) => globSync(`${base}${path}`, { cwd: ROOT }).length > 0)
}

function missingPaths(text: string): readonly string[] {
  return [...text.matchAll(/`([\w./*{},-]+)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => FOLDERS.test(path) || /^[a-z][\w-]*\.(?:ts|lua|mjs|proto)$/.test(path))
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
      'test/INVARIANTS.md',
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
  expect(
    missingPaths('`core/index/format/{reader,nothing}.ts`, `candidates/source.ts`, `fuse.ts` and `gone.ts`'),
  ).toEqual(['core/index/format/nothing.ts', 'gone.ts'])
  expect(missingLinks('[a](README.md) [b](gone.md#there) [c](https://example.org)\n[d]: gone-too.md', '')).toEqual([
    'gone.md',
    'gone-too.md',
  ])
  expect(longLines(`é${'x'.repeat(119)}\n${'x'.repeat(121)}`)).toEqual(['x'.repeat(121)])
})

test('ARCHITECTURE.md lists the stages of a request in their order', () => {
  const listed = [...readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8').matchAll(/^\| `(\w+)` \| /gm)]
  expect(listed.map(([, name]) => name)).toEqual([...STAGES])
})

test('every decision record is in the index, holds, and is short', () => {
  const index = readFileSync(join(ROOT, 'core/decisions/README.md'), 'utf8')
  const names = globSync('[0-9]*.md', { cwd: join(ROOT, 'core/decisions') })
  expect(names).not.toEqual([])
  for (const name of names) {
    const record = readFileSync(join(ROOT, 'core/decisions', name), 'utf8')
    expect(record).toMatch(/^# \d{4} .+\n\n- Date: \d{4}-\d{2}-\d{2}\n- Status: Accepted/)
    expect(record.split(/\s+/).length, name).toBeLessThanOrEqual(RECORD_WORDS_MAX)
    expect(index).toContain(`| [${name.slice(0, 4)}] | ${/^# \d{4} (.+)$/m.exec(record)?.[1] ?? 'untitled'} |`)
    expect(index).toContain(`[${name.slice(0, 4)}]: ${name}`)
  }
})
