import { describe, expect, test } from 'vitest'
import { DEFAULT_CALIBRATION, DEFAULT_CHAT_READER_CALIBRATION } from '#core/domain/default-calibration.ts'
import { passagesSearched, profileParametersSchema, rankingOf } from '#core/domain/retrieval-profile.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import { ordering } from '#test/support/reader-endpoint.ts'

const PARAMETERS: ProfileParameters = {
  expansion: 80,
  verification_statuses: ['verified'],
  in_force_only: true,
  dense_weight: 0.3,
  collapse_revisions: true,
  per_document_max: 4,
  rewriter: null,
  reader: {
    kind: 'chat',
    model: 'm',
    prompt_sha256: 'a'.repeat(64),
    scores: 'decide',
    passages: 5,
    on_failure: 'refuse',
    calibration: DEFAULT_CHAT_READER_CALIBRATION,
  },
  calibration: DEFAULT_CALIBRATION,
}

describe('the parameters of a profile', () => {
  test('come back from JSON as they went in', () => {
    expect(profileParametersSchema.parse(JSON.parse(JSON.stringify(PARAMETERS)))).toEqual(PARAMETERS)
  })

  test.each(Object.keys(PARAMETERS).filter((name) => name !== 'rewriter'))('are refused without %s', (left) => {
    const stored = Object.fromEntries(Object.entries(PARAMETERS).filter(([name]) => name !== left))
    expect(profileParametersSchema.safeParse(stored).success).toBe(false)
  })

  test.each([
    ['an unknown field', { note: '' }],
    ['a weight above 1', { dense_weight: 1.1 }],
    ['a negative weight', { dense_weight: -0.1 }],
    ['no verification status', { verification_statuses: [] }],
    ['a reader of one passage', { reader: { ...PARAMETERS.reader, passages: 1 } }],
    ['a reader of more passages than a call may carry', { reader: { ...PARAMETERS.reader, passages: 51 } }],
    ['a reader that decides without a calibration', { reader: { ...PARAMETERS.reader, calibration: null } }],
    ['a reader that only orders with a calibration', { reader: { ...PARAMETERS.reader, scores: 'order' } }],
    [
      'an order that may be left out',
      { reader: { ...PARAMETERS.reader, scores: 'both', on_failure: 'decide_without' } },
    ],
    ['a calibration whose lists differ in length', { calibration: { ...DEFAULT_CALIBRATION, scales: [1] } }],
    ['an expansion of 0', { expansion: 0 }],
    ['a negative cap per document', { per_document_max: -1 }],
  ])('are refused with %s', (_, change) => {
    expect(profileParametersSchema.safeParse({ ...PARAMETERS, ...change }).success).toBe(false)
  })
})

describe('a profile of a release that had a re-ranker beside the reader', () => {
  const { scores: _, passages: __, ...reader } = { scores: '', passages: 0, ...PARAMETERS.reader }
  const reranker = { model: 'r', candidates: 20 }
  const readerOf = (earlier: object): unknown => profileParametersSchema.parse({ ...PARAMETERS, ...earlier }).reader

  test('has a reader whose scores decide, or one that orders', () => {
    expect(readerOf({ reranker: null, reader: null })).toBeNull()
    expect(readerOf({ reranker: null, reader })).toEqual(PARAMETERS.reader)
    expect(readerOf({ reranker, reader: null })).toEqual(ordering('r', 20).reader)
  })

  test('with both has a reader that no release can open', () => {
    expect(readerOf({ reranker, reader: { ...reader, on_failure: 'decide_without' } })).toMatchObject({
      kind: 'chat',
      prompt_sha256: null,
      on_failure: 'refuse',
    })
  })

  test('with an invalid re-ranker is refused', () => {
    const stored = { ...PARAMETERS, reader: null, reranker: { model: 'r', candidates: 1 } }
    expect(profileParametersSchema.safeParse(stored).success).toBe(false)
  })
})

describe('how many passages a search gives', () => {
  test('is what the reply or a reader that orders needs', () => {
    const searched = (reader: ProfileParameters['reader']): readonly number[] =>
      [3, 30].map((topK) => passagesSearched({ reader }, topK))
    expect([searched(null), searched(PARAMETERS.reader), searched(ordering('r', 20).reader)]).toEqual([
      [3, 30],
      [3, 30],
      [20, 30],
    ])
  })
})

describe('what a search node is told', () => {
  test('is the ranking of the profile and the day by which revisions collapse', () => {
    expect(rankingOf(PARAMETERS, '2026-03-01')).toEqual({
      rowsScoredMin: 80,
      denseWeight: 0.3,
      perDocumentMax: 4,
      collapseRevisionsOn: '2026-03-01',
    })
  })

  test('names no day where revisions stay apart', () => {
    expect(rankingOf({ ...PARAMETERS, collapse_revisions: false }, '2026-03-01').collapseRevisionsOn).toBe('')
  })
})
