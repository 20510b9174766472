import { closeSync, copyFileSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CHANGE_KINDS, changesInWords, type ChangeKind } from '#core/domain/changes.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { sha256 } from '#core/platform/digest.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { testPassage } from '#test/support/passages.ts'
import { comparePassages, type ComparedPassages } from '#test/support/compared-contents.ts'

const corpus = (size: number): readonly PassageRecord[] => Array.from({ length: size }, (_, n) => testPassage(n))
const NONE = Object.fromEntries(CHANGE_KINDS.map((kind) => [kind, 0]))
const expectCounts = ({ changes }: ComparedPassages, counts: Partial<Record<ChangeKind, number>>): void =>
  expect(changes.counts).toEqual({ ...NONE, ...counts })

/** The corpus with passage `at` as the change gives it. */
function altered(
  passages: readonly PassageRecord[],
  at: number,
  change: (passage: PassageRecord) => Partial<PassageRecord>,
): readonly PassageRecord[] {
  return passages.map((passage, n) => (n === at ? { ...passage, ...change(passage) } : passage))
}

describe('the contents of a candidate and of the active version', () => {
  test('are equal where only derived ids and places differ, and name the other snapshot of each document', async () => {
    const before = corpus(25)
    const after = before.map((passage, n) => ({
      ...passage,
      chunk_id: `chk_${'0'.repeat(40)}`,
      document: { ...passage.document, revision_id: derivedUuid('another', String(n)) },
      citation: { ...passage.citation, source_snapshot_id: derivedUuid('another snapshot', '1') },
      position: { ordinal: 0, document_passages: 99 },
      source_id: `renamed-${n}`,
    }))
    const compared = await comparePassages(before, after)
    expectCounts(compared, {})
    const line = { kind: 'snapshots_changed', before: derivedUuid('test snapshot', '1') }
    expect(
      compared.named.map((change) => ('passages' in change ? change.passages : 0)).toSorted((a, b) => a - b),
    ).toEqual([5, 10, 10])
    for (const change of compared.named)
      expect(change).toMatchObject({ ...line, after: derivedUuid('another snapshot', '1') })
    expect(changesInWords(compared.changes)).toBe('25 → 25 passages, 0 removed, 0 changed')
  })

  test('of 169 and 10 passages differ by 159 that were removed and 3 that were changed', async () => {
    const before = corpus(169)
    const after = before
      .slice(0, 10)
      .map((passage, n) => (n < 3 ? { ...passage, text: `${passage.text} Or not.` } : passage))
    const compared = await comparePassages(before, after)
    expectCounts(compared, {
      documents_removed: 16,
      provisions_removed: 159,
      provisions_changed: 3,
      passages_removed: 159,
      passages_changed: 3,
    })
    expect(changesInWords(compared.changes)).toBe(
      '169 → 10 passages, 159 removed, 3 changed, 16 documents removed, 159 provisions removed, 3 provisions changed',
    )
  })

  test('differ by one passage if one word of one text is altered, and the line shows both texts', async () => {
    const before = altered(corpus(12), 4, () => ({ text: 'The firm must keep the record for five years.' }))
    const after = altered(before, 4, () => ({ text: 'The firm need not keep the record for five years.' }))
    const compared = await comparePassages(before, after)
    expectCounts(compared, { passages_changed: 1, provisions_changed: 1 })
    expect(compared.named[0]).toMatchObject({
      kind: 'passages_changed',
      label: 'Rule 4',
      document: { title: 'Rulebook 0' },
      day: '2024-02-01',
      before: { text: 'The firm must keep the record for five years.' },
      after: { text: 'The firm need not keep the record for five years.' },
    })
    expect(compared.shown).toEqual([compared.named[0]])
  })

  test.each<[string, (passage: PassageRecord) => Partial<PassageRecord>]>([
    ['verification_status', ({ metadata }) => ({ metadata: { ...metadata, verification_status: 'withdrawn' } })],
    ['jurisdiction', ({ metadata }) => ({ metadata: { ...metadata, jurisdiction: 'XB' } })],
    ['in_force_to', () => ({ in_force_to: '2024-03-01' })],
    ['label', ({ citation }) => ({ citation: { ...citation, label: 'Rule 99' } })],
    ['source_anchor', ({ citation }) => ({ citation: { ...citation, source_anchor: 'https://rules.example/#x' } })],
    ['subjects', () => ({ subjects: ['other'] })],
    ['heading', () => ({ heading: 'Lifeboats and their colours' })],
    ['references', () => ({ references: ['celex:32016R0679/art_6'] })],
  ])('differ by one passage if only its %s differs', async (field, change) => {
    const before = corpus(12)
    const compared = await comparePassages(before, altered(before, 7, change))
    expect(compared.changes.counts).toMatchObject({ passages_changed: 1, provisions_changed: 1, passages_removed: 0 })
    const [line] = compared.named.filter(({ kind }) => kind === 'passages_changed')
    expect(line).toHaveProperty('after')
    expect(Object.keys(line !== undefined && 'after' in line ? (line.after ?? {}) : {})).toEqual([field])
  })

  test.each<[string, Partial<PassageRecord['document']>]>([
    ['title', { title: 'Another title' }],
    ['authority', { authority: 'Another authority' }],
    ['canonical_url', { canonical_url: 'https://elsewhere.example/' }],
    ['published_at', { published_at: '2025-01-01T00:00:00.000Z' }],
    ['effective_at', { effective_at: '2024-02-01T12:00:00.000Z' }],
  ])('differ by a document and its passages if the %s of its revision differs', async (field, change) => {
    const before = corpus(20)
    const after = before.map((passage, n) =>
      n < 10 ? { ...passage, document: { ...passage.document, ...change } } : passage,
    )
    const compared = await comparePassages(before, after)
    expectCounts(compared, { documents_changed: 1, provisions_changed: 10, passages_changed: 10 })
    expect(compared.named[0]).toMatchObject({
      kind: 'documents_changed',
      revisions_total: 1,
      revisions: [{ day: '2024-02-01', after: { [field]: Object.values(change)[0] } }],
    })
  })

  test('differ by every passage, provision and document if the documents were renamed', async () => {
    const before = corpus(30)
    const after = before.map((passage) => {
      const id = derivedUuid('renamed', passage.document.id)
      return { ...passage, document: { ...passage.document, id }, provision: derivedUuid('renamed', passage.provision) }
    })
    const compared = await comparePassages(before, after)
    expectCounts(compared, {
      documents_removed: 3,
      documents_added: 3,
      provisions_removed: 30,
      passages_removed: 30,
      passages_repeated: 30,
    })
    expect(compared.changes.added).toEqual({ documents: 3, provisions: 30, passages: 30 })
  })

  test('differ by each language, jurisdiction, subject and status that no passage has any more', async () => {
    const before = [
      ...corpus(5),
      testPassage(10, { language: 'de', jurisdiction: 'DE', subjects: ['tax'], status: 'provisional' }),
    ]
    const compared = await comparePassages(before, corpus(5))
    expect(compared.changes.counts.facet_values_removed).toBe(4)
    expect(compared.named.filter(({ kind }) => kind === 'facet_values_removed')).toEqual([
      { kind: 'facet_values_removed', facet: 'languages', value: 'de' },
      { kind: 'facet_values_removed', facet: 'jurisdictions', value: 'DE' },
      { kind: 'facet_values_removed', facet: 'subjects', value: 'tax' },
      { kind: 'facet_values_removed', facet: 'statuses', value: 'provisional' },
    ])
  })

  test('show a new revision of a provision as a changed provision, although no passage was lost', async () => {
    const before = corpus(10)
    const revision = testPassage(3, { text: 'Another text from June on.', inForceFrom: '2024-06-01', revision: '2' })
    const compared = await comparePassages(before, [...before, revision])
    expectCounts(compared, { provisions_changed: 1, passages_added: 1 })
    expect(compared.changes.added).toEqual({ documents: 0, provisions: 0, passages: 1 })
  })

  test('differ by a document if one of its revisions is gone', async () => {
    const later = testPassage(3, { inForceFrom: '2025-01-01', revision: '2' })
    const compared = await comparePassages([...corpus(10), later], corpus(10))
    expectCounts(compared, { documents_changed: 1, provisions_changed: 1, passages_removed: 1 })
    expect(compared.named[0]).toMatchObject({
      kind: 'documents_changed',
      revisions: [{ day: '2025-01-01', after: null }],
    })
  })
})

