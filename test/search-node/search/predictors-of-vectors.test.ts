import { expect, test } from 'vitest'
import { NOTHING, featuresOf, measured, ranked } from './features.ts'
import { said } from '#test/support/lexical-index.ts'

test('predictors of vectors count without a shared word', () => {
  const corpus = [said('anchor'), said('ballast')]
  const features = featuresOf(measured(corpus, 'cargo', ranked([1, 0], [0.5, 0.1]), Uint32Array.of(0, 1)))
  expect(features).toMatchObject({ nearest_vector: 0.5, first_coverage: 0 })
  expect(features.document_agreement).toBeGreaterThan(0.49)
  expect(features.document_agreement).toBeLessThanOrEqual(0.5)
  expect(Object.values(features).every(Number.isFinite)).toBe(true)
})

test('predictors of vectors are finite without any allowed row', () => {
  const features = featuresOf(measured([said('anchor')], 'cargo', NOTHING, Uint32Array.of(0)))
  expect(features).toMatchObject({ nearest_vector: 0 })
  expect(Object.values(features).every(Number.isFinite)).toBe(true)
})
