import { describe, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import type { QueryWithQrels } from '#jobs/evaluate/query-with-qrels.ts'
import { learnWordWeights } from '#jobs/evaluate/word-weights/learn.ts'
import { asking, queryWithQrels } from '#test/support/jobs/asking.ts'
import { MISLED, questionOf, rankedByWords } from '#test/support/jobs/ranked-by-words.ts'
import type { AddedByWords } from '#test/support/jobs/ranked-by-words.ts'

const profile = profileParametersSchema.parse({ fusion: { method: 'weighted', dense_weight: 0.007 } })
/** Every question has a word that tells its answer and one that every passage but the answer holds. */
const question = (at: number): QueryWithQrels => queryWithQrels(`q${at}`, { text: `q${at} ensure firm` })
const questions = (count: number): readonly QueryWithQrels[] => Array.from({ length: count }, (_, at) => question(at))

const FAINT: AddedByWords = { ensure: [0.1, 0.25], firm: [0.2, 0.1] }

describe('weights of words that a question set teaches', () => {
  test('become part of the profile where they rank better', async () => {
    const { context, asked } = asking((request) => rankedByWords(request, MISLED), { profile })
    const [own = question(0), ...others] = questions(60)
    const { weights, heldOut } = await learnWordWeights([own, ...others], context)
    expect(weights?.['ensure']).toBeLessThan(0.8)
    expect(weights?.['firm']).toBeGreaterThan(1)
    // The words that one question has alone teach nothing.
    expect(Object.keys(weights ?? {}).sort()).toEqual(['ensure', 'firm'])
    expect(heldOut(own)).not.toBe(weights)
    expect(asked).toHaveLength(120)
    for (const { limit, withoutText } of asked) expect([limit, withoutText]).toEqual([BOUNDS.wordWeightPassages, true])
  })

  test('rank no question from which they were learned', async () => {
    // In the first group the words tell the opposite of what they tell, faintly, in all others.
    // A question without qrels belongs to the first group and teaches nothing; it is measured as its group is.
    const grouped = questions(60).map((one, at) => ({ ...one, group: `g${at % 5}` }))
    const mate = queryWithQrels('mate', { group: 'g0', qrels: new Map() })
    const opposite = (id: string): boolean => Number(id.slice(1)) % 5 === 0
    const { context, asked } = asking(
      (request) =>
        rankedByWords(request, opposite(questionOf(request)) ? { ensure: [0.4, 0], firm: [0.1, 0.3] } : FAINT),
      { profile },
    )
    const { heldOut } = await learnWordWeights([...grouped, mate], context)
    const weightsOf = (id: string): Record<string, number> | null => {
      const own = grouped.find((one) => one.id === id)
      return own === undefined ? null : heldOut(own)
    }
    expect(heldOut(mate)).toBe(heldOut(grouped[0] ?? mate))
    // What the other groups taught is more certain than what was learned with it.
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

  test('are learned from no question with the same words, whatever its id', async () => {
    const repeated = questions(60).flatMap((one) => [one, { ...one, id: `${one.id}-again`, text: `${one.text}?` }])
    const { context } = asking((request) => rankedByWords(request, MISLED), { profile })
    const { weights, heldOut } = await learnWordWeights(repeated, context)
    // Two questions do not teach a weight of their own word; and none is measured by what its repetition taught.
    expect(weights).not.toBeNull()
    for (let at = 0; at < repeated.length; at += 2) {
      const [one, other] = [repeated[at], repeated[at + 1]]
      if (one === undefined || other === undefined) throw new Error('each question is there twice')
      expect(heldOut(one)).toBe(heldOut(other))
    }
  })

  test('cannot be learned from a search node that does not say what its scores are made of', async () => {
    const { context } = asking((request) => ({ ...rankedByWords(request, MISLED), scoreParts: undefined }), { profile })
    await expect(learnWordWeights(questions(60), context)).rejects.toThrow(/update the search nodes, then build again/)
  })

  test('are learned without the re-ranker of a profile', async () => {
    const { context, asked } = asking((request) => rankedByWords(request, MISLED), {
      profile: { ...profile, reranker: { model: 'm', candidates: 50 } },
    })
    expect((await learnWordWeights(questions(60), context)).weights).not.toBeNull()
    expect(asked.every(({ limit }) => limit === BOUNDS.wordWeightPassages)).toBe(true)
  })

  test('are left out where the words tell nothing', async () => {
    const { context } = asking(
      (request) => {
        const random = mulberry32(Number(questionOf(request).slice(1)) + 1)
        const any = (): readonly [number, number] => [random() / 2, random() / 2]
        return rankedByWords(request, { ensure: any(), firm: any() })
      },
      { profile },
    )
    const learned = await learnWordWeights(questions(100), context)
    expect(learned.weights).toBeNull()
    expect(learned.heldOut(question(1))).toBeNull()
  })

  test('are the same for the same questions in any order', async () => {
    const learned = await Promise.all(
      [questions(80), questions(80).toReversed()].map(async (order) => {
        const { context } = asking((request) => rankedByWords(request, MISLED), { profile })
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
    const { context, asked } = asking((request) => rankedByWords(request, MISLED), { profile: own })
    const unjudged = Array.from({ length: 50 }, (__, at) => queryWithQrels(`u${at}`, { qrels: new Map() }))
    expect((await learnWordWeights([...questions(count), ...unjudged], context)).weights).toBeNull()
    expect(asked).toEqual([])
  })
})
