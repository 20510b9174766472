import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmbedder, openEmbedder, type EndpointSettings } from '#core/embedding/providers.ts'
import type { EndpointOptions } from '#core/embedding/settings.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { ENDPOINT_DIMENSIONS, startEmbeddingEndpoint } from '#test/support/embedding-endpoint.ts'
import type { EmbeddingEndpoint, EndpointBehaviour } from '#test/support/embedding-endpoint.ts'
import { spaceOf } from '#test/support/artifact.ts'
import { send } from '#test/support/json-server.ts'

const signal = new AbortController().signal

async function start(behaviour: Partial<EndpointBehaviour> = {}): Promise<EmbeddingEndpoint> {
  const endpoint = await startEmbeddingEndpoint(behaviour)
  onTestFinished(() => endpoint.stop())
  return endpoint
}

const settingsOf = (baseUrl: string | undefined, key?: string): EndpointSettings => ({
  OPENAI_BASE_URL: baseUrl,
  OPENAI_API_KEY: key,
})

async function open(
  baseUrl: string | undefined,
  change: EndpointOptions = {},
  more: { readonly key?: string; readonly warn?: (sentence: string) => void } = {},
): ReturnType<typeof openEmbedder> {
  return await openEmbedder(settingsOf(baseUrl, more.key), { model: 'some-model', ...change }, signal, more.warn)
}

describe('the embedder of a new version', () => {
  test('learns the dimensions from one request, and never asks for any', async () => {
    const { baseUrl, requests } = await start({ refusesDimensions: true })
    const embedder = await open(baseUrl)
    expect(embedder.space).toEqual(spaceOf(ENDPOINT_DIMENSIONS, { provider: 'openai', model: 'some-model' }))
    expect((await embedder.embed(['a passage'], 'passage', signal)).vectors[0]).toHaveLength(ENDPOINT_DIMENSIONS)
    expect(requests.map(({ dimensions }) => dimensions)).toEqual([undefined, undefined])
  })

  test('asks for the dimensions that are configured, and the space says so', async () => {
    const { baseUrl, requests } = await start()
    const embedder = await open(baseUrl, { dimensions: 16 })
    expect(embedder.space).toMatchObject({ dimensions: 16, requests_dimensions: true })
    expect((await embedder.embed(['a passage'], 'passage', signal)).vectors[0]).toHaveLength(16)
    expect(requests.map(({ dimensions }) => dimensions)).toEqual([16, 16])
  })

  test('needs no key of a server that has none, and sends the one that is configured', async () => {
    const { baseUrl, requests, behaviour } = await start()
    await open(baseUrl)
    behaviour.key = 'a-key'
    await open(baseUrl, {}, { key: 'a-key' })
    expect(requests.map(({ authorization }) => authorization)).toEqual([undefined, 'Bearer a-key'])
  })

  test('has the prefixes of a known model, unless they are configured, be it as empty', async () => {
    const { baseUrl } = await start()
    const spaceWith = async (change: EndpointOptions): Promise<readonly string[]> => {
      const model = 'intfloat/multilingual-e5-small'
      const { query_prefix, passage_prefix } = (await open(baseUrl, { model, ...change })).space
      return [query_prefix, passage_prefix]
    }
    expect(await spaceWith({})).toEqual(['query: ', 'passage: '])
    expect(await spaceWith({ query_prefix: 'q ' })).toEqual(['q ', 'passage: '])
    expect(await spaceWith({ query_prefix: '', passage_prefix: '' })).toEqual(['', ''])
    expect(await spaceWith({ model: 'some-model' })).toEqual(['', ''])
  })

  test('knows the limit of a known model, unless it is configured', async () => {
    const { baseUrl, behaviour } = await start()
    const overlong = async (tokens: number, change: EndpointOptions): Promise<number> => {
      behaviour.tokensOf = () => tokens
      const embedder = await open(baseUrl, change)
      return (await embedder.embed(['a passage'], 'passage', signal)).overlong
    }
    expect(await overlong(512, { model: 'e5' })).toBe(1)
    expect(await overlong(511, { model: 'e5' })).toBe(0)
    expect(await overlong(100, { model: 'e5', tokens_max: 100 })).toBe(1)
    expect(await overlong(1_000_000, {})).toBe(0)
  })

  test('sends at most the configured number of texts in one request', async () => {
    const { baseUrl, requests } = await start()
    const embedder = await open(baseUrl, { batch_texts: 2 })
    await embedder.embed(['a', 'b', 'c'], 'passage', signal)
    expect(requests.map(({ input }) => input.length)).toEqual([1, 2, 1])
  })
})

