import { describe, expect, test } from 'vitest'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { NamedChange } from '#jobs/evaluation/compare/changes-file.ts'
import { testPassage } from '#test/support/passages.ts'
import { comparePassages } from '#test/support/compared-contents.ts'

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
