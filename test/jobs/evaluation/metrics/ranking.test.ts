import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RANKING_METRICS, rankingFigures, systemFigures } from '#jobs/evaluation/metrics/ranking.ts'
import type { RankingFigures } from '#jobs/evaluation/metrics/ranking.ts'

const letters = [...'abcdefghijklmnopqrstuvwxyz']

describe('the figures of one ranked list', () => {
  test('equal reference values for graded judgments: nDCG of scikit-learn, the others counted by hand', () => {
    const ranked = letters.slice(0, 12)
    const qrels = new Map([
      ['b', 2],
      ['d', 1],
      ['g', 3],
      ['k', 1],
      ['l', 2],
      ['c', 0],
      ['a', -1],
    ])
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
    const qrels = new Map([
      ['a', 1],
      ['c', 1],
    ])
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
