import { describe, expect, test } from 'vitest'
import type { AskContext } from '#jobs/evaluation/ask.ts'
import { filteredRecallOf } from '#jobs/evaluation/filtered-questions.ts'
import { asking, replyWith, type Asking } from '#test/support/evaluation.ts'
import { spaceOf } from '#test/support/artifact.ts'
import { VECTOR_DIMENSIONS, bestAllowed, everywhere, randomVectors, storeVectors } from './filtered-search.ts'
import type { Vectors } from './filtered-search.ts'

describe('the queries of filtered recall', () => {
  /** Measures a version of these vectors with so many questions; the node searches exactly. */
  async function measuredWith(vectors: Vectors, questions: number) {
    const embedded: string[] = []
    const embedder: AskContext['embedder'] = {
      space: spaceOf(VECTOR_DIMENSIONS),
      embed: async (texts: readonly string[]) => {
        embedded.push(...texts)
        return await Promise.resolve({
          vectors: texts.map((text) => questionVector(text).slice()),
          tokens: null,
          overlong: 0,
        })
      },
    }
    const { context, asked } = asking(
      ({ vector: query = new Float32Array(0), onlyRows: bits = Buffer.alloc(0), limit }) => {
        const rows = bestAllowed(vectors, query, bits, limit).map((row) => ({ row, score: 0.5, named: false }))
        return { ...replyWith([], []), rows, allowed: rows.length }
      },
      { embedder },
    )
    const texts = Array.from({ length: questions }, (_, at) => ({ text: `q${at}` }))
    const artifact = { folder: storeVectors(vectors), passages: vectors.length, embedding: embedder.space }
    const filtered = await filteredRecallOf(artifact, texts, context)
    if (filtered === undefined) throw new Error('nothing was measured')
    return { ...filtered, embedded, asked }
  }
  const questionVector = (text: string): Float32Array =>
    randomVectors(1, 1_000 + Number(text.slice(1)))[0] ?? new Float32Array(VECTOR_DIMENSIONS)
  const keyOf = (vector: Float32Array | undefined): string => vector?.join() ?? ''
  /** The vectors that the node was asked, each once, in order. */
  const queriesIn = (asked: Asking['asked']): readonly string[] => [
    ...new Set(asked.map(({ vector }) => keyOf(vector))),
  ]

  test('are 200 evenly spaced questions, where there are more', async () => {
    const { questions, sampledRows, embedded, asked, recall } = await measuredWith(randomVectors(40, 7), 600)
    expect([questions, sampledRows]).toEqual([200, 0])
    expect(embedded).toEqual(Array.from({ length: 200 }, (_, at) => `q${at * 3}`))
    expect(queriesIn(asked)).toEqual(embedded.map((text) => keyOf(questionVector(text))))
    expect(recall).toEqual(everywhere(1))
  })

  test('are filled up to 200 with the vectors of evenly spaced rows, of which no text is asked', async () => {
    const vectors = randomVectors(394, 8)
    const { questions, sampledRows, embedded, asked, recall } = await measuredWith(vectors, 3)
    expect([questions, sampledRows]).toEqual([3, 197])
    expect(embedded).toEqual(['q0', 'q1', 'q2'])
    const sampled = Array.from({ length: 197 }, (_, at) => keyOf(vectors[at * 2]))
    expect(queriesIn(asked)).toEqual([...embedded.map((text) => keyOf(questionVector(text))), ...sampled])
    expect(recall).toEqual(everywhere(1))
    for (const { text, filters, ranking } of asked)
      expect([text, filters.inForceOn, ranking.collapseRevisionsOn, ranking.perDocumentMax]).toEqual(['', '', '', 0])
  })

  test('of a version of 50 rows are the questions and at most these rows', async () => {
    const { questions, sampledRows, asked } = await measuredWith(randomVectors(50, 9), 20)
    expect([questions, sampledRows, queriesIn(asked).length]).toEqual([20, 50, 70])
  })

  test('state the selectivities that keep fewer than ten rows', async () => {
    expect((await measuredWith(randomVectors(50, 9), 1)).fewRows).toEqual(['10', '1', '0.1', '0.01'])
    expect((await measuredWith(randomVectors(1_000, 9), 1)).fewRows).toEqual(['0.1', '0.01'])
  })
})
