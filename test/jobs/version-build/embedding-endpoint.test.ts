import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createEmbedder } from '#core/embedding/providers.ts'
import { embeddingSpaceSchema, manifestSchema } from '#core/index/format/manifest.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { ENDPOINT_DIMENSIONS, startEmbeddingEndpoint, vectorsByWords } from '#test/support/embedding-endpoint.ts'
import type { EmbeddingEndpoint, EndpointBehaviour } from '#test/support/embedding-endpoint.ts'
import { failure, openJobsHarness } from '#test/support/jobs.ts'
import { evaluationOf, importRulebook, rulebook, serve } from './rulebook.ts'

const harness = await openJobsHarness()

const endpoints: EmbeddingEndpoint[] = []
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.stop()
})

async function run(
  behaviour: Partial<EndpointBehaviour>,
  model: string,
  variables: Readonly<Record<string, string>> = {},
) {
  const endpoint = await startEmbeddingEndpoint(behaviour)
  endpoints.push(endpoint)
  const knowledgeBaseId = await harness.createKnowledgeBase()
  const importId = await importRulebook(harness, knowledgeBaseId, rulebook(2))
  const buildId = await harness.requestBuild(knowledgeBaseId, importId, { embedding: 'openai', endpoint: { model } })
  const environment = { ...harness.environment, OPENAI_BASE_URL: endpoint.baseUrl, ...variables }
  const stages = new Set<string>()
  const outcome = await harness.runBuild(buildId, { environment, onProgress: ({ stage }) => void stages.add(stage) })
  return { endpoint, buildId, outcome, stages: [...stages] }
}

test('a version is built through a server without a key, and asked with the prefixes it was built with', async () => {
  const { endpoint, buildId, outcome } = await run(
    { refusesDimensions: true, refusesBase64: true, textsMax: 10 },
    'intfloat/multilingual-e5-small',
  )
  expect(outcome).toMatchObject({ outcome: 'succeeded' })
  const sent = endpoint.requests.flatMap(({ input }) => input).filter((text) => text !== 'dimensions')
  const prefixes = new Set(sent.map((text) => /^(?:query|passage): /.exec(text)?.[0]))
  expect(prefixes).toEqual(new Set(['passage: ', 'query: ']))

  const versionId = versionIdOf(buildId)
  const { rows } = await harness.owner.query<{ embedding: unknown }>(
    'select embedding from corpus_versions where id = $1',
    [versionId],
  )
  const space = embeddingSpaceSchema.parse(rows[0]?.embedding)
  expect(space).toEqual({
    provider: 'openai',
    model: 'intfloat/multilingual-e5-small',
    dimensions: ENDPOINT_DIMENSIONS,
    query_prefix: 'query: ',
    passage_prefix: 'passage: ',
    requests_dimensions: false,
    probes: expect.any(Array),
  })
  const manifest = readFileSync(join(harness.store.artifactFolder(versionId), 'manifest.json'), 'utf8')
  expect(manifestSchema.parse(JSON.parse(manifest)).embedding).toEqual(space)

  // As a gateway does, which is configured with an endpoint alone.
  const gateway = createEmbedder(space, { OPENAI_BASE_URL: endpoint.baseUrl, OPENAI_API_KEY: undefined })
  await gateway.embed(['a question'], 'query', new AbortController().signal)
  expect(endpoint.requests.map(({ input }) => input)).toContainEqual(['query: a question'])
})

test('versions with and without vectors are compared, each as it is served, and words alone ask no endpoint', async () => {
  const endpoint = await startEmbeddingEndpoint(vectorsByWords())
  endpoints.push(endpoint)
  const environment = { ...harness.environment, OPENAI_BASE_URL: endpoint.baseUrl }
  const knowledgeBaseId = await harness.createKnowledgeBase()
  const importId = await importRulebook(harness, knowledgeBaseId, rulebook(4))
  const built = (embedding: string): Promise<string> =>
    harness.candidate(knowledgeBaseId, importId, { embedding }, { environment })
  const words = await built('none')
  expect(endpoint.requests).toEqual([])
  const report = await evaluationOf(harness, words)
  expect([report.passed, Object.keys(report.systems)]).toEqual([true, ['lexical']])
  expect(report.gates.map(({ label }) => label)).toEqual(['recall@5, lexical'])
  const page = readFileSync(harness.store.reportFile(versionIdOf(words)), 'utf8')
  expect(page).toContain('The version has no vectors: words alone rank.')

  const unchanged = { worse: false, changes: { counts: { passages_changed: 0, passages_removed: 0 } } }
  await serve(harness, words)
  const vectors = await built('openai')
  expect((await evaluationOf(harness, vectors)).comparison).toMatchObject({
    version_id: versionIdOf(words),
    ...unchanged,
  })
  await serve(harness, vectors)
  const { comparison } = await evaluationOf(harness, await built('none'))
  expect(comparison).toMatchObject({ version_id: versionIdOf(vectors), ...unchanged })
})

test('a build whose key is refused fails before its first stage, in one sentence without the key', async () => {
  const { outcome, stages } = await run({ key: 'the-right-key' }, 'e5', { OPENAI_API_KEY: 'a-wrong-key' })
  expect(outcome).toMatchObject(
    failure('permanent', /^The embedding endpoint refuses a first request, .*status 401 \(invalid_api_key\)/),
  )
  expect(JSON.stringify(outcome)).not.toContain('wrong-key')
  expect(stages).toEqual([])
})

test('a passage that the endpoint refuses fails the build for good, and is not quoted', async () => {
  const { outcome } = await run({ refuses: (text) => text.includes('must keep') }, 'e5')
  expect(outcome).toMatchObject(failure('permanent', /status 413 \(context_length_exceeded\)/))
  expect(JSON.stringify(outcome)).not.toContain('must keep')
})
