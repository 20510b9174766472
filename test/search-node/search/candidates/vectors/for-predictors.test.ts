import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { artifactRef, openIndex } from '#core/index/format/reader.ts'
import { filterBitset } from '#search-node/search/candidates/filter-bitset.ts'
import { nearestRows } from '#search-node/search/candidates/vectors/search.ts'
import { PREDICTOR_DEPTH } from '#search-node/search/predictors.ts'
import { EVERYTHING } from '#test/support/search-node/asked.ts'
import { buildTestArtifact, queryNear, seededRandom, signingKeys, testRows } from '#test/support/artifact.ts'

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
console.log(`TEST_SEED=${seed}`)
const QUERIES = 20
const ROWS_SCORED_MIN = 64

let store: string
beforeAll(() => {
  store = mkdtempSync(join(tmpdir(), 'for-predictors-'))
})
afterAll(() => rmSync(store, { recursive: true, force: true }))

test.each([
  ['in neighbourhoods', true, 0.95],
  ['of a version without cells', false, 0.99],
])('predictors look at nearly the fifty nearest rows %s, whatever the limit', async (name, cells, share) => {
  const random = seededRandom(seed)
  const { privateKeyDer } = signingKeys()
  const rows = testRows({ rows: 4_000, dimensions: 64, seed, clusters: 40, spread: 1 })
  const { folder, manifest } = await buildTestArtifact({ store, rows, privateKeyDer, name, cells })
  const index = openIndex(artifactRef(folder, manifest))
  expect(index.cells !== undefined).toBe(cells)
  const allowed = filterBitset(EVERYTHING, index.passages, index.facets)
  expect(allowed.count).toBe(rows.length)
  let found = 0
  for (let n = 0; n < QUERIES; n++) {
    const query = queryNear(rows, n * 200, random)
    const few = nearestRows(index, query, allowed, 10, ROWS_SCORED_MIN)
    const many = nearestRows(index, query, allowed, 75, ROWS_SCORED_MIN)
    expect(few.forPredictors).toBeUndefined()
    expect(many.forPredictors).toEqual({ ids: few.ids, scores: few.scores })
    const least = Array.from(many.scores).sort((a, b) => b - a)[PREDICTOR_DEPTH - 1] ?? 0
    found += few.scores.filter((score) => score >= least).length
  }
  expect(found / (QUERIES * PREDICTOR_DEPTH)).toBeGreaterThanOrEqual(share)
  index.close()
})
