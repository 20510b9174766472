import { afterEach, describe, expect, test } from 'vitest'
import { spaceKey } from '#core/embedding/embedder.ts'
import { createEmbedder, openEmbedder } from '#core/embedding/providers.ts'
import { startEmbeddingEndpoint } from '#test/support/embedding-endpoint.ts'
import type { EmbeddingEndpoint } from '#test/support/embedding-endpoint.ts'
import { send } from '#test/support/json-server.ts'

let endpoint: EmbeddingEndpoint
let served: string | undefined
afterEach(() => endpoint.stop())

const signal = new AbortController().signal

async function open(digest: string | undefined): ReturnType<typeof openEmbedder> {
  served = digest
  endpoint = await startEmbeddingEndpoint({
    misreply: (good, _request, response) => send(response, 200, { ...good, model_digest: served }),
  })
  return await openEmbedder(settings(), { model: 'm', query_prefix: '', passage_prefix: '' }, signal)
}

const settings = (): { OPENAI_BASE_URL: string; OPENAI_API_KEY: undefined } => ({
  OPENAI_BASE_URL: endpoint.baseUrl,
  OPENAI_API_KEY: undefined,
})

describe('the digest of a model', () => {
  for (const [what, other] of [
    ['another digest', 'b'.repeat(64)],
    ['none', undefined],
  ] as const)
    test(`is pinned by a version: a query is not embedded where the endpoint tells ${what}`, async () => {
      const { space } = await open('a'.repeat(64))
      expect(space.model_digest).toBe('a'.repeat(64))
      const embedder = createEmbedder(space, settings())
      expect((await embedder.embed(['duty'], 'query', signal)).vectors).toHaveLength(1)
      served = other
      await expect(embedder.embed(['duty'], 'query', signal)).rejects.toThrow(/serves another m than the version/)
      served = 'a'.repeat(64)
      expect((await embedder.embed(['duty'], 'query', signal)).vectors).toHaveLength(1)
    })

  test('makes another space; without one the endpoint is taken as it is', async () => {
    const { space } = await open(undefined)
    expect(space).not.toHaveProperty('model_digest')
    served = 'a'.repeat(64)
    const { vectors } = await createEmbedder(space, settings()).embed(['duty'], 'query', signal)
    expect(vectors).toHaveLength(1)
    expect(spaceKey({ ...space, model_digest: 'a'.repeat(64) })).not.toBe(spaceKey(space))
  })
})
