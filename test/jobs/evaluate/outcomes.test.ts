import { expect, test } from 'vitest'
import type { FoundPassage } from '#core/rpc/search-node.ts'
import { outcomeOf } from '#jobs/evaluate/command/outcomes.ts'

function found(label: string, score: number): FoundPassage {
  return {
    chunk_id: `chk_${label}`,
    text: '',
    score,
    document: { id: 'd', revision_id: 'r', title: '–', authority: 'a', canonical_url: 'https://rules.example/', published_at: '', effective_at: '' },
    citation: { label, source_anchor: 'https://rules.example/#a', source_snapshot_id: 's' },
    metadata: { language: 'en', jurisdiction: 'ZZ', verification_status: 'verified' },
    place: { ordinal: 0, document_passages: 1 },
    named: false,
    row: 0,
  }
}

const JUDGMENTS = new Map([
  ['b', 1],
  ['c', 1],
])

test('a record that was cut into several passages counts once, at its best place', () => {
  const passages = [found('a (part 2 of 3)', 0.9), found('a (part 1 of 3)', 0.8), found('b', 0.7), found('a (part 3 of 3)', 0.6), found('c', 0.5)]
  const { figures, top } = outcomeOf({ id: 'q', judgments: JUDGMENTS }, { passages, evidence: [] })
  expect(top).toEqual([
    { record: 'a', score: 0.9 },
    { record: 'b', score: 0.7 },
    { record: 'c', score: 0.5 },
  ])
  expect(figures?.['mrr@10']).toBe(1 / 2)
  expect(figures?.['map@10']).toBeCloseTo((1 / 2 + 2 / 3) / 2, 12)
})

test('a record with the question’s own id is passed over', () => {
  const { figures, top } = outcomeOf({ id: 'a', judgments: JUDGMENTS }, { passages: [found('a', 1), found('b', 0.7)], evidence: [] })
  expect(top.map(({ record }) => record)).toEqual(['b'])
  expect(figures?.['mrr@10']).toBe(1)
})

test('a question without a relevant record has no figures', () => {
  expect(outcomeOf({ id: 'q', judgments: new Map([['b', 0]]) }, { passages: [found('b', 0.7)], evidence: [0.5] })).toMatchObject({
    figures: undefined,
    evidence: [0.5],
  })
})