describe('a sentence says what to do', () => {
  test('where neither a key nor a server is configured, for a new space and for a known one', async () => {
    const missing = /needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server without keys: set one/
    await expect(open(undefined)).rejects.toThrow(missing)
    expect(() => createEmbedder(spaceOf(8), settingsOf(undefined))).toThrow(missing)
  })

  test('where the space is that of the embedder of an earlier release', () => {
    const space = spaceOf(8, { provider: 'local' })
    expect(() => createEmbedder(space, settingsOf('http://127.0.0.1:9'))).toThrow(
      /built with the local embedder.*build/,
    )
  })

  test('where the endpoint refuses the key, which is not repeated', async () => {
    const { baseUrl } = await start({ key: 'the-right-key' })
    const refused = open(baseUrl, {}, { key: 'a-wrong-key' })
    await expect(refused).rejects.toThrow(OperatorError)
    await expect(refused).rejects.toThrow(/status 401 \(invalid_api_key\): check OPENAI_BASE_URL, OPENAI_API_KEY and/)
    await expect(refused).rejects.not.toThrow(/wrong-key/)
  })

  test('where the model cannot shorten its vectors', async () => {
    const refusing = await start({ refusesDimensions: true })
    await expect(open(refusing.baseUrl, { dimensions: 16 })).rejects.toThrow(
      /status 400 \(unknown_field\).*leave out --embedding-dimensions if the model has a fixed number/,
    )
    const shortening = await start({ shortensVectorOf: () => true })
    await expect(open(shortening.baseUrl, { dimensions: 16 })).rejects.toThrow(
      /gives 15 dimensions and not --embedding-dimensions 16: leave it out/,
    )
  })

  test('where the model has fewer dimensions than an index takes', async () => {
    const { baseUrl } = await start({ shortensVectorOf: () => true })
    await expect(open(baseUrl)).rejects.toThrow(/gives 7 dimensions: use one with 8 to 4096/)
  })

  test('where nothing is known of the prefixes of a model, unless both are configured', async () => {
    const { baseUrl } = await start()
    const warnings = async (change: EndpointOptions): Promise<readonly string[]> => {
      const said: string[] = []
      await open(baseUrl, change, { warn: (sentence) => said.push(sentence) })
      return said
    }
    const warning = expect.stringMatching(/^no prefixes are known of the embedding model some-model: give /)
    expect(await warnings({})).toEqual([warning])
    expect(await warnings({ query_prefix: '' })).toEqual([warning])
    expect(await warnings({ query_prefix: '', passage_prefix: '' })).toEqual([])
    expect(await warnings({ model: 'text-embedding-3-large' })).toEqual([])
  })
})

describe('what the endpoint tells of its models', () => {
  const prompts = { query: 'ask: ', passage: 'tell: ' }
  const told = { id: 'some-model', dimensions: ENDPOINT_DIMENSIONS, max_tokens: 100, prompts, long_texts: 'windows' }

  test('gives prefixes, limit and windows without any configuration, which counts more', async () => {
    const { baseUrl, behaviour } = await start({ models: [{ id: 'another' }, told], tokensOf: () => 100 })
    const said: string[] = []
    const embedder = await open(baseUrl, {}, { warn: (sentence) => said.push(sentence) })
    expect(embedder.space).toMatchObject({ query_prefix: 'ask: ', passage_prefix: 'tell: ' })
    expect(said).toEqual([])
    expect(embedder.windows).toBe(true)
    expect((await embedder.embed(['a passage'], 'passage', signal)).overlong).toBe(1)
    const change = { query_prefix: '', tokens_max: 101 }
    const configured = await open(baseUrl, change)
    expect(configured.space).toMatchObject({ query_prefix: '', passage_prefix: 'tell: ' })
    expect((await configured.embed(['a passage'], 'passage', signal)).overlong).toBe(0)
    behaviour.models = [{ ...told, max_tokens: 'many', prompts: { query: 3 }, long_texts: 'cut' }]
    const faulty = await open(baseUrl)
    expect(faulty.space).toMatchObject({ query_prefix: '', passage_prefix: '' })
    expect(faulty.windows).toBeUndefined()
  })

  test('names the model where none is configured and only one is served', async () => {
    const { baseUrl, behaviour } = await start({ models: [told] })
    const modelOf = async (): Promise<string> => (await open(baseUrl, { model: undefined })).space.model
    expect(await modelOf()).toBe('some-model')
    for (const models of [[told, { id: 'another' }], [], undefined]) {
      behaviour.models = models
      expect(await modelOf()).toBe('text-embedding-3-small')
    }
  })

  test('must agree with the digest and the dimensions of its vectors', async () => {
    const digest = 'a'.repeat(64)
    const misreply: EndpointBehaviour['misreply'] = (good, _request, response) =>
      send(response, 200, { ...good, model_digest: digest })
    const { baseUrl, behaviour } = await start({ models: [{ ...told, digest }], misreply })
    expect((await open(baseUrl)).space.model_digest).toBe(digest)
    for (const other of [{ digest: 'b'.repeat(64) }, { digest, dimensions: ENDPOINT_DIMENSIONS - 1 }]) {
      behaviour.models = [{ ...told, ...other }]
      await expect(open(baseUrl)).rejects.toThrow(/lists another some-model than it serves/)
    }
  })
})
