import { Command } from 'commander'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import {
  embeddingEnvironment,
  embeddingInput,
  flaggedEmbedding,
  openFlaggedEmbedder,
} from '#operator/command-line/embedding-flags.ts'
import type { EmbeddingFlags } from '#operator/command-line/embedding-flags.ts'
import { optionsOf } from '#operator/command-line/inputs.ts'
import { startEmbeddingEndpoint, vectorsByWords } from '#test/support/embedding-endpoint.ts'

const endpoint = await startEmbeddingEndpoint(vectorsByWords())
const { signal } = new AbortController()

afterEach(() => vi.unstubAllEnvs())
afterAll(() => endpoint.stop())

function flagsOf(...args: readonly string[]): EmbeddingFlags {
  const command = new Command('test').exitOverride().configureOutput({ writeErr: () => undefined })
  for (const each of optionsOf(embeddingInput)) command.addOption(each)
  return command.parse([...args], { from: 'user' }).opts<EmbeddingFlags>()
}

test('without a model no embedder is opened, and services need no variable of an endpoint', async () => {
  for (const flags of [flagsOf(), flagsOf('--embedding', 'none')]) {
    expect(await openFlaggedEmbedder(flags, signal)).toBeUndefined()
    expect(embeddingEnvironment(flags)).toEqual({})
  }
})

test.each([
  [[], 'none'],
  [['--embedding', 'none'], 'none'],
  [['--embeddings', 'http://127.0.0.1:9', '--embedding-model', 'e5'], 'openai'],
])('%j embed with %s', (args, embedding) => {
  expect(flaggedEmbedding(flagsOf(...args))).toBe(embedding)
})

test('endpoint, model, prefixes and dimensions are those of the flags; the key is that of the variable', async () => {
  vi.stubEnv('KEY_OF_THE_ENDPOINT', 'sk-of-the-test')
  const flags = flagsOf(
    '--embeddings',
    endpoint.baseUrl,
    '--embedding-model',
    'of-the-test',
    '--embedding-batch',
    '2',
    '--embedding-query-prefix',
    'ask: ',
    '--embedding-passage-prefix',
    'tell: ',
    '--embedding-key-env',
    'KEY_OF_THE_ENDPOINT',
  )
  const embedder = await openFlaggedEmbedder(flags, signal)
  expect(embedder?.space).toMatchObject({
    provider: 'openai',
    model: 'of-the-test',
    query_prefix: 'ask: ',
    passage_prefix: 'tell: ',
    requests_dimensions: false,
  })
  await embedder?.embed(['one'], 'query', signal)
  await embedder?.embed(['two'], 'passage', signal)
  expect(endpoint.requests.slice(-2)).toEqual([
    { model: 'of-the-test', encoding_format: 'base64', input: ['ask: one'], authorization: 'Bearer sk-of-the-test' },
    { model: 'of-the-test', encoding_format: 'base64', input: ['tell: two'], authorization: 'Bearer sk-of-the-test' },
  ])
})

test('without a named variable, no key of the environment is sent', async () => {
  vi.stubEnv('OPENAI_API_KEY', 'sk-of-another-endpoint')
  await openFlaggedEmbedder(flagsOf('--embeddings', endpoint.baseUrl, '--embedding-model', 'plain'), signal)
  expect(JSON.stringify(endpoint.requests)).not.toContain('sk-of-another-endpoint')
})

test.each([
  [['--embedding-model', 'e5'], /^The --embedding-… options say how an endpoint is used: name it with --embeddings/],
  [
    ['--embedding', 'none', '--embeddings', 'http://127.0.0.1:9', '--embedding-model', 'e5'],
    /^--embedding none uses no endpoint: leave out it or --embeddings\.$/,
  ],
  [['--embeddings', 'http://127.0.0.1:9'], /^--embeddings needs a model: name it with --embedding-model NAME\.$/],
  [
    ['--embeddings', 'http://127.0.0.1:9', '--embedding-model', 'e5', '--embedding-key-env', 'NO_SUCH_KEY'],
    /^The environment variable NO_SUCH_KEY is not set: set it to the key\.$/,
  ],
])('%j are refused with a sentence', async (args, sentence) => {
  await expect(openFlaggedEmbedder(flagsOf(...args), signal)).rejects.toThrow(sentence)
})

test.each([
  [['--embedding', 'openai']],
  [['--embeddings', 'ftp://host/v1']],
  [['--embeddings', 'http://user:secret@host/v1']],
  [['--embeddings', 'http://host/v1?key=secret']],
  [['--embedding-model', 'e5\u001b[2J']],
  [['--embedding-model', '']],
  [['--embedding-model', 'm'.repeat(201)]],
  [['--embedding-query-prefix', 'p'.repeat(1_001)]],
  [['--embedding-passage-prefix', 'p'.repeat(1_001)]],
  [['--embedding-dimensions', '7']],
  [['--embedding-batch', '0']],
  [['--embedding-key-env', 'sk-secret value']],
])('%j are not understood', (args) => {
  expect(() => flagsOf(...args)).toThrow(expect.objectContaining({ code: 'commander.invalidArgument' }))
})

test('an endpoint that does not answer is refused with a sentence', async () => {
  const flags = flagsOf('--embeddings', 'http://127.0.0.1:9/v1', '--embedding-model', 'e5')
  await expect(openFlaggedEmbedder(flags, signal)).rejects.toThrow(
    /^The endpoint of --embeddings cannot be used \(.*\): check that it runs, and its model and key\.$/,
  )
})
