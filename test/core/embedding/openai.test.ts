import { createServer } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EmbeddingError, type Embedder, type Embeddings } from '#core/embedding/embedder.ts'
import { createOpenAiEmbedder, type OpenAiOptions } from '#core/embedding/openai.ts'
import { queryPolicy, systemClock } from '#core/embedding/sending.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { ENDPOINT_DIMENSIONS, startEmbeddingEndpoint, vectorFor } from '#test/support/embedding-endpoint.ts'
import type { EndpointBehaviour } from '#test/support/embedding-endpoint.ts'
import { spaceOf } from '#test/support/artifact.ts'

const signal = new AbortController().signal
const texts = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `text ${at}`)

function embedderAt(baseUrl: string, space: EmbeddingSpace, change: Partial<OpenAiOptions> = {}): Embedder {
  const policy = queryPolicy(10_000)
  return createOpenAiEmbedder(space, {
    endpoint: { name: 'the embedding provider', baseUrl, apiKey: undefined },
    clock: systemClock,
    policies: { query: policy, passage: policy },
    requestTexts: 32,
    tokensMax: undefined,
    ...change,
  })
}

async function open(
  behaviour: Partial<EndpointBehaviour> = {},
  change: Partial<OpenAiOptions> = {},
  space: Partial<EmbeddingSpace> = {},
) {
  const endpoint = await startEmbeddingEndpoint(behaviour)
  onTestFinished(() => endpoint.stop())
  const wanted = spaceOf(ENDPOINT_DIMENSIONS, { provider: 'openai', ...space })
  return { endpoint, embedder: embedderAt(endpoint.baseUrl, wanted, change) }
}

function unit(text: string): readonly number[] {
  const vector = [...vectorFor(text)]
  const norm = Math.hypot(...vector)
  return vector.map((value) => value / norm)
}

function expectVectorsOf(embedded: Embeddings, expected: readonly string[]): void {
  expect(embedded.vectors).toHaveLength(expected.length)
  for (const [at, text] of expected.entries())
    for (const [place, value] of unit(text).entries()) expect(embedded.vectors[at]?.[place]).toBeCloseTo(value, 6)
}

async function failureOf(embedding: Promise<Embeddings>): Promise<EmbeddingError> {
  const error = await embedding.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof EmbeddingError)) throw new Error('the embedding did not fail as it should', { cause: error })
  return error
}

describe('vectors of the wire', () => {
  /** Asks an endpoint that answers every request with this embedding. */
  async function embedWith(embedding: unknown): Promise<Embeddings> {
    const server = createServer((_request, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ object: 'list', data: [{ object: 'embedding', index: 0, embedding }] }))
    })
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = address !== null && typeof address === 'object' ? address.port : 0
    const embedder = embedderAt(`http://127.0.0.1:${port}/v1`, spaceOf(4, { provider: 'openai' }))
    return await embedder.embed(['a text'], 'query', signal)
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
      `[${base64([1, 2, 3, 4])}]`,
    ]
    for (const embedding of bad) await expect(embedWith(embedding), embedding).rejects.toBeInstanceOf(EmbeddingError)
  })

  test('an endpoint that refuses to be asked for base64 is asked without a format, from then on', async () => {
    const { endpoint, embedder } = await open({ refusesBase64: true })
    expectVectorsOf(await embedder.embed(texts(3), 'passage', signal), texts(3))
    expectVectorsOf(await embedder.embed(texts(2), 'passage', signal), texts(2))
    expect(endpoint.requests.map(({ encoding_format, input }) => [encoding_format, input.length])).toEqual([
      ['base64', 3],
      [undefined, 3],
      [undefined, 2],
    ])
  })
})

