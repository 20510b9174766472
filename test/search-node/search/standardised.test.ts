import { describe, expect, inject, test } from 'vitest'
import { probability, type Calibration } from '#core/domain/calibration.ts'
import { DEFAULT_MODEL_CALIBRATION, DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { PREDICTORS, type Predictor } from '#core/domain/predictors.ts'
import type { SearchResult } from '#core/domain/search.ts'
import type { SearchInput } from '#search-node/search/interfaces.ts'
import { EVERYTHING, RANKING, bruteForce } from '#test/support/search.ts'
import { queryNear, questionOn, seededRandom, unit, wordedRows } from '#test/support/passages.ts'
import { openCorpus } from '#test/support/fixtures.ts'

const { seed } = inject('random')
const [ROWS, CLUSTERS, DIMENSIONS, FEW] = [300, 15, 16, 12]

const withCommon = (vector: Float32Array, share: number): Float32Array =>
  unit(Float32Array.of(...vector.map((value) => value * Math.sqrt(1 - share)), Math.sqrt(share), 0, 0, 0))
const padded = (vector: Float32Array): Float32Array => withCommon(vector, 0)
const narrowed = (vector: Float32Array): Float32Array => withCommon(vector, 0.9)

/**
 * The same corpus as two models give it: the cosines of `narrow` are those of the other, scaled by a tenth and shifted
 * to 0.9.
 */
const rows = wordedRows({
  rows: ROWS,
  dimensions: DIMENSIONS,
  seed,
  clusters: CLUSTERS,
  traits: (n) => ({ subjects: n % (ROWS / FEW) === 0 ? ['few', 'all'] : ['all'] }),
})
const queries = questions(40).map(({ vector }) => vector)
const standardised = await openCorpus({
  rows: rows.map(({ record, vector }) => ({ record, vector: padded(vector) })),
  queries: queries.map(padded),
})
const narrow = await openCorpus({
  rows: rows.map(({ record, vector }) => ({ record, vector: narrowed(vector) })),
  queries: queries.map(narrowed),
})

function questions(count: number): { readonly text: string; readonly vector: Float32Array }[] {
  const random = seededRandom(seed + 2)
  return Array.from({ length: count }, (_, n) => ({
    text: questionOn(n % CLUSTERS, random),
    vector: queryNear(rows, Math.floor(random() * ROWS), random),
  }))
}

const predictor = ({ predictors }: SearchResult, name: Predictor): number =>
  predictors[PREDICTORS.indexOf(name)] ?? Number.NaN
const weighing = (denseWeight: number): SearchInput['ranking'] => ({ ...RANKING, denseWeight })
const few = { ...EVERYTHING, subjects: ['few'], anySubject: false }

function expectWellFormed({ passages }: SearchResult): void {
  expect(passages.every(({ score }) => score >= 0 && score <= 1)).toBe(true)
  for (const [at, { score }] of passages.slice(1).entries()) expect(passages[at]?.score).toBeGreaterThanOrEqual(score)
}

describe('a weight of the vectors', () => {
  test.each([0.1, 0.4, 0.7, 1])(
    'of %d gives the same scores for every model, however narrow its cosines',
    async (weight) => {
      for (const { text, vector } of questions(8)) {
        const ranking = weighing(weight)
        const one = await standardised.ask({ text, vector: padded(vector), ranking, limit: 30 })
        const other = await narrow.ask({ text, vector: narrowed(vector), ranking, limit: 30 })
        const scores = new Map(other.passages.map(({ sourceId, score }) => [sourceId, score]))
        const shared = one.passages.filter(({ sourceId }) => scores.has(sourceId))
        expect(shared.length).toBeGreaterThanOrEqual(28)
        for (const { sourceId, score } of shared) expect(score).toBeCloseTo(scores.get(sourceId) ?? Number.NaN, 3)
        expectWellFormed(one)
        expectWellFormed(other)
      }
    },
  )
})

describe('a vector alone', () => {
  test('ranks every passage as brute force does, those far below the mean too', async () => {
    for (const { vector } of questions(5)) {
      const reply = await narrow.ask({ vector: narrowed(vector), limit: ROWS })
      const best = bruteForce(rows, vector, EVERYTHING, ROWS)
      // float32 of narrow cosines tells apart what differs in the fifth place.
      const cosines = new Map(best.map(({ chunk_id, score }) => [chunk_id, score]))
      expect(reply.passages).toHaveLength(ROWS)
      for (const [at, { chunkId }] of reply.passages.slice(1).entries())
        expect((cosines.get(reply.passages[at]?.chunkId ?? '') ?? 0) - (cosines.get(chunkId) ?? 1)).toBeGreaterThan(
          -1e-4,
        )
      expect(new Set(reply.passages.map(({ score }) => score)).size).toBeGreaterThan(ROWS * 0.9)
      expectWellFormed(reply)
    }
  })

  test('keeps its order among twelve passages that all lie below the mean', async () => {
    for (const { vector } of questions(5)) {
      const far = vector.map((value) => -value)
      const reply = await narrow.ask({ vector: narrowed(far), filters: few, limit: FEW })
      const cosines = new Map(rows.map(({ record, vector: row }) => [record.chunk_id, dot(row, far)]))
      const order = reply.passages.map(({ chunkId }) => cosines.get(chunkId) ?? Number.NaN)
      expect(order).toHaveLength(FEW)
      for (const [at, own] of order.slice(1).entries()) expect((order[at] ?? 0) - own).toBeGreaterThan(-1e-4)
    }
  })
})

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, d) => sum + value * (b[d] ?? 0), 0)
}

