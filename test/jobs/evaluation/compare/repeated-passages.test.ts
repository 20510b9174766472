import { describe, expect, test } from 'vitest'
import { changesInWords } from '#core/domain/changes.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { changesToShow } from '#jobs/evaluation/compare/recorder.ts'
import { testPassage, type PassageTraits } from '#test/support/passages.ts'
import { comparePassages } from '#test/support/compared-contents.ts'
import type { NamedChange } from '#jobs/evaluation/compare/changes-file.ts'

const MUST = 'The finding must be renewed every two years.'
const NEED_NOT = 'The finding need not be renewed every two years.'
const RULE_4 = testPassage(4, { text: MUST })
const BEFORE = Array.from({ length: 12 }, (_, n) => testPassage(n)).map((passage, n) => (n === 4 ? RULE_4 : passage))

/** Another passage of the first document, cited as `label`, with an anchor of its own. */
function added(label: string, traits: PassageTraits = {}, n = 9): PassageRecord {
  const passage = testPassage(n, { text: NEED_NOT, provision: `copy of ${label}`, ...traits })
  const anchor = `${passage.document.canonical_url}#${encodeURIComponent(traits.provision ?? label)}`
  return { ...passage, citation: { ...passage.citation, label, source_anchor: anchor } }
}

/** The same passage in another file. */
const elsewhere = (passage: PassageRecord, change: Partial<PassageRecord['document']> = {}): PassageRecord => ({
  ...passage,
  document: { ...passage.document, id: derivedUuid('another document', '1'), title: 'Copy', ...change },
})

async function repeated(
  before: readonly PassageRecord[],
  after: readonly PassageRecord[],
): Promise<readonly [repeated: number, added: number]> {
  const { changes } = await comparePassages(before, after)
  return [changes.counts.passages_repeated, changes.added.passages]
}

describe('a passage that is added beside one of the active version, with its citation', () => {
  test('is counted as repeated, and the page shows both texts before all but altered texts', async () => {
    const copy = added('Rule 4')
    const { changes, named, shown } = await comparePassages(BEFORE, [...BEFORE, copy])
    expect(changes.counts).toMatchObject({ passages_repeated: 1, passages_changed: 0, provisions_changed: 0 })
    expect(changes.added).toEqual({ documents: 0, provisions: 1, passages: 1 })
    expect(changesInWords(changes)).toBe('12 → 13 passages, 0 removed, 0 changed, 1 added, 1 passage repeated')
    const line = {
      kind: 'passages_repeated',
      provision: copy.provision,
      label: 'Rule 4',
      repeats: { provision: RULE_4.provision, day: '2024-02-01', label: 'Rule 4' },
      before: { text: MUST },
      after: { text: NEED_NOT },
    }
    expect(named[0]).toMatchObject(line)
    expect(shown[0]).toMatchObject(line)
  })

  test.each([
    ['the label in other letters, punctuation or white space', added(' RULE\u00a0 4.')],
    ['a reference', added('Part B', { references: ['hsfa:cob-f#1.2'] })],
  ])('is found by %s', async (_, copy) => {
    const before = BEFORE.map((passage, n) => (n === 4 ? { ...passage, references: ['hsfa:cob-f#1.2'] } : passage))
    expect(await repeated(before, [...before, copy])).toEqual([1, 1])
  })

  test('is not found by an act alone, which each passage has whose label names no provision', async () => {
    const before = BEFORE.map((passage) => ({ ...passage, references: ['rulebook:x'] }))
    expect(await repeated(before, [...before, added('Part B', { references: ['rulebook:x'] })])).toEqual([0, 1])
  })

  const OTHER_URL = { canonical_url: 'https://elsewhere.example/' }
  const LONG = Array.from({ length: 30 }, (_, word) => `word${word}`).join(' ')

  test.each([
    ['in another document, by its URL and label', elsewhere(added('Rule 4'))],
    ['in another document, by its title and label', elsewhere(added('Rule 4'), { ...OTHER_URL, title: 'RULEBOOK 0' })],
    ['in another document, by its anchor', elsewhere({ ...added('X'), citation: RULE_4.citation }, OTHER_URL)],
    ['in another document, by a reference', elsewhere(added('X', { references: ['rulebook:x#1'] }), OTHER_URL)],
    ['in another document, by its whole text', elsewhere(added('X', { text: LONG.toUpperCase() }), OTHER_URL)],
    ['in the language of another region, by its label', added('Rule 4', { language: 'en-GB' })],
  ])('is found %s', async (_, copy) => {
    const before = BEFORE.map((passage, n) =>
      n === 4 ? { ...passage, references: ['rulebook:x#1'] } : n === 5 ? { ...passage, text: LONG } : passage,
    )
    expect(await repeated(before, [...before, copy])).toEqual([1, 1])
  })

  test('is found where the original was removed, so it cannot take its place under a limit of removals', async () => {
    const after = BEFORE.filter((_, n) => n !== 4)
    expect(await repeated(BEFORE, [...after, added('Rule 4')])).toEqual([1, 1])
  })

  test('is found where the original got another label', async () => {
    const after = BEFORE.map((passage, n) =>
      n === 4 ? { ...passage, citation: { ...passage.citation, label: 'Rule 4, old' } } : passage,
    )
    expect(await repeated(BEFORE, [...after, added('Rule 4')])).toEqual([1, 1])
  })

  test('is found beside other passages of the same name that are not in force with it', async () => {
    const ended = (day: string, provision: string): PassageRecord =>
      added('Rule 4', { inForceFrom: day, inForceTo: '2024-02-01', provision })
    const before = [ended('2020-01-01', 'a'), ended('2021-01-01', 'b'), ...BEFORE]
    const copies = [added('Rule 4', { provision: '0' }), added('Rule 4', { provision: 'z' })]
    expect(await repeated(before, [...before, ...copies])).toEqual([2, 2])
  })
})