describe('what is sent', () => {
  test('the prefix of the role stands before each text', async () => {
    const prefixes = { query_prefix: 'Instruct: find\nQuery: ', passage_prefix: 'passage: ' }
    const { endpoint, embedder } = await open({}, {}, prefixes)
    await embedder.embed(['one', 'two'], 'query', signal)
    await embedder.embed([' three'], 'passage', signal)
    expect(endpoint.requests.map(({ input }) => input)).toEqual([
      ['Instruct: find\nQuery: one', 'Instruct: find\nQuery: two'],
      ['passage:  three'],
    ])
  })

  test('dimensions are requested only where the space says so', async () => {
    for (const requests_dimensions of [false, true]) {
      const { endpoint, embedder } = await open({}, {}, { requests_dimensions })
      await embedder.embed(['one'], 'query', signal)
      expect(endpoint.requests[0]?.dimensions).toBe(requests_dimensions ? ENDPOINT_DIMENSIONS : undefined)
    }
  })

  test('no key is sent where there is none', async () => {
    const { endpoint, embedder } = await open()
    await embedder.embed(['one'], 'query', signal)
    expect(endpoint.requests[0]?.authorization).toBeUndefined()
  })
})

describe('texts of one request', () => {
  test('no request has more than configured, and the vectors come in the order of the texts', async () => {
    const { endpoint, embedder } = await open({}, { requestTexts: 10 })
    const embedded = await embedder.embed(texts(25), 'passage', signal)
    expectVectorsOf(embedded, texts(25))
    expect(embedded.tokens).toBe(25 * 2)
    expect(endpoint.requests.map(({ input }) => input.length)).toEqual([10, 10, 5])
  })

  test.each([400, 413, 422])('a batch that is refused with %i is halved, and the size is kept', async (status) => {
    const { endpoint, embedder } = await open({ textsMax: 10, tooManyStatus: status })
    await embedder.embed(['first'], 'query', signal)
    endpoint.requests.length = 0
    expectVectorsOf(await embedder.embed(texts(64), 'passage', signal), texts(64))
    expectVectorsOf(await embedder.embed(texts(9), 'passage', signal), texts(9))
    const sizes = endpoint.requests.map(({ input }) => input.length)
    expect(sizes.slice(0, 3)).toEqual([32, 16, 8])
    expect(sizes.slice(3).every((size) => size <= 8)).toBe(true)
    expect(sizes).toHaveLength(2 + 8 + 2)
  })

  test('an endpoint that takes one text at a time is fed one at a time', async () => {
    const { endpoint, embedder } = await open({ textsMax: 1, refusesBase64: true })
    expectVectorsOf(await embedder.embed(texts(5), 'passage', signal), texts(5))
    endpoint.requests.length = 0
    await embedder.embed(texts(3), 'passage', signal)
    expect(endpoint.requests.map(({ input }) => input.length)).toEqual([1, 1, 1])
  })

  test.each<[string, Partial<OpenAiOptions>, readonly number[]]>([
    ['refuses', {}, [1, 8]],
    ['may cut', { tokensMax: 250 }, [8]],
  ])('a query that the endpoint %s is the mean of windows that hold all of it', async (_, change, sizes) => {
    const { endpoint, embedder } = await open({ refuses: (text) => text.length > 1_000 }, change, {
      query_prefix: 'q: ',
    })
    const query = Array.from({ length: 640 }, (__, at) => `w${at}`).join(' ')
    const { vectors } = await embedder.embed([query], 'query', signal)
    expect(endpoint.requests.map(({ input }) => input.length)).toEqual(sizes)
    const windows = endpoint.requests.at(-1)?.input ?? []
    expect(windows.map((window) => window.slice('q: '.length)).join(' ')).toBe(query)
    const sums = windows.map(unit).reduce((sum, vector) => sum.map((value, at) => value + (vector[at] ?? 0)))
    const norm = Math.hypot(...sums)
    for (const [place, value] of sums.entries()) expect(vectors[0]?.[place]).toBeCloseTo(value / norm, 6)
  })

  test('a query that may be cut is asked about alone, wherever it stands among others', async () => {
    const { endpoint, embedder } = await open({}, { tokensMax: 250 })
    const long = Array.from({ length: 640 }, (_, at) => `w${at}`).join(' ')
    const { vectors } = await embedder.embed(['a', 'b', long, 'c'], 'query', signal)
    expect(vectors).toHaveLength(4)
    expect(endpoint.requests.map(({ input }) => input.length)).toEqual([2, 8, 1])
  })

  test('no text gives no request', async () => {
    const { endpoint, embedder } = await open()
    expect(await embedder.embed([], 'passage', signal)).toEqual({ vectors: [], tokens: 0, overlong: 0 })
    expect(endpoint.requests).toEqual([])
  })
})

