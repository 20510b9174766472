import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { spaceKey } from '#core/embedding/embedder.ts'
import { createEmbedder, openEmbedder } from '#core/embedding/providers.ts'
import { PROBES, withProbes } from '#core/embedding/probes.ts'
import { embeddingSpaceSchema, type EmbeddingSpace } from '#core/index/format/manifest.ts'
import { embeddersOf } from '#gateway/retrieve/embed.ts'
import { startEmbeddingEndpoint, vectorsByWords, type EmbeddingEndpoint } from '#test/support/embedding-endpoint.ts'
import { send } from '#test/support/json-server.ts'

const { signal } = new AbortController()
let endpoint: EmbeddingEndpoint
let space: EmbeddingSpace

const settings = (): { OPENAI_BASE_URL: string; OPENAI_API_KEY: undefined } => ({
  OPENAI_BASE_URL: endpoint.baseUrl,
  OPENAI_API_KEY: undefined,
})

beforeEach(async () => {
  endpoint = await startEmbeddingEndpoint(vectorsByWords())
  const built = await openEmbedder(settings(), { model: 'm', query_prefix: 'q: ', passage_prefix: '' }, signal)
  space = await withProbes(built, signal)
})
afterEach(() => endpoint.stop())

const ask = async (of: EmbeddingSpace, text = 'duty'): Promise<number> =>
  (await createEmbedder(of, settings()).embed([text], 'query', signal)).vectors.length

/** The same name, and another model behind it. */
function replaceModel(): void {
  Object.assign(endpoint.behaviour, vectorsByWords('other weights '))
}

describe('the probe vectors of a version', () => {
  test('are stored in its space and accept the model that it was built with, rounded or not', async () => {
    expect(embeddingSpaceSchema.parse(space).probes).toHaveLength(PROBES.length)
    expect(await ask(space)).toBe(1)
    const { vectorsOf } = vectorsByWords()
    endpoint.behaviour.vectorsOf = async (texts, dimensions) =>
      (await vectorsOf(texts, dimensions)).map((vector) => vector.map((value) => Math.round(value * 500) / 500))
    expect(await ask(space)).toBe(1)
  })

  test('refuse every query while the endpoint serves another model under the same name', async () => {
    replaceModel()
    const embedder = createEmbedder(space, settings())
    for (const role of ['query', 'passage'] as const)
      await expect(embedder.embed(['duty'], role, signal)).rejects.toThrow(/serves another m than the version/)
    Object.assign(endpoint.behaviour, vectorsByWords())
    expect((await embedder.embed(['duty'], 'query', signal)).vectors).toHaveLength(1)
  })

  test('are compared at the first use and after a failure, and cost no request otherwise', async () => {
    const embedder = createEmbedder(space, settings())
    const before = endpoint.requests.length
    for (let count = 0; count < 3; count++) await embedder.embed(['duty'], 'query', signal)
    expect(endpoint.requests.length - before).toBe(4)
    endpoint.behaviour.failures.push({ status: 401 })
    await expect(embedder.embed(['duty'], 'query', signal)).rejects.toThrow()
    replaceModel()
    await expect(embedder.embed(['duty'], 'query', signal)).rejects.toThrow(/serves another m/)
  })

  test('of two versions in one space are compared each for itself', async () => {
    const embedderOf = embeddersOf(settings())
    await embedderOf(space).embed(['duty'], 'query', signal)
    replaceModel()
    const { probes: _probes, ...bare } = space
    const later = await withProbes(createEmbedder(bare, settings()), signal)
    expect((await embedderOf(later).embed(['duty'], 'query', signal)).vectors).toHaveLength(1)
    expect(embedderOf(later)).not.toBe(embedderOf(space))
  })
})

describe('the digest of a model, where the endpoint tells one', () => {
  const digest = 'a'.repeat(64)
  const tell = (told: string | undefined): void => {
    endpoint.behaviour.misreply = (good, _request, response) => send(response, 200, { ...good, model_digest: told })
  }
  const opened = async (): Promise<EmbeddingSpace> => (await openEmbedder(settings(), { model: 'm' }, signal)).space

  test.each([['b'.repeat(64)], [undefined]])(
    'is pinned by a version: no query is embedded while it tells %s',
    async (other) => {
      tell(digest)
      const pinned = await opened()
      expect(pinned.model_digest).toBe(digest)
      expect(await ask(pinned)).toBe(1)
      tell(other)
      await expect(ask(pinned)).rejects.toThrow(/serves another m than the version/)
      tell(digest)
      expect(await ask(pinned)).toBe(1)
    },
  )

  test('makes another space; without one the endpoint is taken as it is', async () => {
    const plain = await opened()
    expect(plain).not.toHaveProperty('model_digest')
    tell(digest)
    expect(await ask(plain)).toBe(1)
    expect(spaceKey({ ...plain, model_digest: digest })).not.toBe(spaceKey(plain))
  })
})