describe('a passage is a plain addition', () => {
  test.each([
    ['with another citation', added('Rule 4A')],
    ['of another document', added('Rule 4', {}, 19)],
    ['of another language', added('Rule 4', { language: 'fr' })],
    ['of another jurisdiction', added('Rule 4', { language: 'en-GB', jurisdiction: 'XB' })],
    [
      'that is no longer in force when the original begins',
      added('Rule 4', { inForceFrom: '2020-01-01', inForceTo: '2024-02-01' }),
    ],
  ])('%s', async (_, passage) => {
    expect(await repeated(BEFORE, [...BEFORE, passage])).toEqual([0, 1])
  })

  test('that begins on the day on which the candidate ends the original', async () => {
    const after = BEFORE.map((passage, n) => (n === 4 ? { ...passage, in_force_to: '2025-01-01' } : passage))
    expect(await repeated(BEFORE, [...after, added('Rule 4', { inForceFrom: '2025-01-01' })])).toEqual([0, 1])
    expect(await repeated(BEFORE, [...after, added('Rule 4', { inForceFrom: '2024-12-31' })])).toEqual([1, 1])
  })

  test('that is another part or revision of a provision of its own name', async () => {
    const revision = added('Rule 4', { inForceFrom: '2025-01-01', provision: RULE_4.provision })
    expect(await repeated(BEFORE, [...BEFORE, revision])).toEqual([0, 1])
  })

  test('that the page shows after removals, within its room', async () => {
    const additions = Array.from({ length: 150 }, (_, n) => testPassage(100 + n))
    const { named } = await comparePassages(BEFORE, [...BEFORE.slice(0, 10), ...additions])
    const room = changesToShow(100)
    for (const change of named) room.offer(change)
    const shown = room.first()
    expect(shown).toHaveLength(100)
    const kinds = shown.map(({ kind }) => kind)
    expect(kinds.indexOf('passages_added')).toBeGreaterThan(kinds.lastIndexOf('provisions_removed'))
    expect(kinds.filter((kind) => kind === 'passages_removed')).toHaveLength(2)
  })
})

test('many additions of one name are compared without a search of all that ended before', async () => {
  const size = 3_000
  const year = (from: string, to: string | null, half: string): readonly PassageRecord[] =>
    Array.from({ length: size }, (_, n) =>
      added('One label', { inForceFrom: from, inForceTo: to, provision: `${half}${n}`, text: `Text ${n}.` }),
    )
  const [before, ended] = [year('2024-01-01', null, 'a'), year('2024-01-01', '2025-01-01', 'a')]
  const started = process.cpuUsage()
  expect(await repeated(before, [...ended, ...year('2025-01-01', null, 'b')])).toEqual([0, size])
  const { user, system } = process.cpuUsage(started)
  expect((user + system) / 1_000_000).toBeLessThan(5)
})

/** Twelve passages, of which those at the given places hold a reference. */
function corpus(references: Readonly<Record<number, string>>): readonly PassageRecord[] {
  return Array.from({ length: 12 }, (_, n) => testPassage(n, { references: [references[n] ?? []].flat() }))
}

describe('a reference', () => {
  const references = async (
    before: readonly PassageRecord[],
    after: readonly PassageRecord[],
  ): Promise<readonly NamedChange[]> =>
    (await comparePassages(before, after)).named.filter(({ kind }) => kind === 'references_changed')

  test('that leads to another provision is a change, which names both', async () => {
    const before = corpus({ 4: 'rulebook:cob-m#2.1' })
    const after = corpus({ 7: 'rulebook:cob-m#2.1' })
    expect(await references(before, after)).toMatchObject([
      { reference: 'rulebook:cob-m#2.1', lost: [{ label: 'Rule 4' }], gained: [{ label: 'Rule 7' }] },
    ])
  })

  test('that also leads to an added provision is a change', async () => {
    const before = corpus({ 4: 'rulebook:cob-m#2.1' })
    const copy = { ...testPassage(30), references: ['rulebook:cob-m#2.1'] }
    expect(await references(before, [...before, copy])).toMatchObject([{ lost: [], gained: [{ label: 'Rule 30' }] }])
  })

  test('is no change where its provision was removed, has a new revision, or is new', async () => {
    const before = corpus({ 4: 'rulebook:cob-m#2.1' })
    const revision = testPassage(4, { references: ['rulebook:cob-m#2.1'], inForceFrom: '2025-01-01', revision: '2' })
    const own = { ...testPassage(30), references: ['rulebook:cob-m#9.9'] }
    for (const after of [before.filter((_, n) => n !== 4), [...before, revision], [...before, own]])
      expect(await references(before, after)).toEqual([])
  })
})
