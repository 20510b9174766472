import { describe, expect, test } from 'vitest'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import type { Reader } from '#core/reading/reader.ts'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import {
  FUSION_WEIGHTS,
  fitFusion,
  fitRanking,
  rankingUnder,
  sampleWithQrels,
  tryOrder,
} from '#jobs/evaluation/fusion.ts'
import { compareRankings } from '#jobs/evaluation/metrics/ranking.ts'
import { asking, found, queryWithQrels, replyWith } from '#test/support/evaluation.ts'
import { ordering } from '#test/support/reader-endpoint.ts'

const questions = (count: number): ReturnType<typeof queryWithQrels>[] =>
  Array.from({ length: count }, (_, at) => queryWithQrels(`q${at}`))
const idOf = ({ text }: SearchQuery): string => text.slice(0, -1)

/** The answer stands at a rank from 0, behind others. */
function replyAt(request: SearchQuery, rank: number): SearchResult {
  return replyWith(Array.from({ length: 10 }, (_, at) => (at === rank ? `${idOf(request)}-answer` : `r${at}`)))
}

/** The best rank at a weight of 0.2, further back on either side of it. */
const bestAtAFifth = (request: SearchQuery): SearchResult =>
  replyAt(request, Math.round(Math.abs(request.ranking.denseWeight - 0.2) * 10))
const profile: ProfileParameters = {
  ...defaultProfile({ embedding: 'none', expansion: 77 }),
  dense_weight: 0.7,
  per_document_max: 9,
}

const [WORDS_ALONE] = FUSION_WEIGHTS
const weighted = (weight: number): ProfileParameters => ({ ...profile, dense_weight: weight })

/** The rank of the answer if the words, and at the greatest weight the vectors, order the list. */
function rankBetween(weight: number, byWords: number, byVectors: number): number {
  const share = (weight - WORDS_ALONE) / (FUSION_WEIGHTS[FUSION_WEIGHTS.length - 1] ?? 1)
  return Math.round(byWords + share * (byVectors - byWords))
}

describe('the weight of the vectors', () => {
  test('becomes the one that ranks the questions best, and nothing else of the profile changes', async () => {
    const { context, asked } = asking(bestAtAFifth, { profile })
    expect(await fitFusion(questions(50), context)).toEqual(weighted(0.2))
    expect(new Set(asked.map(({ ranking }) => ranking.denseWeight))).toEqual(new Set(FUSION_WEIGHTS))
    for (const { ranking, limit } of asked)
      expect([ranking.perDocumentMax, ranking.rowsScoredMin, limit]).toEqual([9, 77, 10])
  })

  test('becomes a great one where the vectors know the answers', async () => {
    const { context } = asking((request) => replyAt(request, rankBetween(request.ranking.denseWeight, 9, 0)), {
      profile,
    })
    const { dense_weight: weight } = await fitFusion(questions(50), context)
    expect(weight).toBeGreaterThanOrEqual(0.7)
  })

  test('is that of words alone where the vectors are noise', async () => {
    // By words the answer is second; the more the vectors weigh, the nearer it is to a random rank.
    const { context } = asking(
      (request) => {
        const random = mulberry32(Number(idOf(request).slice(1)) + 1)
        return replyAt(request, rankBetween(request.ranking.denseWeight, 1, Math.floor(random() * 10)))
      },
      { profile },
    )
    expect(await fitFusion(questions(100), context)).toEqual(weighted(WORDS_ALONE))
  })

  test('is that of words alone where all weights rank alike', async () => {
    const { context } = asking((request) => replyAt(request, 3), { profile })
    expect(await fitFusion(questions(60), context)).toEqual(weighted(WORDS_ALONE))
  })

  test('is that of words alone where another is better by no more than chance', async () => {
    // At 0.2 twenty-six questions of fifty gain a rank and twenty-four lose one.
    const { context } = asking(
      (request) => {
        if (request.ranking.denseWeight !== 0.2) return replyAt(request, 1)
        return replyAt(request, Number(idOf(request).slice(1)) < 26 ? 0 : 9)
      },
      { profile },
    )
    expect(await fitFusion(questions(50), context)).toEqual(weighted(WORDS_ALONE))
  })

  test('is chosen by no question for itself: a weight that helps one group of them alone loses to words', async () => {
    // Each of five weights ranks the questions of one group first, and every other question a rank lower.
    const [, ...weights] = FUSION_WEIGHTS
    const grouped = questions(50).map((question, at) => ({ ...question, group: `g${at % 5}` }))
    const answered = (request: SearchQuery): SearchResult => {
      const { denseWeight } = request.ranking
      if (denseWeight === WORDS_ALONE) return replyAt(request, 8)
      return replyAt(request, weights.findIndex((weight) => weight === denseWeight) === groupOf(request) ? 0 : 9)
    }
    const { context } = asking(answered, { profile })
    expect(await fitFusion(grouped, context)).toEqual(weighted(WORDS_ALONE))
    // Without cross-fitting, the best of these weights beats words with its whole interval.
    const [first] = weights
    const [own, words] = await Promise.all(
      [first, WORDS_ALONE].map(async (weight) => await rankingUnder(weighted(weight), grouped, 10, context)),
    )
    const { ci: [low] = [0] } = compareRankings(own ?? new Map(), words ?? new Map())?.metrics['ndcg@10'] ?? {}
    expect(low).toBeGreaterThan(0)
  })

  test('is the same for the same questions in any order, of more than are asked too', async () => {
    // Every question has a best weight of its own.
    const answered = (request: SearchQuery): SearchResult => {
      const random = mulberry32(Number(idOf(request).slice(1)) + 1)
      const best = 0.2 + 0.5 * random()
      return replyAt(request, Math.min(9, Math.round(Math.abs(request.ranking.denseWeight - best) * 12)))
    }
    const all = questions(EVALUATION_BOUNDS.comparedQuestionsMax + 100)
    const orders = [all, all.toReversed(), all.toSorted((a, b) => shuffled(a.id) - shuffled(b.id))]
    const fitted = await Promise.all(
      orders.map(async (order) => {
        const { context, asked } = asking(answered, { profile })
        const { dense_weight: weight } = await fitFusion(order, context)
        return { weight, asked: new Set(asked.map(({ text }) => text)) }
      }),
    )
    expect(fitted[1]).toEqual(fitted[0])
    expect(fitted[2]).toEqual(fitted[0])
    expect(fitted[0]?.weight).not.toBe(WORDS_ALONE)
  })

  test('stays as it is on fewer than fifty judged questions, and nobody is asked', async () => {
    const { context, asked } = asking(bestAtAFifth, { profile })
    const unjudged = Array.from({ length: 50 }, (_, at) => queryWithQrels(`u${at}`, { qrels: new Map() }))
    expect(await fitFusion([...questions(49), ...unjudged], context)).toBe(profile)
    expect(asked).toEqual([])
  })
})

