import { describe, expect, test } from 'vitest'
import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { profileParametersSchema, rankingOf } from '#core/domain/retrieval-profile.ts'

describe('the parameters of a profile', () => {
  test(
    'serve, left out, verified passages in force, each provision once, under the default decision and ' +
      'without a re-ranker',
    () => {
      expect(profileParametersSchema.parse({})).toEqual({
        expansion: 64,
        verification_statuses: ['verified'],
        in_force_only: true,
        fusion: { method: 'weighted', dense_weight: 0.05, rrf_k: 60 },
        collapse_revisions: true,
        per_document_max: 0,
        reranker: null,
        calibration: DEFAULT_CALIBRATION,
      })
    },
  )

  test('come back from JSON as they went in', () => {
    const parameters = profileParametersSchema.parse({
      fusion: { method: 'rrf', dense_weight: 0.5 },
      reranker: { model: 'm', candidates: 20 },
    })
    expect(profileParametersSchema.parse(JSON.parse(JSON.stringify(parameters)))).toEqual(parameters)
    expect(parameters.fusion.rrf_k).toBe(60)
  })

  test.each([
    ['an unknown field', { note: '' }],
    ['an unknown way to fuse', { fusion: { method: 'sum', dense_weight: 0.5 } }],
    ['a weight above 1', { fusion: { method: 'rrf', dense_weight: 1.1 } }],
    ['a negative weight', { fusion: { method: 'rrf', dense_weight: -0.1 } }],
    ['a constant of 0 for reciprocal ranks', { fusion: { method: 'rrf', dense_weight: 0.5, rrf_k: 0 } }],
    ['no verification status', { verification_statuses: [] }],
    ['a re-ranker of one candidate', { reranker: { model: 'm', candidates: 1 } }],
    ['a re-ranker of more candidates than a call may carry', { reranker: { model: 'm', candidates: 51 } }],
    ['a calibration whose lists differ in length', { calibration: { ...DEFAULT_CALIBRATION, scales: [1] } }],
    ['an expansion of 0', { expansion: 0 }],
    ['a negative cap per document', { per_document_max: -1 }],
  ])('are refused with %s', (_, change) => {
    expect(profileParametersSchema.safeParse(change).success).toBe(false)
  })
})

describe('what a search node is told', () => {
  test('is the ranking of the profile and the day by which revisions collapse', () => {
    const parameters = profileParametersSchema.parse({
      expansion: 80,
      fusion: { method: 'rrf', dense_weight: 0.3, rrf_k: 20 },
      per_document_max: 4,
    })
    expect(rankingOf(parameters, '2026-03-01')).toEqual({
      rowsScoredMin: 80,
      fusion: 'rrf',
      denseWeight: 0.3,
      rrfK: 20,
      perDocumentMax: 4,
      collapseRevisionsOn: '2026-03-01',
    })
  })

  test('names no day where revisions stay apart', () => {
    expect(
      rankingOf(profileParametersSchema.parse({ collapse_revisions: false }), '2026-03-01').collapseRevisionsOn,
    ).toBe('')
  })
})
