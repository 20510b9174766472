import { mkdtemp, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { NamedChange, PassageChange } from '#jobs/evaluation/compare/changes-file.ts'
import { changesSection } from '#jobs/evaluation/compare/page/changes.ts'
import { readPlaces, type PlaceOf } from '#jobs/evaluation/compare/page/neighbours.ts'
import { CHANGED_REPORT } from '#test/jobs/evaluation/page/evaluation-report.ts'
import { testPassage } from '#test/support/passages.ts'
import { wordDifference } from '#jobs/evaluation/compare/page/word-difference.ts'

const BEFORE = [0, 1, 2, 3].map((n) => testPassage(n))
/** From another day and authority on; the text of one is another. */
const AFTER = BEFORE.map((passage, n) => ({
  ...passage,
  in_force_from: '2024-03-01',
  document: { ...passage.document, effective_at: '2024-03-01T00:00:00.000Z', authority: 'Other Authority' },
  text: n === 1 ? passage.text.replace('keeps', 'burns') : passage.text,
}))

function changeOf(kind: 'passages_removed' | 'passages_added', passage: PassageRecord): PassageChange {
  const { document, metadata, provision, in_force_from: day, citation } = passage
  const { id, title, canonical_url } = document
  return {
    kind,
    document: { id, title, canonical_url },
    language: metadata.language,
    provision,
    day,
    label: citation.label,
  }
}

const placeOf: PlaceOf = ({ kind, provision }) => {
  const passage = (kind === 'passages_removed' ? BEFORE : AFTER).find((one) => one.provision === provision)
  return passage && { ordinal: passage.position.ordinal, passage, previous: undefined, next: undefined }
}

test('passages from another day on are one entry where their texts are equal, and one each with its words where not', () => {
  const changes: readonly NamedChange[] = [
    ...BEFORE.map((passage) => changeOf('passages_removed', passage)),
    ...AFTER.map((passage) => changeOf('passages_added', passage)),
  ]
  const page = changesSection(CHANGED_REPORT, changes, placeOf).source.replaceAll(/\s+/g, ' ')
  const cards = page.match(/<article.*?<\/article>/g) ?? []
  expect(cards).toHaveLength(2)
  const [other = '', equal = ''] = cards
  expect(equal).toContain('3 passages with equal texts')
  expect(equal).toContain('in force from 2024-02-01 → 2024-03-01')
  for (const n of [0, 2, 3]) expect(equal).toContain(`<bdi>Rule ${n}</bdi>`)
  for (const card of cards)
    expect(card).toMatch(/authority: <del><bdi>Test Authority<\/bdi><\/del> → <ins><bdi>Other Authority/)
  expect(other).toContain('<del>keeps</del><ins>burns</ins>')
  expect(other).toContain('data-kinds="passages_removed passages_added dates text"')
})

test('a text that follows one whose end its source stated is compared with it', async () => {
  const ended = BEFORE.slice(1, 2).map((passage) => ({ ...passage, in_force_to: '2024-03-01' }))
  const lines = [...ended, ...AFTER.slice(1, 2)].map((passage) => JSON.stringify(passage))
  const folder = await mkdtemp('/tmp/places-')
  await writeFile(`${folder}/passages.jsonl`, lines.join('\n'))
  const added = AFTER.slice(1, 2).map((passage) => changeOf('passages_added', passage))
  const { source } = changesSection(CHANGED_REPORT, added, await readPlaces(added, { before: folder, after: folder }))
  expect(source).toContain('<del>keeps</del><ins>burns</ins>')
  expect(source).toMatch(/data-kinds="passages_added dates text"[^]*followed by a later text/)
})

test('a repeated passage that was there from another day on is one entry, which names what it repeats', () => {
  const [before, after] = [BEFORE[0], AFTER[0]]
  if (before === undefined || after === undefined) throw new Error('there is no passage')
  const repeats = { provision: 'other', day: '2024-02-01', label: 'Rule 9' }
  const added = { ...changeOf('passages_added', after), kind: 'passages_repeated' as const, repeats }
  const { source } = changesSection(CHANGED_REPORT, [changeOf('passages_removed', before), added], placeOf)
  expect(source.match(/<article/g)).toHaveLength(1)
  expect(source).toContain('data-kinds="passages_removed passages_repeated dates"')
  expect(source).toMatch(/it has a name of <bdi>Rule 9<\/bdi>/)
  expect(source).toContain('<del><bdi>2024-02-01</bdi></del>')
})

test('a passage that is removed without its like is an entry of its own', () => {
  const [first, second] = BEFORE.map((passage) => changeOf('passages_removed', passage))
  const added = AFTER.slice(1, 2).map((passage) => changeOf('passages_added', passage))
  const changes = [first, second, ...added].filter((one) => one !== undefined)
  const { source } = changesSection(CHANGED_REPORT, changes, placeOf)
  expect(source.match(/<article/g)).toHaveLength(2)
  expect(source).toContain('data-kinds="passages_removed"')
})

const shownOf = (before: string, after: string): string =>
  wordDifference(before, after)
    .map(({ source }) => source)
    .join('')

test('a long run of equal words is cut between words, and between signs where the writing has no spaces', () => {
  const words = 'considerations '.repeat(60)
  const shown = shownOf(`old ${words}old`, `new ${words}new`)
  expect(shown).toMatch(/^<del>old<\/del><ins>new<\/ins>( considerations)+ … (considerations )+<del>old/)
  const signs = '合同'.repeat(300)
  expect(shownOf(`old ${signs} old`, `new ${signs} new`)).toMatch(/<\/ins> (合同)+合? … 同?(合同)+ <del>/)
})

test('a text under another number is compared with itself where all of it is known, and else shown as added', () => {
  const kindsOf = (text: string): string => {
    const [removed, added] = [1, 2].map((n) => changeOf('passages_added', testPassage(n)))
    if (removed === undefined || added === undefined) return ''
    const changes = [
      { ...removed, kind: 'passages_changed' as const, before: { text }, after: { text: 'Another rule.' } },
      { ...added, after: { text } },
    ]
    return [...changesSection(CHANGED_REPORT, changes).source.matchAll(/data-kinds="([^"]*)"/g)].join()
  }
  expect(kindsOf('A keeper must tell the office.')).toMatch(/"passages_added.*"passages_changed"/)
  expect(kindsOf(`${'A keeper must tell the office. '.repeat(9)}…`)).toMatch(
    /"passages_changed text warning.*"passages_added"/,
  )
})