describe('a failure names the text by its index, and never quotes it', () => {
  const secret = 'the secret passage'

  test('a text that the endpoint refuses', async () => {
    const { embedder } = await open({ refuses: (text) => text === secret }, { requestTexts: 8 })
    const input = texts(40).with(29, secret)
    const error = await failureOf(embedder.embed(input, 'passage', signal))
    expect(error.texts).toEqual({ first: 29, count: 1 })
    expect(error.message).toBe('the embedding provider answered with status 413 (context_length_exceeded)')
    expect(error.permanent).toBe(true)
  })

  test('a text that is refused and longer than the model embeds says so', async () => {
    const { embedder } = await open({ refuses: (text) => text.length > 2_048 }, { tokensMax: 512 })
    const error = await failureOf(embedder.embed(['short', 'long '.repeat(500)], 'passage', signal))
    expect(error.texts).toEqual({ first: 1, count: 1 })
    expect(error.message).toMatch(/probably longer than the 512 tokens of the model$/)
  })

  test('a vector with a wrong number of dimensions', async () => {
    const { embedder } = await open({ shortensVectorOf: (text) => text === secret }, { requestTexts: 8 })
    const error = await failureOf(embedder.embed(texts(20).with(13, secret), 'passage', signal))
    expect(error.texts).toEqual({ first: 13, count: 1 })
    expect(error.message).toBe('the provider sent 7 dimensions, and the space has 8')
    expect(error.permanent).toBe(true)
  })

  test('an endpoint that fails: the texts of its request', async () => {
    const { endpoint, embedder } = await open({}, { requestTexts: 8 })
    endpoint.behaviour.refuses = (text) => {
      if (text === 'text 8') endpoint.behaviour.failures.push(...Array.from({ length: 9 }, () => ({ status: 503 })))
      return text === 'text 8'
    }
    const error = await failureOf(embedder.embed(texts(20), 'passage', signal))
    expect(error.texts).toEqual({ first: 8, count: 4 })
    expect(error.message).toBe('the embedding provider answered with status 503')
    expect(error.permanent).toBe(false)
  })

  test('code and type of the reply are named only where they are identifiers', async () => {
    const { endpoint, embedder } = await open()
    endpoint.behaviour.failures.push({ status: 401, code: secret })
    const error = await failureOf(embedder.embed(['one'], 'passage', signal))
    expect(error.message).toBe('the embedding provider answered with status 401')
  })
})

describe('texts that the model probably cuts', () => {
  const long = 'word '.repeat(600)

  test('none is counted where no limit is known', async () => {
    const { embedder } = await open()
    expect((await embedder.embed([long], 'passage', signal)).overlong).toBe(0)
  })

  test('a text that is sent alone is judged by the reported tokens', async () => {
    const { endpoint, embedder } = await open({}, { tokensMax: 512 })
    endpoint.behaviour.tokensOf = () => 512
    expect((await embedder.embed(['short'], 'passage', signal)).overlong).toBe(1)
    endpoint.behaviour.tokensOf = () => 511
    expect((await embedder.embed([long], 'passage', signal)).overlong).toBe(0)
  })

  test('several are judged by their bytes, but no more than the reported tokens can hold', async () => {
    const { endpoint, embedder } = await open({}, { tokensMax: 512 })
    const mixed = [long, 'short', long, long]
    endpoint.behaviour.tokensOf = (text) => Math.min(512, Math.ceil(text.length / 4))
    expect((await embedder.embed(mixed, 'passage', signal)).overlong).toBe(3)
    endpoint.behaviour.tokensOf = (text) => Math.floor(text.length / 10)
    expect((await embedder.embed(mixed, 'passage', signal)).overlong).toBe(1)
    endpoint.behaviour.silentUsage = true
    expect((await embedder.embed(mixed, 'passage', signal)).overlong).toBe(3)
  })
})