describe('a filter that leaves twelve passages', () => {
  test('does not change the score that a passage has by its vector', async () => {
    for (const { vector } of questions(5)) {
      const all = await standardised.ask({ vector: padded(vector), limit: ROWS })
      const scores = new Map(all.passages.map(({ sourceId, score }) => [sourceId, score]))
      const left = await standardised.ask({ vector: padded(vector), limit: FEW, filters: few })
      expect(left.allowed).toBe(FEW)
      expect(left.passages).toHaveLength(FEW)
      for (const { sourceId, score } of left.passages) expect(score).toBe(scores.get(sourceId))
    }
  })

  test('leaves nearest_vector as it is where it leaves the nearest passage, and never raises it', async () => {
    const allowed = rows.filter(({ record }) => record.subjects.includes('few'))
    for (const [at, { vector: near }] of allowed.entries()) {
      const { text = '' } = questions(FEW)[at] ?? {}
      const query = { text, vector: padded(near) }
      const all = await standardised.ask(query)
      const left = await standardised.ask({ ...query, filters: few })
      expect(predictor(left, 'nearest_vector')).toBe(predictor(all, 'nearest_vector'))
      expect(predictor(left, 'nearest_vector')).toBeGreaterThan(0)
    }
    for (const { text, vector } of questions(5)) {
      const query = { text, vector: padded(vector) }
      expect(predictor(await standardised.ask({ ...query, filters: few }), 'nearest_vector')).toBeLessThanOrEqual(
        predictor(await standardised.ask(query), 'nearest_vector'),
      )
    }
  })

  test('hardly moves the decision where the right passage is among them', async () => {
    const moved = { words: [0], model: [0] }
    const allowed = rows.filter(({ record }) => record.subjects.includes('few'))
    expect(allowed).toHaveLength(FEW)
    for (const [at, { record, vector }] of allowed.entries()) {
      const lacking = (questions(FEW)[at]?.text ?? '').split(' ').slice(0, 2)
      const text = [...record.text.split(' ').slice(0, 4), ...lacking].join(' ')
      for (const query of [{ text }, { text, vector: padded(vector) }]) {
        const [all, left] = [await standardised.ask(query), await standardised.ask({ ...query, filters: few })]
        expect([all, left].map(({ passages }) => passages[0]?.chunkId)).toEqual([record.chunk_id, record.chunk_id])
        const change = (of: (result: SearchResult) => number): number => Math.abs(of(left) - of(all))
        const decided = (calibration: Calibration): number =>
          change(({ predictors }) => probability(calibration, PREDICTORS, predictors))
        if ('vector' in query) moved.model.push(decided(DEFAULT_MODEL_CALIBRATION))
        else moved.words.push(decided(DEFAULT_CALIBRATION))
      }
    }
    // The other four of the first five passages change with the filter.
    expect(Math.max(...moved.words)).toBeLessThan(0.15)
    expect(Math.max(...moved.model)).toBeLessThan(0.25)
  })

  test('gives predictors of vectors to a question that shares no word with it', async () => {
    const [{ vector } = { vector: new Float32Array(DIMENSIONS) }] = questions(1)
    for (const filters of [EVERYTHING, few]) {
      const reply = await standardised.ask({ text: 'zyzzyva qwertz', vector: padded(vector), filters })
      expect(reply.passages.length).toBeGreaterThan(0)
      expect(reply.predictors.every(Number.isFinite)).toBe(true)
      expect(predictor(reply, 'nearest_vector')).not.toBe(0)
      expect(predictor(reply, 'first_coverage')).toBe(0)
    }
  })
})
