import { describe, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import { buildParametersSchema, defaultProfile } from '#jobs/build/parameters.ts'

describe('what a build is asked to do', () => {
  test('aims, left out, at one answer in twenty without evidence, tries no re-ranker and has no question set', () => {
    expect(buildParametersSchema.parse({ embedding: 'local' })).toEqual({ embedding: 'local', target_risk: 0.05 })
  })

  test.each([
    ['an unknown embedding', { embedding: 'other' }],
    ['a target of 0', { embedding: 'local', target_risk: 0 }],
    ['a target of 1', { embedding: 'local', target_risk: 1 }],
    ['a question set that is no SHA-256', { embedding: 'local', questions_sha256: 'A'.repeat(64) }],
    ['an expansion above the bound', { embedding: 'local', expansion: BOUNDS.rowsScoredMinMax + 1 }],
    ['an unknown field', { embedding: 'local', note: '' }],
  ])('is refused with %s', (_, parameters) => {
    expect(buildParametersSchema.safeParse(parameters).success).toBe(false)
  })
})

describe('the profile before anything is fitted', () => {
  test('gives the vectors of a trained model more to say than hashed words, and the words most in either case', () => {
    const weightOf = (embedding: 'local' | 'openai'): number => defaultProfile({ embedding }).fusion.dense_weight
    expect(weightOf('local')).toBeGreaterThan(0)
    expect(weightOf('local')).toBeLessThan(weightOf('openai'))
    expect(weightOf('openai')).toBeLessThan(0.5)
  })

  test('has the expansion that was asked for, or the default', () => {
    expect(defaultProfile({ embedding: 'local', expansion: 7 }).expansion).toBe(7)
    expect(defaultProfile({ embedding: 'local' }).expansion).toBe(BOUNDS.rowsScoredMinDefault)
  })

  test('is otherwise what a profile is by default', () => {
    const { fusion, ...others } = defaultProfile({ embedding: 'openai' })
    expect({ ...others, fusion: { ...fusion, dense_weight: 0 } }).toEqual(
      profileParametersSchema.parse({ fusion: { method: 'weighted', dense_weight: 0 } }),
    )
  })
})