function groupOf(request: SearchQuery): number {
  return Number(idOf(request).slice(1)) % 5
}

function shuffled(id: string): number {
  return mulberry32(Number(id.slice(1)) * 7_919)()
}

describe('the order of a reader', () => {
  const { reader } = ordering('m', 5)
  /** Scores by the id of a passage, which says how good it is. */
  const scoring = (score: (id: string) => number): Reader => ({
    read: async (_, passages) =>
      await Promise.resolve({ scores: passages.map(({ sourceId }) => score(sourceId)), tokens: null }),
  })
  const answersLast = (request: SearchQuery): SearchResult => {
    const { passages } = replyAt(request, 4)
    return { ...replyAt(request, 4), passages: passages.map((passage) => found(passage.sourceId, passage.score)) }
  }
  const knowing = scoring((id) => Number(id.includes('-answer')))

  test('becomes part of the profile where it ranks the questions better', async () => {
    const { context } = asking(answersLast, { profile, reader: knowing })
    expect(await tryOrder(reader, questions(50), context)).toEqual({ ...profile, reader })
  })

  test('stays out where it ranks them worse, or as well', async () => {
    const worse = asking((request) => replyAt(request, 0), {
      profile,
      reader: scoring((id) => Number(!id.includes('-answer'))),
    })
    expect(await tryOrder(reader, questions(50), worse.context)).toBe(profile)
    const alike = asking(answersLast, { profile, reader: scoring(() => 0) })
    expect(await tryOrder(reader, questions(50), alike.context)).toBe(profile)
  })

  test('is not tried where there is none, or on fewer than fifty questions', async () => {
    const { context, asked } = asking(answersLast, { profile, reader: knowing })
    expect(await tryOrder(null, questions(50), context)).toBe(profile)
    expect(await tryOrder(reader, questions(49), context)).toBe(profile)
    expect(asked).toEqual([])
  })
})

describe('the questions that a ranking is tried on', () => {
  test('are at most so many of the judged ones, spread evenly over their ids, in whatever order they come', () => {
    const sample = sampleWithQrels([...questions(600), queryWithQrels('u', { qrels: new Map() })], 300)
    const ids = questions(600).map(({ id }) => id)
    expect(sample.map(({ id }) => id)).toEqual(ids.sort().filter((_, at) => at % 2 === 0))
    expect(sampleWithQrels(questions(600).toReversed(), 300)).toEqual(sample)
    expect(sampleWithQrels(questions(3), 300).map(({ id }) => id)).toEqual(['q0', 'q1', 'q2'])
    expect(sampleWithQrels([], 300)).toEqual([])
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
      expect([ranking.perDocumentMax, vector?.length, text.length]).toEqual([9, 2, 3])
  })
})

test('each question is embedded once for all weights', async () => {
  const asked = questions(60)
  const embedded: string[] = []
  const { context } = asking(bestAtAFifth, { profile })
  const { embedder } = context
  if (embedder === undefined) throw new Error('the version has vectors')
  await fitRanking(null, asked, {
    ...context,
    embedder: {
      ...embedder,
      embed: async (texts, role, signal) => {
        embedded.push(...texts)
        return await embedder.embed(texts, role, signal)
      },
    },
  })
  expect(embedded.sort()).toEqual(asked.map(({ text }) => text).sort())
})
