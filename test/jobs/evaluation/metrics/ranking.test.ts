import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  RANKING_METRICS,
  rankingFigures,
  systemFigures,
  compareRankings,
  byMetric,
} from '#jobs/evaluation/metrics/ranking.ts'
import type { RankingFigures } from '#jobs/evaluation/metrics/ranking.ts'
import { wilsonInterval } from '#jobs/evaluation/metrics/resampling.ts'

const letters = [...'abcdefghijklmnopqrstuvwxyz']

describe('the figures of one ranked list', () => {
  test('equal reference values for graded judgments: nDCG of scikit-learn, the others counted by hand', () => {
    const ranked = letters.slice(0, 12)
    const qrels = new Map(Object.entries({ b: 2, d: 1, g: 3, k: 1, l: 2, c: 0, a: -1 }))
    const figures = rankingFigures(ranked, qrels)
    expect(figures?.['ndcg@10']).toBeCloseTo(0.4428958439256473, 14)
    expect(figures?.['recall@5']).toBeCloseTo(2 / 5, 14)
    expect(figures?.['recall@10']).toBeCloseTo(3 / 5, 14)
    expect(figures?.['recall@100']).toBe(1)
    expect(figures?.['map@10']).toBeCloseTo((1 / 2 + 2 / 4 + 3 / 7) / 5, 14)
    expect(figures?.['mrr@10']).toBeCloseTo(1 / 2, 14)
  })

  test('divide average precision by all relevant records, also by those that no ten places could hold', () => {
    const relevant = letters.slice(0, 20)
    expect(rankingFigures(relevant, new Map(relevant.map((id) => [id, 1])))).toEqual({
      'ndcg@10': 1,
      'recall@5': 0.25,
      'recall@10': 0.5,
      'recall@100': 1,
      'map@10': 0.5,
      'mrr@10': 1,
    })
  })

  test('are zero for an empty list, and for a relevant record in place eleven but for recall@100', () => {
    const qrels = new Map([['k', 1]])
    expect(Object.values(rankingFigures([], qrels) ?? {})).toEqual([0, 0, 0, 0, 0, 0])
    expect(rankingFigures(letters, qrels)).toEqual({
      'ndcg@10': 0,
      'recall@5': 0,
      'recall@10': 0,
      'recall@100': 1,
      'map@10': 0,
      'mrr@10': 0,
    })
  })

  test('count a record that comes several times once, at its best place', () => {
    const qrels = new Map(Object.entries({ a: 1, c: 1 }))
    expect(rankingFigures(['b', 'a', 'a', 'b', 'c'], qrels)).toEqual(rankingFigures(['b', 'a', 'c'], qrels))
  })

  test('do not exist for a question without a relevant record', () => {
    expect(rankingFigures(['a'], new Map())).toBeUndefined()
    expect(rankingFigures(['a'], new Map([['a', 0]]))).toBeUndefined()
  })

  test('lie in [0, 1], and no swap of a more relevant record upwards makes one fall', () => {
    const relevance = fc
      .array(fc.integer({ min: 0, max: 3 }), { minLength: 2, maxLength: 25 })
      .filter((list) => list.some((value) => value > 0))
    fc.assert(
      fc.property(relevance, fc.nat(), (relevances, seed) => {
        const ids = relevances.map((_, at) => `r${at}`)
        const qrels = new Map(ids.map((id, at) => [id, relevances[at] ?? 0]))
        const at = seed % (ids.length - 1)
        const swapped = ids.with(at, ids[at + 1] ?? '').with(at + 1, ids[at] ?? '')
        const rises = (relevances[at + 1] ?? 0) >= (relevances[at] ?? 0)
        const [worse, better] = rises ? [ids, swapped] : [swapped, ids]
        for (const metric of RANKING_METRICS) {
          const [low, high] = [
            rankingFigures(worse, qrels)?.[metric] ?? -1,
            rankingFigures(better, qrels)?.[metric] ?? -1,
          ]
          expect(low).toBeGreaterThanOrEqual(0)
          expect(high).toBeLessThanOrEqual(1 + 1e-12)
          expect(high).toBeGreaterThanOrEqual(low - 1e-12)
        }
      }),
    )
  })
})