describe('passages of one key', () => {
  const duplicates = (texts: readonly string[]): readonly PassageRecord[] =>
    texts.map((text) => testPassage(1, { text, provision: '-' }))

  test('that occur more often are matched by their content, however they are ordered', async () => {
    const compared = await comparePassages(duplicates(['a', 'b', 'b', 'c']), duplicates(['c', 'b', 'a', 'b']))
    expectCounts(compared, {})
  })

  test('that occur less often count as removed, and those with other content as changed', async () => {
    const compared = await comparePassages(duplicates(['a', 'b', 'b', 'c']), duplicates(['b', 'x']))
    expectCounts(compared, { passages_changed: 1, passages_removed: 2, provisions_changed: 1 })
  })

  test('never hide a loss: what is unmatched is removed, changed or added, each once', async () => {
    const texts = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(texts, texts, async (before, after) => {
        const compared = await comparePassages(duplicates(before), duplicates(after))
        const surplus = (own: readonly string[], other: readonly string[]): number =>
          ['a', 'b', 'c'].reduce((sum, text) => {
            const count = (list: readonly string[]): number => list.filter((each) => each === text).length
            return sum + Math.max(0, count(own) - count(other))
          }, 0)
        const [lost, gained] = [surplus(before, after), surplus(after, before)]
        const { counts, added } = compared.changes
        expect(counts.passages_changed).toBe(Math.min(lost, gained))
        expect(counts.passages_removed).toBe(lost - Math.min(lost, gained))
        expect(added.passages).toBe(gained - Math.min(lost, gained))
      }),
    )
  })
})

