import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROBES } from '#core/embedding/probes.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import { storeUrl } from '#operator/demo/local/stack.ts'
import { startEmbeddingEndpoint, type EmbeddingEndpoint } from '#test/support/embedding-endpoint.ts'
import { smallSource } from '#test/support/jobs.ts'
import { WITH_FEW_QUERIES } from '#test/support/processes.ts'
import { ANSWERED_QUERY, startTestService, type TestService } from '#test/support/service.ts'

let endpoint: EmbeddingEndpoint
let service: TestService
beforeAll(async () => {
  endpoint = await startEmbeddingEndpoint()
  const environment = { OPENAI_BASE_URL: endpoint.baseUrl, NODE_OPTIONS: WITH_FEW_QUERIES }
  service = await startTestService({ embedding: 'none', environment })
})
afterAll(async () => {
  await service?.stop()
  await endpoint?.stop()
})

test('a version without vectors is built, reviewed, activated and asked without one call of the provider', async () => {
  const folder = createArtifactStore(storeUrl(service.settings)).artifactFolder(service.versionId)
  expect(['passages.jsonl', 'vectors.f32', 'graph.usearch'].map((name) => existsSync(join(folder, name)))).toEqual([
    true,
    false,
    false,
  ])
  const { rows } = await service.owner.query<object>(
    "select embedding, passed, evaluation -> 'systems' -> 'dense' as dense from corpus_versions where id = $1",
    [service.versionId],
  )
  expect(rows).toEqual([{ embedding: null, passed: true, dense: null }])

  const caller = await service.createCaller()
  const { version, results, abstention, usage } = (await caller.ask({ query: ANSWERED_QUERY })).retrieved()
  expect([version, abstention.decision, results[0]?.citation.label]).toEqual([
    service.versionId,
    'answer',
    expect.stringContaining('COB-M 2.1'),
  ])
  expect(usage.query_embedding_tokens).toBeNull()
  const kept = await service.owner.query<object>(
    "select replay -> 'query_vector_digest' as digest from reservations where entitlement_id = $1",
    [caller.entitlementId],
  )
  expect(kept.rows).toEqual([{ digest: null }])
  expect(endpoint.requests).toEqual([])
})

test('beside it, a knowledge base of the same service has vectors of the provider', async () => {
  const knowledgeBase = 'with-vectors'
  await service.publish({
    ...builtInCorpus(),
    source: smallSource,
    knowledgeBase,
    questionsFile: undefined,
    embedding: 'openai',
  })
  const built = endpoint.requests.length
  expect(built).toBeGreaterThan(0)
  const caller = await service.createCaller({ knowledgeBase })
  expect((await caller.ask({ query: ANSWERED_QUERY })).status).toBe(200)
  // The probe texts tell the gateway at its first use whether the endpoint serves the model of the version. They are sent
  // beside the query, so either may come first.
  const asked = endpoint.requests.slice(built).map(({ input }) => input)
  expect(asked.toSorted((a, b) => a.length - b.length)).toEqual([[ANSWERED_QUERY], [...PROBES]])
})
