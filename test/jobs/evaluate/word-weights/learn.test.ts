import { describe, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import type { QueryWithQrels } from '#jobs/evaluate/query-with-qrels.ts'
import { learnWordWeights } from '#jobs/evaluate/word-weights/learn.ts'
import { asking, found, queryWithQrels } from '#test/support/jobs/asking.ts'

const profile = profileParametersSchema.parse({ fusion: { method: 'weighted', dense_weight: 0.007 } })
/** Every question has a word that tells its answer and one that every passage but the answer holds. */
const question = (at: number): QueryWithQrels => queryWithQrels(`q${at}`, { text: `q${at} ensure firm` })
const questions = (count: number): readonly QueryWithQrels[] => Array.from({ length: count }, (_, at) => question(at))
const idOf = ({ text }: SearchQuery): string => text.split(' ')[0] ?? ''

interface Words {
  /** What the word adds to the score of the answer, and to that of every other passage. */
  readonly ensure: readonly [number, number]
  readonly firm: readonly [number, number]
}
const MISLED: Words = { ensure: [0, 0.4], firm: [0.3, 0.1] }
const FAINT: Words = { ensure: [0.1, 0.25], firm: [0.2, 0.1] }

/** Ranks ten passages as the search node does, by words alone. */
function ranked(request: SearchQuery, { ensure, firm }: Words): SearchResult {
  const weightOf = (wanted: string): number =>
    request.ranking.wordWeights.find(({ word }) => word === wanted)?.weight ?? 1
  const [gainOfEnsure, gainOfFirm] = [weightOf('ensure') - 1, weightOf('firm') - 1]
  const passages = Array.from({ length: 10 }, (_, at) => {
    const own = [ensure[at === 0 ? 0 : 1], firm[at === 0 ? 0 : 1]] as const
    const plain = own[0] + own[1] - at / 1_000
    return {
      record: at === 0 ? `${idOf(request)}-answer` : `r${at}`,
      own,
      plain,
      score: plain + gainOfEnsure * own[0] + gainOfFirm * own[1],
    }
  }).sort((a, b) => b.score - a.score)
  return {
    passages: passages.map(({ record, score }) => found(record, score)),
    plan: 'exact',
    allowed: 10,
    predictors: [],
    unsupported: [],
    scoreParts:
      request.withScoreParts === true
        ? {
            words: ['ensure', 'firm'],
            shares: [0.45, 0.45],
            byWord: passages.flatMap(({ own }) => own),
            byWords: passages.map(({ plain }) => plain),
            byVector: passages.map(() => 0),
          }
        : undefined,
  }
}

describe('weights of words that a question set teaches', () => {
  test('become part of the profile where they rank better', async () => {
    const { context, asked } = asking((request) => ranked(request, MISLED), { profile })
    const { weights, without } = await learnWordWeights(questions(60), context)
    expect(weights?.['ensure']).toBeLessThan(0.8)
    expect(weights?.['firm']).toBeGreaterThan(1)
    // The words that one question has alone teach nothing.
    expect(Object.keys(weights ?? {}).sort()).toEqual(['ensure', 'firm'])
    // A question that taught nothing is measured as it is served.
    expect(without({ text: 'ensure', filters: undefined })).toBe(weights)
    expect(asked).toHaveLength(120)
    for (const { limit, withoutText } of asked) expect([limit, withoutText]).toEqual([BOUNDS.wordWeightPassages, true])
  })

  test('rank no question from which they were learned', async () => {
    // In the first group the words tell the opposite of what they tell, faintly, in all others.
    const grouped = questions(60).map((one, at) => ({ ...one, group: `g${at % 5}` }))
    const opposite = (id: string): boolean => Number(id.slice(1)) % 5 === 0
    const { context, asked } = asking(
      (request) => ranked(request, opposite(idOf(request)) ? { ensure: [0.4, 0], firm: [0.1, 0.3] } : FAINT),
      { profile },
    )
    const { without } = await learnWordWeights(grouped, context)
    const weightsOf = (id: string): Record<string, number> | null => {
      const own = grouped.find((one) => one.id === id)
      return own === undefined ? null : without(own)
    }
    // What was learned without the first group is more certain than what was learned with it.
    expect(weightsOf('q0')?.['ensure'] ?? 1).toBeLessThan(weightsOf('q1')?.['ensure'] ?? 1)
    expect(asked.slice(60).map(({ text, ranking }) => [text, ranking.wordWeights])).toEqual(
      asked.slice(60).map(({ text }) => {
        const weights = weightsOf(text.split(' ')[0] ?? '') ?? {}
        return [
          text,
          ['ensure', 'firm'].flatMap((word) => (weights[word] === undefined ? [] : [{ word, weight: weights[word] }])),
        ]
      }),
    )
  })

  test('are left out where the words tell nothing', async () => {
    const { context } = asking(
      (request) => {
        const random = mulberry32(Number(idOf(request).slice(1)) + 1)
        const any = (): readonly [number, number] => [random() / 2, random() / 2]
        return ranked(request, { ensure: any(), firm: any() })
      },
      { profile },
    )
    const learned = await learnWordWeights(questions(100), context)
    expect(learned.weights).toBeNull()
    expect(learned.without(question(1))).toBeNull()
  })

  test('are the same for the same questions in any order', async () => {
    const learned = await Promise.all(
      [questions(80), questions(80).toReversed()].map(async (order) => {
        const { context } = asking((request) => ranked(request, MISLED), { profile })
        return (await learnWordWeights(order, context)).weights
      }),
    )
    expect(learned[1]).toEqual(learned[0])
    expect(learned[0]).not.toBeNull()
  })

  test.each([
    ['fewer than fifty questions', 49, profile],
    ['a fusion of ranks', 60, { ...profile, fusion: { ...profile.fusion, method: 'rrf' as const } }],
  ])('are not tried on %s, and nobody is asked', async (_, count, own) => {
    const { context, asked } = asking((request) => ranked(request, MISLED), { profile: own })
    const unjudged = Array.from({ length: 50 }, (__, at) => queryWithQrels(`u${at}`, { qrels: new Map() }))
    expect((await learnWordWeights([...questions(count), ...unjudged], context)).weights).toBeNull()
    expect(asked).toEqual([])
  })
})
