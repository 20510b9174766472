import { expect, test } from 'vitest'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import { fitRanking } from '#jobs/evaluate/fit-ranking.ts'
import { asking, queryWithQrels } from '#test/support/jobs/asking.ts'
import { misledBy, questionOf, rankedByWords } from '#test/support/jobs/ranked-by-words.ts'

const profile = profileParametersSchema.parse({ fusion: { method: 'weighted', dense_weight: 0.3 } })
const QUESTIONS = Array.from({ length: 60 }, (_, at) => queryWithQrels(`q${at}`, { text: `q${at} ensure firm` }))

test('a re-ranker is tried on lists by weights of words that their questions did not teach', async () => {
  const { context, asked } = asking((request) => rankedByWords(request, misledBy(questionOf(request))), {
    profile,
    // It prefers what is already first, so it gains nothing.
    reranker: { score: async (_, __, texts) => await Promise.resolve(texts.map((___, at) => -at)) },
  })
  const { profile: fitted, wordWeights } = await fitRanking({ model: 'm', candidates: 10 }, QUESTIONS, context)
  expect(fitted.reranker).toBeNull()
  const tried = asked.slice(-2 * QUESTIONS.length)
  for (const { text, ranking } of tried) {
    const question = QUESTIONS.find((one) => one.text === text)
    const heldOut = question === undefined ? null : wordWeights.heldOut(question)
    expect(ranking.wordWeights).toEqual(['ensure', 'firm'].map((word) => ({ word, weight: heldOut?.[word] })))
  }
  expect(new Set(tried.map(({ ranking }) => JSON.stringify(ranking.wordWeights))).size).toBe(5)
})

test('each question is embedded once for all stages', async () => {
  const embedded: string[] = []
  const { context } = asking((request) => rankedByWords(request, misledBy(questionOf(request))), { profile })
  const { embedder } = context
  await fitRanking(null, QUESTIONS, {
    ...context,
    embedder: {
      ...embedder,
      embed: async (texts, role, signal) => {
        embedded.push(...texts)
        return await embedder.embed(texts, role, signal)
      },
    },
  })
  expect(embedded.sort()).toEqual(QUESTIONS.map(({ text }) => text).sort())
})