describe('the changes file', () => {
  const before = corpus(40)
  const after = [
    ...altered(before.slice(0, 25), 4, () => ({ text: 'Another text of this rule.' })),
    ...Array.from({ length: 10 }, (_, n) => testPassage(100 + n)),
  ]

  test('has one line for each change that is counted, and its SHA-256 is stated', async () => {
    const { changes, named, bytes } = await comparePassages(before, after)
    for (const kind of CHANGE_KINDS)
      expect(named.filter((change) => change.kind === kind)).toHaveLength(changes.counts[kind])
    expect(changes.added.passages).toBe(changes.counts.passages_added)
    expect(changes.sha256).toBe(sha256(bytes).toString('hex'))
  })

  test('has the same bytes for the same contents, whatever the order of the rows', async () => {
    const { bytes } = await comparePassages(before, after)
    expect((await comparePassages(before.toReversed(), after.toReversed())).bytes).toBe(bytes)
  })

  test('keeps a text with the line and paragraph separators of Unicode in one line', async () => {
    const texts = ['One.\u2028Two.\u2029Three.', 'One.\u2028Two.'] as const
    const [own, other] = texts.map((text) => altered(before, 4, () => ({ text })))
    const { named } = await comparePassages(own ?? [], other ?? [])
    expect(named[0]).toMatchObject({ before: { text: texts[0] }, after: { text: texts[1] } })
  })

  test('is not written once another run has taken the build over', async () => {
    await expect(comparePassages(corpus(1_200), after, AbortSignal.abort(new Error('overtaken')))).rejects.toThrow(
      'overtaken',
    )
  })
})

test('an altered text is shown to reviewers before every other change', async () => {
  const before = corpus(400)
  const after = altered(before.slice(0, 200), 150, () => ({ text: 'The one text that was altered.' }))
  const { shown, named } = await comparePassages(before, after)
  expect(shown).toHaveLength(named.filter(({ kind }) => kind !== 'provisions_changed').length)
  expect(shown[0]).toMatchObject({ kind: 'passages_changed', label: 'Rule 150' })
})

describe('an artifact that somebody alters while it is compared', () => {
  const before = corpus(1_200)
  const after = altered(before, 3, () => ({ text: 'The firm need not keep the record of rule 3.' }))
  const passagesOf = (folder: string, side: 'before' | 'after'): string => join(folder, side, 'passages.jsonl')
  const never = new AbortController().signal

  test('is read through one open file, so another file under its name hides nothing', async () => {
    let swapped = false
    const compared = await comparePassages(before, after, never, (_, __, folder) => {
      if (swapped) return
      swapped = true
      copyFileSync(passagesOf(folder, 'before'), join(folder, 'copy'))
      renameSync(join(folder, 'copy'), passagesOf(folder, 'after'))
    })
    expect(swapped).toBe(true)
    expectCounts(compared, { passages_changed: 1, provisions_changed: 1 })
  })

  test.each([
    ['after', 'before the bytes are read', 1, /^The artifact .* of the candidate was altered after it was built/],
    ['before', 'after they were read', 1_201, /^The candidate cannot be compared with.*altered while it was compared/],
  ] as const)('in place, the %s one %s, fails the comparison', async (side, _, whenRead, sentence) => {
    let done = false
    const compared = comparePassages(before, after, never, (read, __, folder) => {
      if (done || read < whenRead) return
      done = true
      const path = passagesOf(folder, side)
      const [from, to] = whenRead === 1 ? ['of rule 1199 ', 'of rule 1191 '] : ['of rule 3 ', 'of rule 9 ']
      const at = readFileSync(path).indexOf(from)
      const file = openSync(path, 'r+')
      writeSync(file, to, at)
      closeSync(file)
    })
    await expect(compared).rejects.toThrow(sentence)
    expect(done).toBe(true)
  })
})
