import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import type { Embeddings } from '#core/embedding/embedder.ts'
import { createOpenAiEmbedder } from '#core/embedding/openai.ts'
import { spaceOf } from '#test/support/embedding-space.ts'

const servers: Server[] = []
afterEach(() => servers.splice(0).forEach((server) => server.close()))

/** Asks an endpoint that answers every request with this embedding. */
async function embedWith(embedding: unknown): Promise<Embeddings> {
  const server = createServer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ object: 'list', data: [{ object: 'embedding', index: 0, embedding }] }))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  const embedder = createOpenAiEmbedder(spaceOf(4, { provider: 'openai' }), {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    apiKey: 'test',
    timeoutMs: 2_000,
  })
  return embedder.embed(['a text'], 'query', new AbortController().signal)
}

function base64(values: readonly number[]): string {
  return Buffer.from(new Float32Array(values).buffer).toString('base64')
}

test('reads the same vector from base64 as from numbers', async () => {
  const [decoded] = (await embedWith(base64([3, 0, -4, 0]))).vectors
  const [read] = (await embedWith([3, 0, -4, 0])).vectors
  expect([...(decoded ?? [])]).toEqual([...new Float32Array([0.6, 0, -0.8, 0])])
  expect(read).toEqual(decoded)
})

test('refuses base64 that is too short, too long, no float32, not finite or zero', async () => {
  const whole = Buffer.from(base64([1, 2, 3, 4]), 'base64')
  const bad = [
    base64([1, 2, 3]),
    base64([1, 2, 3, 4, 5]),
    whole.subarray(0, 15).toString('base64'),
    base64([1, 2, 3, NaN]),
    base64([0, 0, 0, 0]),
    '',
    '????',
  ]
  for (const embedding of bad) await expect(embedWith(embedding), embedding).rejects.toBeInstanceOf(EmbeddingError)
})
