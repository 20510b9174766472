import { describe, expect, test } from 'vitest'
import { EMBEDDINGS, type Embedding } from '#core/embedding/embedder.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import { FUSION_WEIGHTS } from '#jobs/evaluation/fusion.ts'
import { buildParametersSchema, defaultProfile } from '#jobs/version-build/parameters.ts'

describe('what a build is asked to do', () => {
  test('aims, left out, at one answer in twenty without evidence, has no reader and no question set', () => {
    expect(buildParametersSchema.parse({ embedding: 'none' })).toEqual({
      embedding: 'none',
      target_risk: 0.05,
      withdrawals: { drop: [], restore: [] },
    })
  })

  test.each([
    ['an unknown embedding', { embedding: 'other' }],
    ['a target of 0', { embedding: 'none', target_risk: 0 }],
    ['a target of 1', { embedding: 'none', target_risk: 1 }],
    ['a question set that is no SHA-256', { embedding: 'none', questions_sha256: 'A'.repeat(64) }],
    ['search questions by another writer', { embedding: 'none', search_questions: 'other' }],
    ['an expansion above the bound', { embedding: 'none', expansion: SEARCH_BOUNDS.rowsScoredMinMax + 1 }],
    ['an unknown field', { embedding: 'none', note: '' }],
  ])('is refused with %s', (_, parameters) => {
    expect(buildParametersSchema.safeParse(parameters).success).toBe(false)
  })
})

test('the embedder of an earlier release, which hashed words, is none', () => {
  expect(buildParametersSchema.parse({ embedding: 'local' }).embedding).toBe('none')
})

test('a re-ranker that an earlier release was to try is a reader that orders, unless there is a reader', () => {
  const reranker = { model: 'm', candidates: 7 }
  const reader = { model: 'chat', on_failure: 'refuse' }
  const readerOf = (stored: object): unknown => buildParametersSchema.parse({ embedding: 'none', ...stored }).reader
  expect(readerOf({ reranker })).toEqual({
    model: 'm',
    kind: 'cross-encoder',
    scores: 'order',
    passages: 7,
    on_failure: 'refuse',
  })
  for (const stored of [{ reader }, { reader, reranker }])
    expect(readerOf(stored)).toEqual({ ...reader, kind: 'chat', scores: 'decide', passages: 5 })
})

describe('the profile before anything is fitted', () => {
  test('gives vectors a weight only where there are some', () => {
    const weightOf = (embedding: Embedding): number => defaultProfile({ embedding }).dense_weight
    expect(weightOf('none')).toBe(0)
    expect(FUSION_WEIGHTS).toContain(weightOf('openai'))
  })

  test('has one calibration without the vectors of a model, and another with them', () => {
    const featuresOf = (embedding: Embedding): readonly string[] => defaultProfile({ embedding }).calibration.features
    expect(featuresOf('none')).not.toContain('nearest_vector')
    expect(featuresOf('openai')).toContain('nearest_vector')
  })

  test('has the expansion that was asked for, or the default', () => {
    expect(defaultProfile({ embedding: 'none', expansion: 7 }).expansion).toBe(7)
    expect(defaultProfile({ embedding: 'none' }).expansion).toBe(SEARCH_BOUNDS.rowsScoredMinDefault)
  })

  test.each(EMBEDDINGS)(
    'serves verified passages in force, each provision once, and reads nothing: %s',
    (embedding) => {
      const profile = defaultProfile({ embedding })
      expect(profileParametersSchema.parse(profile)).toEqual(profile)
      expect(profile).toMatchObject({
        verification_statuses: ['verified'],
        in_force_only: true,
        collapse_revisions: true,
        per_document_max: 0,
        reader: null,
      })
    },
  )
})
