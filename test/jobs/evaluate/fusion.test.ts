import { describe, expect, test } from 'vitest'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import type { Reranker } from '#core/reranking/reranker.ts'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import { fitFusion, tryReranker } from '#jobs/evaluate/fusion.ts'
import { rankingUnder, sampleWithQrels } from '#jobs/evaluate/ranking-under.ts'
import { asking, found, queryWithQrels, replyWith } from '#test/support/jobs/asking.ts'

const questions = (count: number): ReturnType<typeof queryWithQrels>[] =>
  Array.from({ length: count }, (_, at) => queryWithQrels(`q${at}`))
const idOf = ({ text }: SearchQuery): string => text.slice(0, -1)

/** The answer stands at a place from 0, behind others. */
function replyAt(request: SearchQuery, place: number): SearchResult {
  return replyWith(Array.from({ length: 10 }, (_, at) => (at === place ? `${idOf(request)}-answer` : `r${at}`)))
}

/** The best place at a weight of 0.2, further back on either side of it. */
const bestAtAFifth = (request: SearchQuery): SearchResult =>
  replyAt(request, Math.round(Math.abs(request.ranking.denseWeight - 0.2) * 10))
const profile = profileParametersSchema.parse({ expansion: 77, fusion: { method: 'rrf', dense_weight: 0.7, rrf_k: 9 } })

describe('the weight of the vectors', () => {
  test('becomes the one that ranks the questions best, and nothing else of the profile changes', async () => {
    const { context, asked } = asking(bestAtAFifth, { profile })
    expect(await fitFusion(questions(50), context)).toEqual({
      ...profile,
      fusion: { ...profile.fusion, dense_weight: 0.2 },
    })
    expect(new Set(asked.map(({ ranking }) => ranking.denseWeight))).toEqual(
      new Set([0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7]),
    )
    for (const { ranking, limit } of asked)
      expect([ranking.fusion, ranking.rrfK, ranking.rowsScoredMin, limit]).toEqual(['rrf', 9, 77, 10])
  })

  test('stays as it is on fewer than fifty judged questions, and nobody is asked', async () => {
    const { context, asked } = asking(bestAtAFifth, { profile })
    const unjudged = Array.from({ length: 50 }, (_, at) => queryWithQrels(`u${at}`, { qrels: new Map() }))
    expect(await fitFusion([...questions(49), ...unjudged], context)).toBe(profile)
    expect(asked).toEqual([])
  })

  test('stays as it is where another is better by no more than chance', async () => {
    // At 0.2 twenty-six questions of fifty gain a place and twenty-four lose one.
    const { context } = asking(
      (request) => {
        if (request.ranking.denseWeight !== 0.2) return replyAt(request, 1)
        return replyAt(request, Number(idOf(request).slice(1)) < 26 ? 0 : 9)
      },
      { profile },
    )
    expect(await fitFusion(questions(50), context)).toBe(profile)
  })

  test('stays as it is where all weights rank alike', async () => {
    const { context } = asking((request) => replyAt(request, 3), { profile })
    expect(await fitFusion(questions(60), context)).toBe(profile)
  })
})

describe('a re-ranker', () => {
  const reranker = { model: 'm', candidates: 5 }
  /** Scores by the label of a passage, which says how good it is. */
  const scoring = (score: (text: string) => number): Reranker => ({
    score: async (_, __, texts) => await Promise.resolve(texts.map(score)),
  })
  const answersLast = (request: SearchQuery): SearchResult => {
    const { passages } = replyAt(request, 4)
    return { ...replyAt(request, 4), passages: passages.map((passage) => found(passage.sourceId, passage.score)) }
  }
  const knowing = scoring((text) => Number(text.includes('-answer')))

  test('becomes part of the profile where it ranks the questions better', async () => {
    const { context } = asking(answersLast, { profile, reranker: knowing })
    expect(await tryReranker(reranker, questions(50), context)).toEqual({ ...profile, reranker })
  })

  test('stays out where it ranks them worse, or as well', async () => {
    const worse = asking((request) => replyAt(request, 0), {
      profile,
      reranker: scoring((text) => Number(!text.includes('-answer'))),
    })
    expect(await tryReranker(reranker, questions(50), worse.context)).toBe(profile)
    const alike = asking(answersLast, { profile, reranker: scoring(() => 0) })
    expect(await tryReranker(reranker, questions(50), alike.context)).toBe(profile)
  })

  test('is not tried where there is none, or on fewer than fifty questions', async () => {
    const { context, asked } = asking(answersLast, { profile, reranker: knowing })
    expect(await tryReranker(null, questions(50), context)).toBe(profile)
    expect(await tryReranker(reranker, questions(49), context)).toBe(profile)
    expect(asked).toEqual([])
  })
})

describe('the questions that a ranking is tried on', () => {
  test('are at most 300 of the judged ones, spread evenly over the set', () => {
    const sample = sampleWithQrels([...questions(600), queryWithQrels('u', { qrels: new Map() })])
    expect(sample.map(({ id }) => id)).toEqual(Array.from({ length: 300 }, (_, at) => `q${at * 2}`))
    expect(sampleWithQrels(questions(3)).map(({ id }) => id)).toEqual(['q0', 'q1', 'q2'])
    expect(sampleWithQrels([])).toEqual([])
  })

  test('are asked of the hybrid system under the profile that is tried', async () => {
    const { context, asked } = asking((request) => replyAt(request, 1))
    const figures = await rankingUnder(profile, questions(2), 10, context)
    expect([...figures].map(([id, { 'mrr@10': rank }]) => [id, rank])).toEqual([
      ['q0', 0.5],
      ['q1', 0.5],
    ])
    expect(asked).toHaveLength(2)
    for (const { ranking, vector, text } of asked)
      expect([ranking.rrfK, vector?.length, text.length]).toEqual([9, 2, 3])
  })
})
