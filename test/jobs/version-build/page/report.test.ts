import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readImport } from '#core/db/imports.ts'
import { MANIFEST_FILE, manifestSchema } from '#core/index/format/manifest.ts'
import { SAMPLE_KINDS, samplePassages, withoutIndents } from '#jobs/version-build/page/sample.ts'
import { openJobsHarness } from '#test/support/jobs.ts'
import { BOOK, buildPages } from './two-versions.ts'
import { randomUUID } from 'node:crypto'
import { importSection } from '#jobs/version-build/page/import-section.ts'
import { EMPTY_REPORT } from '#test/support/import.ts'

const harness = await openJobsHarness()
const pages = await buildPages(harness)

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

test('the page shows no white space that indents the elements of a captured file', () => {
  expect(withoutIndents('(a)\n\t\t\n      any  person; \n\n   or')).toBe('(a)\nany person;\nor')
})

describe('The page of a first version', () => {
  test('shows a passage of each document beside the bytes that were captured, with a box to tick', () => {
    const cards = cardsOf(pages.first)
    expect(pages.first.match(/<details class="group"/g)?.length).toBeGreaterThanOrEqual(BOOK.size)
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
  const { importId, folder } = pages
  const source = await readImport(harness.owner, importId)
  const [least = '', most = ''] = source.snapshots.map(({ sourceName }) => sourceName)
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(folder, MANIFEST_FILE), 'utf8')))
  const remainder = [
    { source: least, text: 'a' },
    { source: most, text: 'a longer one' },
  ]
  const drawn = await samplePassages({ source, store: harness.store }, { folder, manifest }, remainder)
  const lowest = drawn.filter(({ kinds }) => kinds.includes('lowest coverage'))
  expect(new Set(lowest.map((each) => each.captured.source))).toEqual(new Set([least, most]))
  expect(lowest.filter((each) => each.captured.source === most)).toHaveLength(3)
  const none = await samplePassages({ source, store: harness.store }, { folder, manifest }, [])
  expect(none.flatMap(({ kinds }) => kinds)).not.toContain('lowest coverage')
})

describe('The page of a later version', () => {
  test('names every change of a document between what stands before and after it', () => {
    const cards = cardsOf(pages.later)
    const named = (kind: string): readonly string[] =>
      cards.filter((card) => (/data-kinds="([^"]*)"/.exec(card)?.[1] ?? '').split(' ').includes(kind))
    expect(['text', 'passages_removed', 'passages_added'].map((kind) => named(kind).length)).toEqual([1, 1, 1])
    const [changed = '', removed = '', added = ''] = ['text', 'passages_removed', 'passages_added'].flatMap(named)
    expect(changed).toMatch(/<del>must<\/del>\s*<ins>need not<\/ins> keep/)
    expect(textOf(changed)).toContain('after it:')
    expect(changed).toMatch(/<bdi class="own">A corbrawright need not keep/)
    for (const warning of ['none → “not”', '“must” → “need”', 'its day in force does not: 2020-02-01'])
      expect(textOf(changed)).toContain(warning)
    for (const other of [removed, added]) expect(textOf(other)).toContain('before it:')
    expect(textOf(added)).toContain('Every pier has a lantern that burns at night.')
    expect(pages.later).not.toContain('Passages beside their source')
    expect(textOf(pages.later)).toContain('Changes of the mapping: none.')
  })

  test('begins with what changes in the law, folds equal texts last, and ends with who signs and the command', () => {
    expect(pages.later).toMatch(/<h1>Trades Code, chapter 1: 1 rule changed, 1 removed, 1 added<\/h1>/)
    const order = ['<h1>', '<del>must', 'Texts that stay equal', 'For the engineer', 'id="sign"'].map((mark) =>
      pages.later.indexOf(mark),
    )
    expect(order).not.toContain(-1)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(textOf(pages.later)).toMatch(
      /Built by \S+ from import [0-9a-f-]{36} ?\. Approvals needed: 1 ?\..*operator review sign [0-9a-f-]{36} --key FILE --verdict approved --note TEXT --accept provisions_removed,/,
    )
  })

  test('carries every passage of the version, and one script that its policy names', () => {
    const passages = carried(pages.later).flatMap((document) => document.passages)
    expect(new Set(passages.map(([label]) => label)).size).toBe(passages.length)
    expect(passages).toHaveLength(9)
    expect(passages.map(([, , , id]) => id)).toContain('chapter-1#rule-1-9')
    expect(passages.map(([, , text]) => text)).toContain('Every pier has a lantern that burns at night.')
    expect(pages.later.match(/<script type="module">/g)).toHaveLength(1)
    expect(pages.later).toMatch(
      /default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; script-src &#39;sha256-/,
    )
    for (const { id } of carried(pages.later)) expect(pages.later).toContain(`href="#document-${id}"`)
  })
})

test('the page tells withdrawals that left something out from those that left nothing out', () => {
  const [first, second, document] = [randomUUID(), randomUUID(), randomUUID()]
  const drop = [first, second].map((id) => ({ id, document, provisions: [], chunk_id: `chk_${id}`, label: 'Rule 1' }))
  const withdrawals = { drop, restore: [], withdrawals_without_passages: [second], again: ['Rule 1 is Rule 2.'] }
  const { source } = importSection({ mapping: {}, report: EMPTY_REPORT }, undefined, withdrawals)
  const [, out = '', nothing = ''] =
    /left out(.*?)Withdrawals that left nothing out(.*?)Withdrawals that/s.exec(source) ?? []
  expect([out.includes(first), out.includes(second)]).toEqual([true, false])
  expect([nothing.includes(first), nothing.includes(second)]).toEqual([false, true])
  expect(out).toContain('Rule 1: passage')
  expect(textOf(source)).toContain('Withdrawn law under another id: the activation is refused until it is decided: 1')
  expect(source).toContain('Rule 1 is Rule 2.')
})
