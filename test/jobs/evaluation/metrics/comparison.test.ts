import { describe, expect, test } from 'vitest'
import { compareRankings, RANKING_METRICS, byMetric, systemFigures } from '#jobs/evaluation/metrics/ranking.ts'
import type { RankingFigures } from '#jobs/evaluation/metrics/ranking.ts'

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
