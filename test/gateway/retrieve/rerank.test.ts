import { describe, expect, test } from 'vitest'
import { rerankedText } from '#core/reranking/order.ts'
import type { Reranker } from '#core/reranking/reranker.ts'
import { rerank, rerankerOf } from '#gateway/retrieve/rerank.ts'
import type { Evidence } from '#gateway/retrieve/search.ts'
import { context, foundPassage, pinnedRequest } from './pinned.ts'

type Scored = Parameters<Reranker['score']>

function rerankerSaying(scores: () => readonly number[]): {
  readonly reranker: () => Reranker
  readonly asked: Scored[]
} {
  const asked: Scored[] = []
  const score: Reranker['score'] = async (...given) => {
    asked.push(given)
    return await Promise.resolve().then(scores)
  }
  return { reranker: () => ({ score }), asked }
}

function found(count: number): Evidence {
  return { passages: Array.from({ length: count }, (_, row) => foundPassage(row)), predictors: [0.5], unsupported: [] }
}

const reranking = { parameters: { reranker: { model: 'model-1', candidates: 3 } } }
const rowsOf = ({ passages }: Evidence): readonly number[] => passages.map(({ row }) => row)

describe('a profile without a re-ranker', () => {
  test('leaves the list as it is and opens no endpoint', async () => {
    const list = found(3)
    const opened = (): Reranker => {
      throw new Error('opened')
    }
    expect(await rerank(opened, context(), pinnedRequest(), list)).toBe(list)
  })
})

describe('a profile with a re-ranker', () => {
  test('sends the first candidates with the query and returns them by score, truncated to top_k', async () => {
    const list = found(5)
    const { reranker, asked } = rerankerSaying(() => [0.1, 0.9, 0.5])
    const { signal } = new AbortController()
    const own = context(signal)
    const reordered = await rerank(
      reranker,
      own,
      pinnedRequest({ ...reranking, request: { query: 'what is capital?', top_k: 4 } }),
      list,
    )
    expect(asked).toEqual([['model-1', 'what is capital?', list.passages.slice(0, 3).map(rerankedText), signal]])
    expect(rowsOf(reordered)).toEqual([1, 2, 0, 3])
    expect(reordered).toMatchObject({ predictors: list.predictors, unsupported: list.unsupported })
    expect(reordered.passages.map(({ score }) => score)).toEqual([1, 1 / 2, 1 / 3, 1 / 4])
    expect(own.timings.waitedMs.provider).toBeGreaterThan(0)
  })

  test('asks nobody to order fewer than two passages', async () => {
    for (const count of [0, 1]) {
      const { reranker, asked } = rerankerSaying(() => [])
      expect(rowsOf(await rerank(reranker, context(), pinnedRequest(reranking), found(count)))).toEqual(
        rowsOf(found(count)),
      )
      expect(asked).toEqual([])
    }
  })

  test('answers nothing when the endpoint fails: it was evaluated with it', async () => {
    const failure = new Error('too slow')
    const { reranker } = rerankerSaying(() => {
      throw failure
    })
    await expect(rerank(reranker, context(), pinnedRequest(reranking), found(3))).rejects.toMatchObject({
      code: 'RETRIEVAL_UNAVAILABLE',
      cause: failure,
    })
  })

  test('answers nothing on a gateway that has no endpoint', async () => {
    const none = rerankerOf({
      RERANK_BASE_URL: undefined,
      RERANK_FORMAT: 'cohere',
      RERANK_API_KEY: undefined,
      RERANK_TIMEOUT_MS: 100,
    })
    await expect(rerank(none, context(), pinnedRequest(reranking), found(3))).rejects.toMatchObject({
      code: 'RETRIEVAL_UNAVAILABLE',
    })
  })

  test('is opened once', () => {
    const opened = rerankerOf({
      RERANK_BASE_URL: 'http://127.0.0.1:9/v1',
      RERANK_FORMAT: 'cohere',
      RERANK_API_KEY: undefined,
      RERANK_TIMEOUT_MS: 100,
    })
    expect(opened()).toBe(opened())
  })
})
