import { existsSync, globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { STAGES } from '#gateway/retrieve/request-context.ts'
import { OUTSIDE, PAGES, ROOT, fragmentsOf, linksOf, pageAt, type Page } from './pages.ts'

const COLUMNS_MAX = 120
const FRONT_LINES_MAX = 250
const FRONT_WORDS_MAX = 1_300
const PAGE_WORDS_MAX = 800
const RECORD_WORDS_MAX = 400
/** Pages for looking things up. */
const REFERENCE = new Set(['docs/glossary.md', 'docs/operate/runbook.md'])
const RECORD = /^docs\/decisions\/\d{4}-/
/** Folders of the root with files of the project. */
const FOLDERS = [
  ...new Set(
    globSync('*/**/*.{ts,proto,md}', { cwd: ROOT, exclude: [...OUTSIDE] }).map((path) => path.split('/')[0] ?? path),
  ),
]
/** Paths in documents are written from the root, or from one of these where the text says which. */
const BASES = ['', 'search-node/search/', 'core/index/', 'core/index/references/']
const IN_FOLDER = new RegExp(`^(?:${FOLDERS.join('|')}|candidates|parser)/`)

/** `a/{b,c}.ts` names two paths. */
function expanded(path: string): readonly string[] {
  const braces = /^(.*?)\{([^}]*)\}(.*)$/.exec(path)
  if (braces === null) return [path]
  const [, before = '', choices = '', after = ''] = braces
  return choices.split(',').flatMap((choice) => expanded(`${before}${choice}${after}`))
}

/** A file name without a folder is that of any file. */
const fileNames = new Set(globSync(`{${FOLDERS.join(',')}}/**/*.*`, { cwd: ROOT }).map((path) => basename(path)))

function exists(path: string): boolean {
  if (!path.includes('/')) return fileNames.has(path)
  return BASES.some((base) => globSync(`${base}${path}`, { cwd: ROOT }).length > 0)
}

function missingPaths(text: string): readonly string[] {
  return [...text.matchAll(/`([\w./*{},-]+)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => IN_FOLDER.test(path) || /^[a-z][\w-]*\.(?:ts|lua|mjs|proto)$/.test(path))
    .flatMap(expanded)
    .filter((path) => !exists(path))
}

function missingLinks(page: Page): readonly string[] {
  return linksOf(page)
    .filter(({ path, fragment }) => {
      if (!existsSync(join(ROOT, path))) return true
      return fragment !== '' && !fragmentsOf(path === page.path ? page : pageAt(path)).includes(fragment)
    })
    .map(({ path, fragment }) => (fragment === '' ? path : `${path}#${fragment}`))
}

function longLines(text: string): readonly string[] {
  return text.split('\n').filter((line) => [...line].length > COLUMNS_MAX)
}

function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length
}

/** Without tables, which are for looking up, and without what is generated between two comments of one name. */
function readWords(text: string): number {
  return wordsIn(text.replaceAll(/^<!-- (\w+) -->$[\s\S]*?^<!-- \/\1 -->$/gm, '').replaceAll(/^\s*\|.*$/gm, ''))
}

/** The pages that links lead to, from the front page on. */
function reachable(pages: ReadonlyMap<string, Page>): ReadonlySet<string> {
  const reached = new Set(['README.md'])
  for (const path of reached) {
    const page = pages.get(path)
    for (const link of page === undefined ? [] : linksOf(page)) if (pages.has(link.path)) reached.add(link.path)
  }
  return reached
}

describe.each(PAGES)('$path', (page) => {
  test('names files that exist', () => {
    expect(missingPaths(page.text)).toEqual([])
  })

  test('links to what exists', () => {
    expect(missingLinks(page)).toEqual([])
  })

  test('keeps its lines within 120 characters', () => {
    expect(longLines(page.text)).toEqual([])
  })
})

test('every document is reached from the front page', () => {
  const reached = reachable(new Map(PAGES.map((page) => [page.path, page])))
  expect(PAGES.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([])
  expect(reached.size).toBeGreaterThan(30)
})

test('the front page is read in three minutes, a page in four, a record in two', () => {
  const { text } = pageAt('README.md')
  expect(text.split('\n').length - 1).toBeLessThanOrEqual(FRONT_LINES_MAX)
  expect(wordsIn(text)).toBeLessThanOrEqual(FRONT_WORDS_MAX)
  const pages = PAGES.filter(({ path }) => path.startsWith('docs/') && !REFERENCE.has(path))
  const long = pages.filter((page) =>
    RECORD.test(page.path) ? wordsIn(page.text) > RECORD_WORDS_MAX : readWords(page.text) > PAGE_WORDS_MAX,
  )
  expect(long.map(({ path, text: its }) => `${path}: ${readWords(its)}`)).toEqual([])
})

test('the tree of the front page has every folder', () => {
  const { text } = pageAt('README.md')
  expect(FOLDERS).toContain('gateway')
  expect(FOLDERS.filter((folder) => !text.includes(`\n${folder}/ `))).toEqual([])
})

test('a path, a link, a line and a page that are wrong are noticed', () => {
  expect(
    missingPaths('`core/index/format/{reader,nothing}.ts`, `candidates/filter-bitset.ts`, `fuse.ts` and `gone.ts`'),
  ).toEqual(['core/index/format/nothing.ts', 'gone.ts'])
  const text =
    '[a](../README.md) [b](gone.md#there) [c](https://example.org) [d](../README.md#the-tree) [e](../README.md#a-tree)\n' +
    '[f]: gone-too.md'
  expect(missingLinks({ path: 'docs/page.md', text })).toEqual([
    'docs/gone.md#there',
    'README.md#a-tree',
    'docs/gone-too.md',
  ])
  expect(longLines(`é${'x'.repeat(119)}\n${'x'.repeat(121)}`)).toEqual(['x'.repeat(121)])
  expect(readWords('one two\n| three |\n<!-- list -->\nfour\n<!-- /list -->\nfive')).toBe(3)
  const pages = ['README.md', 'docs/page.md', 'docs/alone.md'].map((path) => ({ path, text: '[a](docs/page.md)' }))
  expect([...reachable(new Map(pages.map((page) => [page.path, page])))]).toEqual(['README.md', 'docs/page.md'])
})

test('the architecture lists the stages of a request in their order', () => {
  const listed = [...pageAt('docs/architecture.md').text.matchAll(/^\| `(\w+)` \| /gm)]
  expect(listed.map(([, name]) => name)).toEqual([...STAGES])
})

test('every decision record is in the index, and holds', () => {
  const index = pageAt('docs/decisions/README.md').text
  const records = PAGES.filter(({ path }) => RECORD.test(path))
  expect(records).not.toEqual([])
  for (const { path, text } of records) {
    const name = basename(path)
    expect(text).toMatch(/^# \d{4} .+\n\n- Date: \d{4}-\d{2}-\d{2}\n- Status: Accepted/)
    const title = /^# \d{4} (.+)$/m.exec(text)?.[1] ?? 'untitled'
    expect(index).toContain(`- [${name.slice(0, 4)}](${name}): ${title}\n`)
  }
})
