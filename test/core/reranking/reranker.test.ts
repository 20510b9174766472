import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { RerankError, createReranker } from '#core/reranking/reranker.ts'
import type { RerankSettings } from '#core/reranking/reranker.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'

const servers: Server[] = []

async function endpoint(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}/v1`
}

function scored(
  baseUrl: string,
  texts: readonly string[],
  change: Partial<RerankSettings> = {},
): Promise<readonly number[]> {
  return createReranker({
    RERANK_BASE_URL: baseUrl,
    RERANK_FORMAT: 'cohere',
    RERANK_API_KEY: 'k3y',
    RERANK_TIMEOUT_MS: CALL_TIMEOUT_MS,
    ...change,
  }).score('model-1', 'capital', texts, new AbortController().signal)
}

const saying =
  (body: string, status = 200): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(body)

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

test('it asks {base}/rerank in the common shape and gives one score a text, in the order of the texts', async () => {
  let asked: unknown
  const url = await endpoint((request, response) => {
    let body = ''
    request.on('data', (piece: Buffer) => (body += piece.toString('utf8')))
    request.on('end', () => {
      asked = { path: request.url, key: request.headers.authorization, body: JSON.parse(body) as unknown }
      response.end(
        '{"results":[{"index":1,"relevance_score":0.9,"document":"x"},{"index":0,"relevance_score":-2}],"meta":{}}',
      )
    })
  })
  expect(await scored(url, ['a', 'b'])).toEqual([-2, 0.9])
  expect(asked).toEqual({
    path: '/v1/rerank',
    key: 'Bearer k3y',
    body: { model: 'model-1', query: 'capital', documents: ['a', 'b'], top_n: 2 },
  })
})

describe('an endpoint that cannot be trusted is a failure, never another order', () => {
  test.each([
    ['a missing score', '{"results":[{"index":0,"relevance_score":1}]}'],
    ['a score twice', '{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":2}]}'],
    ['an index out of range', '{"results":[{"index":0,"relevance_score":1},{"index":2,"relevance_score":2}]}'],
    ['a score that is no number', '{"results":[{"index":0,"relevance_score":1},{"index":1,"relevance_score":"2"}]}'],
    ['something else', '{"data":[]}'],
    ['no JSON', 'oops'],
    ['too much', `{"results":[],"x":"${'y'.repeat(1_100_000)}"}`],
  ])('%s', async (_, body) => {
    const url = await endpoint(saying(body))
    await expect(scored(url, ['a', 'b'])).rejects.toBeInstanceOf(RerankError)
  })

  test('a status other than 2xx, told without what it said', async () => {
    const url = await endpoint(saying('{"echo":"capital"}', 500))
    await expect(scored(url, ['a', 'b'])).rejects.toThrow(new RerankError('the re-ranker answered with status 500'))
  })

  test('one that hangs before or within its answer ends on time', async () => {
    const silent = await endpoint(() => undefined)
    await expect(scored(silent, ['a', 'b'], { RERANK_TIMEOUT_MS: 300 })).rejects.toThrow(
      'the re-ranker did not answer within 1 s',
    )
    const dripping = await endpoint((_, response) => void response.writeHead(200).write('{"results":['))
    await expect(scored(dripping, ['a', 'b'], { RERANK_TIMEOUT_MS: 300 })).rejects.toThrow(
      'the re-ranker did not answer within 1 s',
    )
  })

  test('nothing listens there', async () => {
    await expect(scored('http://127.0.0.1:1', ['a', 'b'])).rejects.toBeInstanceOf(RerankError)
  })
})

test('without an endpoint it says which variable to set', () => {
  expect(() =>
    createReranker({
      RERANK_BASE_URL: undefined,
      RERANK_FORMAT: 'cohere',
      RERANK_API_KEY: undefined,
      RERANK_TIMEOUT_MS: 300,
    }),
  ).toThrow('RERANK_BASE_URL')
})

test('in the format tei it names no model, lets the server cut texts, and reads its list of scores', async () => {
  let asked: unknown
  const url = await endpoint((request, response) => {
    let body = ''
    request.on('data', (piece: Buffer) => (body += piece.toString('utf8')))
    request.on('end', () => {
      asked = { path: request.url, body: JSON.parse(body) as unknown }
      response.end('[{"index":1,"score":0.9},{"index":0,"score":0.2}]')
    })
  })
  expect(await scored(url, ['a', 'b'], { RERANK_FORMAT: 'tei' })).toEqual([0.2, 0.9])
  expect(asked).toEqual({ path: '/v1/rerank', body: { query: 'capital', texts: ['a', 'b'], truncate: true } })
})

test('a reply in the other format has no scores', async () => {
  const [cohere, tei] = [
    await endpoint(saying('{"results":[{"index":0,"relevance_score":0.9}]}')),
    await endpoint(saying('[{"index":0,"score":0.9}]')),
  ]
  await expect(scored(cohere, ['a'], { RERANK_FORMAT: 'tei' })).rejects.toThrow(RerankError)
  await expect(scored(tei, ['a'])).rejects.toThrow(RerankError)
})
