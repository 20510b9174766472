import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readImport } from '#core/db/imports.ts'
import { MANIFEST_FILE, manifestSchema } from '#core/index/format/manifest.ts'
import { versionIdOf } from '#jobs/build/ids.ts'
import { SAMPLE_KINDS, samplePassages } from '#jobs/build/page/sample.ts'
import { startJobsHarness } from '#test/support/jobs.ts'
import type { JobsHarness } from '#test/support/jobs.ts'
import { importRulebook, rulebook, serve, withChapter } from '../rulebook.ts'
import type { Rulebook } from '../rulebook.ts'

const BOOK = rulebook(3)
/** In the second chapter one word is another, the last provision is gone, and one is new. */
const LATER = withChapter(BOOK, 1, (text) =>
  text
    .replace('must keep', 'need not keep')
    .replace(/### 1\.2[\s\S]*$/, '### 1.9 Lanterns {#rule-1-9}\n\nEvery pier has a lantern that burns at night.\n'),
)

let harness: JobsHarness
let first: string
let later: string
let built: { readonly importId: string; readonly folder: string }
beforeAll(async () => {
  harness = await startJobsHarness()
  const base = await harness.createKnowledgeBase()
  const build = async (book: Rulebook): Promise<string> => {
    const importId = await importRulebook(harness, base, book)
    const buildId = await harness.requestBuild(base, importId)
    built ??= { importId, folder: harness.store.artifactFolder(versionIdOf(buildId)) }
    expect(await harness.runBuild(buildId)).toMatchObject({ outcome: 'succeeded' })
    return buildId
  }
  const served = await build(BOOK)
  first = pageOf(served)
  await serve(harness, served)
  later = pageOf(await build(LATER))
})
afterAll(() => harness?.stop())

const pageOf = (buildId: string): string => readFileSync(harness.store.reportFile(versionIdOf(buildId)), 'utf8')
const textOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
const cardsOf = (page: string): readonly string[] => page.match(/<article[\s\S]*?<\/article>/g) ?? []

/** Every passage that the page carries, by document. */
function carried(page: string): readonly { readonly id: string; readonly passages: readonly (readonly string[])[] }[] {
  const data = /id="passages">([^<]*)</.exec(page)?.[1] ?? ''
  const json: unknown = JSON.parse(gunzipSync(Buffer.from(data, 'base64')).toString('utf8'))
  return z.array(z.object({ id: z.string(), passages: z.array(z.array(z.string())) })).parse(json)
}

describe('The page of a first version', () => {
  test('shows a passage of each document beside the bytes that were captured, with a box to tick', () => {
    const cards = cardsOf(first)
    expect(first.match(/<details class="group"/g)?.length).toBeGreaterThanOrEqual(BOOK.size)
    expect(cards.length).toBeGreaterThanOrEqual(BOOK.size)
    for (const card of cards) {
      expect(card).toContain('<input type="checkbox" class="tick" />')
      const [, served = ''] = /as it is served<\/p>\s*<p class="words"><bdi>([\s\S]*?)<\/bdi>/.exec(card) ?? []
      const [, own = ''] = /<bdi class="own">([\s\S]*?)<\/bdi>/.exec(card) ?? []
      expect(textOf(own)).toBe(textOf(served))
      expect(served).not.toBe('')
      const kinds = /data-kinds="([^"]*)"/.exec(card)?.[1]?.split(' ') ?? []
      for (const kind of kinds) expect(SAMPLE_KINDS.map((name) => name.replaceAll(' ', '_'))).toContain(kind)
    }
    expect(cards.map((card) => /data-kinds="([^"]*)"/.exec(card)?.[1]).join(' ')).toMatch(
      /longest[\s\S]*shortest|shortest/,
    )
  })
})

test('passages of the file with the most text in no passage come first as those of the lowest coverage', async () => {
  const { importId, folder } = built
  const source = await readImport(harness.owner, importId)
  const [least = '', most = ''] = source.snapshots.map(({ sourceName }) => sourceName)
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(folder, MANIFEST_FILE), 'utf8')))
  const remainder = [
    { source: least, text: 'a' },
    { source: most, text: 'a longer one' },
  ]
  const drawn = await samplePassages({ source, store: harness.store }, { folder, manifest }, remainder)
  const lowest = drawn.filter(({ kinds }) => kinds.includes('lowest coverage'))
  expect(new Set(lowest.map((each) => each.source))).toEqual(new Set([least, most]))
  expect(lowest.filter((each) => each.source === most)).toHaveLength(3)
  const none = await samplePassages({ source, store: harness.store }, { folder, manifest }, [])
  expect(none.flatMap(({ kinds }) => kinds)).not.toContain('lowest coverage')
})

describe('The page of a later version', () => {
  test('names every change of a document between what stands before and after it', () => {
    const cards = cardsOf(later)
    const named = (kind: string): readonly string[] =>
      cards.filter((card) => (/data-kinds="([^"]*)"/.exec(card)?.[1] ?? '').split(' ').includes(kind))
    expect(['text', 'passages_removed', 'passages_added'].map((kind) => named(kind).length)).toEqual([1, 1, 1])
    const [changed = '', removed = '', added = ''] = ['text', 'passages_removed', 'passages_added'].flatMap(named)
    expect(changed).toMatch(/<del>must<\/del>\s*<ins>need not<\/ins> keep/)
    expect(textOf(changed)).toContain('after it:')
    expect(textOf(removed)).toContain('before it:')
    expect(textOf(added)).toMatch(/before it: [\s\S]*Every pier has a lantern that burns at night\./)
    expect(later).not.toContain('Passages beside their source')
    expect(textOf(later)).toContain('Changes of the mapping: none.')
  })

  test('carries every passage of the version, and one script that its policy names', () => {
    const passages = carried(later).flatMap((document) => document.passages)
    expect(new Set(passages.map(([label]) => label)).size).toBe(passages.length)
    expect(passages).toHaveLength(9)
    expect(passages.map(([, , text]) => text)).toContain('Every pier has a lantern that burns at night.')
    expect(later.match(/<script type="module">/g)).toHaveLength(1)
    expect(later).toMatch(/default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; script-src &#39;sha256-/)
    for (const { id } of carried(later)) expect(later).toContain(`href="#document-${id}"`)
  })
})