function withAll(value: number): RankingFigures {
  return {
    'ndcg@10': value,
    'recall@5': value / 2,
    'recall@10': value,
    'recall@100': value,
    'map@10': value,
    'mrr@10': value,
  }
}

describe('the figures of a system', () => {
  test('are means over questions, with the interval that NumPy gives for the same draws', () => {
    const figures = systemFigures([1, 0, 0.5, 0.25, 1, 1, 0, 0.75, 0.5, 0.1].map(withAll))
    expect(figures['ndcg@10']).toBeCloseTo(0.51, 14)
    expect(figures['recall@5']).toBeCloseTo(0.255, 14)
    expect(figures.ci['ndcg@10'][0]).toBeCloseTo(0.26, 14)
    expect(figures.ci['ndcg@10'][1]).toBeCloseTo(0.76, 14)
    expect(figures.ci['recall@5'][1]).toBeCloseTo(0.38, 14)
  })

  test('have an interval near that of the normal distribution on many questions', () => {
    const figures = systemFigures(Array.from({ length: 2_000 }, (_, at) => withAll(at % 4 === 0 ? 1 : 0)))
    const half = 1.96 * Math.sqrt((0.25 * 0.75) / 2_000)
    expect(figures.ci['map@10'][0]).toBeCloseTo(0.25 - half, 2)
    expect(figures.ci['map@10'][1]).toBeCloseTo(0.25 + half, 2)
  })

  test('are the same whenever they are computed, and need a question', () => {
    const questions = Array.from({ length: 50 }, (_, at) => withAll(((at * 7) % 11) / 11))
    expect(systemFigures(questions)).toEqual(systemFigures(questions))
    expect(systemFigures([withAll(0.5)]).ci['mrr@10']).toEqual([0.5, 0.5])
    expect(() => systemFigures([])).toThrow(RangeError)
  })
})

function asked(values: readonly number[]): ReadonlyMap<string, RankingFigures> {
  return new Map(values.map((value, at) => [`q${at}`, byMetric(() => value)]))
}
const active = Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? 0.9 : 0.1))

describe('a candidate compared with the active version', () => {
  test('is worse where every question lost a little, though the intervals of the two overlap widely', () => {
    const candidate = active.map((value) => value - 0.02)
    const comparison = compareRankings(asked(candidate), asked(active))
    expect(comparison).toMatchObject({ worse: true, worse_on: RANKING_METRICS })
    expect(comparison?.metrics['ndcg@10']).toMatchObject({
      candidate: expect.closeTo(0.48, 12),
      active: expect.closeTo(0.5, 12),
      difference: expect.closeTo(-0.02, 12),
    })
    const [own, other] = [candidate, active].map((values) => systemFigures([...asked(values).values()]).ci['ndcg@10'])
    expect(own?.[1]).toBeGreaterThan(other?.[0] ?? 1)
  })

  test('is not worse where losses and gains balance within chance', () => {
    const candidate = active.map((value, at) => value + (at % 20 < 9 ? 0.05 : -0.045))
    const comparison = compareRankings(asked(candidate), asked(active))
    expect(comparison?.metrics['mrr@10'].difference).toBeLessThan(0)
    expect(comparison).toMatchObject({ worse: false, worse_on: [] })
  })

  test('rests on the questions that both were asked, in whatever order', () => {
    const candidate = new Map([...asked(active.slice(0, 50))].toReversed())
    const comparison = compareRankings(candidate, asked(active))
    expect(comparison).toMatchObject({ questions: 50, worse: false })
    expect(comparison).toEqual(compareRankings(asked(active.slice(0, 50)), asked(active)))
    expect(compareRankings(new Map([['other', byMetric(() => 1)]]), asked(active))).toBeUndefined()
  })
})

test.each([
  // Newcombe 1998, table I, method 3.
  [81, 263, 0.2553, 0.3662],
  [15, 148, 0.0624, 0.1605],
  [0, 20, 0, 0.1611],
  [1, 29, 0.0061, 0.1718],
])('the interval of %i of %i is that of Wilson', (count, trials, low, high) => {
  const [from = Number.NaN, to = Number.NaN] = wilsonInterval(count, trials) ?? []
  expect([from, to]).toEqual([expect.closeTo(low, 4), expect.closeTo(high, 4)])
})

test('nothing is said of no trials', () => {
  expect(wilsonInterval(0, 0)).toBeUndefined()
})
