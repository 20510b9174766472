import { describe, expect, test } from 'vitest'
import { DEFAULT_CALIBRATION, DEFAULT_CHAT_READER_CALIBRATION } from '#core/domain/default-calibration.ts'
import { profileParametersSchema, rankingOf } from '#core/domain/retrieval-profile.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'

const PARAMETERS: ProfileParameters = {
  expansion: 80,
  verification_statuses: ['verified'],
  in_force_only: true,
  dense_weight: 0.3,
  collapse_revisions: true,
  per_document_max: 4,
  reranker: { model: 'm', candidates: 20 },
  reader: {
    kind: 'chat',
    model: 'm',
    prompt_sha256: 'a'.repeat(64),
    on_failure: 'refuse',
    calibration: DEFAULT_CHAT_READER_CALIBRATION,
  },
  calibration: DEFAULT_CALIBRATION,
}

describe('the parameters of a profile', () => {
  test('come back from JSON as they went in', () => {
    expect(profileParametersSchema.parse(JSON.parse(JSON.stringify(PARAMETERS)))).toEqual(PARAMETERS)
  })

  test.each(Object.keys(PARAMETERS))('are refused without %s', (left) => {
    const stored = Object.fromEntries(Object.entries(PARAMETERS).filter(([name]) => name !== left))
    expect(profileParametersSchema.safeParse(stored).success).toBe(false)
  })

  test.each([
    ['an unknown field', { note: '' }],
    ['a weight above 1', { dense_weight: 1.1 }],
    ['a negative weight', { dense_weight: -0.1 }],
    ['no verification status', { verification_statuses: [] }],
    ['a re-ranker of one candidate', { reranker: { model: 'm', candidates: 1 } }],
    ['a re-ranker of more candidates than a call may carry', { reranker: { model: 'm', candidates: 51 } }],
    ['a reader without a calibration', { reader: { ...PARAMETERS.reader, calibration: undefined } }],
    ['a calibration whose lists differ in length', { calibration: { ...DEFAULT_CALIBRATION, scales: [1] } }],
    ['an expansion of 0', { expansion: 0 }],
    ['a negative cap per document', { per_document_max: -1 }],
  ])('are refused with %s', (_, change) => {
    expect(profileParametersSchema.safeParse({ ...PARAMETERS, ...change }).success).toBe(false)
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
