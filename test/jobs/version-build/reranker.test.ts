import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertActivation, readActivation } from '#core/db/activations.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { activate } from '#jobs/activate/pipeline.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { evaluationReportSchema } from '#jobs/evaluation/page/evaluation-report.ts'
import type { EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'
import { openSearchNodeClients } from '#jobs/platform/search-nodes.ts'
import { insertSignedReview, makeComparable } from '#test/support/reviews.ts'
import type { Signed } from '#test/support/reviews.ts'
import { silent, startJobsHarness } from '#test/support/jobs.ts'
import type { JobsHarness } from '#test/support/jobs.ts'
import { TRADES, tradesCode } from './rulebook.ts'
import { REVERSING, rerankCalls, startRerankEndpoint } from '#test/support/reranker-endpoint.ts'
import type { RerankEndpoint } from '#test/support/reranker-endpoint.ts'

const KNOWING = { model: 'knowing', candidates: 20 }
const plaintext = {
  SEARCH_TLS_CA: undefined,
  SEARCH_TLS_CERT: undefined,
  SEARCH_TLS_KEY: undefined,
  SEARCH_PLAINTEXT: 'refuse',
} as const

/** Two provisions on every trade, with equal lexical and dense scores; the one that lasts twelve years is relevant. */
const WANTED = 'twelve years'
const provision = (trade: string, years: string): string =>
  `### Licence of the ${trade}, ${years.split(' ')[0] ?? ''} ` +
  `{#${trade}-${years.split(' ')[0] ?? ''}}\n\nThe licence of a ${trade} lasts ${years} and costs ` +
  `forty crowns.\n`
const SOURCE = tradesCode((trade) => ['eleven years', WANTED].map((years) => provision(trade, years)))
const QUESTIONS = TRADES.map((trade, n) =>
  JSON.stringify({
    id: `q${n}`,
    text: `How long does the licence of a ${trade} last?`,
    relevant: [`trades#${trade}-twelve`],
  }),
)

let harness: JobsHarness
let endpoint: RerankEndpoint
let nodes: readonly SearchNodeClient[]
let knowledgeBaseId: string
let importId: string
let questions: string

beforeAll(async () => {
  harness = await startJobsHarness()
  nodes = openSearchNodeClients([harness.searchNode], plaintext)
  // Prefers the relevant provisions.
  endpoint = await startRerankEndpoint((_, documents) => documents.map((document) => Number(document.includes(WANTED))))
  knowledgeBaseId = await harness.createKnowledgeBase()
  importId = await harness.importFolder(knowledgeBaseId, written('trades.md', SOURCE))
  questions = await harness.storeQuestions(written('questions.jsonl', QUESTIONS.join('\n')))
})
afterAll(async () => {
  for (const node of nodes) node.close()
  await endpoint.stop()
  await harness.stop()
})

function written(name: string, text: string): string {
  const folder = harness.store.workFolder('trades')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

interface Built {
  readonly versionId: string
  readonly profile: ProfileParameters
  readonly report: EvaluationReport
}

async function run(
  parameters: object,
  environment: object = { RERANK_BASE_URL: endpoint.baseUrl },
): Promise<{ buildId: string; outcome: unknown }> {
  const buildId = await harness.requestBuild(knowledgeBaseId, importId, { questions_sha256: questions, ...parameters })
  return {
    buildId,
    outcome: await harness.runBuild(buildId, { environment: { ...harness.environment, ...environment } }),
  }
}

async function built(parameters: object): Promise<Built> {
  const { buildId, outcome } = await run(parameters)
  expect(outcome).toMatchObject({ outcome: 'succeeded' })
  const versionId = versionIdOf(buildId)
  const { rows } = await harness.owner.query<{ profile: unknown; evaluation: unknown }>(
    'select profile, evaluation from corpus_versions where id = $1',
    [versionId],
  )
  return {
    versionId,
    profile: profileParametersSchema.parse(rows[0]?.profile),
    report: evaluationReportSchema.parse(rows[0]?.evaluation),
  }
}

/** Approved, and asked for against what is active now. */
async function activated(
  versionId: string,
  review?: Partial<Signed>,
): Promise<Awaited<ReturnType<typeof readActivation>>> {
  await makeComparable(harness.owner, versionId, { store: harness.store })
  await insertSignedReview(harness.owner, versionId, review)
  const id = randomUUID()
  const expectedVersionId = (await activePointer(harness.owner, knowledgeBaseId))?.version_id ?? null
  await insertActivation(harness.owner, {
    id,
    knowledgeBaseId,
    versionId,
    expectedVersionId,
    kind: 'activate',
    actor: 'first-operator',
  })
  await activate(
    { database: harness.service, nodes, store: harness.store, privateKeyDer: harness.privateKeyDer, log: silent },
    id,
  )
  return readActivation(harness.owner, id)
}

describe('a build that is to try a re-ranker', () => {
  test('drops one that turns the order round', async () => {
    const { profile, report } = await built({ reranker: { model: REVERSING, candidates: 20 } })
    expect(profile.reranker).toBeNull()
    expect(report.passed).toBe(true)
    expect(
      (await rerankCalls(endpoint.baseUrl, '')).filter(({ model }) => model === REVERSING).length,
    ).toBeGreaterThanOrEqual(50)
  })

  test('does not even ask it about fewer than fifty judged questions', async () => {
    const few = await harness.storeQuestions(written('few.jsonl', QUESTIONS.slice(0, 49).join('\n')))
    const { profile } = await built({ questions_sha256: few, reranker: { ...KNOWING, model: 'never-asked' } })
    expect(profile.reranker).toBeNull()
    expect((await rerankCalls(endpoint.baseUrl, '')).filter(({ model }) => model === 'never-asked')).toEqual([])
  })

  test('without an endpoint fails for good and says which variable to set', async () => {
    const { outcome } = await run({ reranker: KNOWING }, {})
    expect(outcome).toMatchObject({
      outcome: 'failed',
      kind: 'permanent',
      message: expect.stringContaining('set RERANK_BASE_URL'),
    })
  })

  test('with an endpoint that fails is tried again, never finished without it', async () => {
    const { buildId, outcome } = await run({ reranker: { model: 'status-500', candidates: 20 } })
    expect(outcome).toMatchObject({
      outcome: 'failed',
      kind: 'transient',
      message: expect.stringContaining('status 500'),
    })
    expect((await harness.owner.query('select 1 from corpus_versions where build_id = $1', [buildId])).rowCount).toBe(0)
  })

  test(
    'keeps one that helps; the next candidate without it is worse, and becomes active only where the ' +
      'approval accepts that, which the trail keeps',
    async () => {
      const helped = await built({ reranker: KNOWING, embedding: 'local' })
      expect(helped.profile.reranker).toEqual(KNOWING)
      expect(helped.report).toMatchObject({ passed: true, comparison: null })
      const { hybrid, lexical } = helped.report.systems
      expect(hybrid?.['ndcg@10']).toBe(1)
      expect(lexical?.['ndcg@10']).toBeLessThan(0.95)
      expect(await activated(helped.versionId)).toMatchObject({ state: 'done' })

      const plain = await built({ embedding: 'local' })
      expect(plain.profile.reranker).toBeNull()
      expect(plain.report).toMatchObject({ passed: true, comparison: { version_id: helped.versionId, worse: true } })
      expect(plain.report.comparison?.worse_on).toContain('ndcg@10')
      const { length } = plain.report.comparison?.worse_on ?? []
      const wrong = plain.report.comparison?.changes?.counts.answers_wrong ?? 0
      expect(wrong).toBeGreaterThan(0)
      const accepted = [
        { kind: 'profile_changed', count: 1 },
        { kind: 'answers_wrong', count: wrong },
        { kind: 'ranking', count: length },
      ] as const
      expect(await activated(plain.versionId, { accepts: accepted.slice(0, 2) })).toMatchObject({
        state: 'refused',
        message: expect.stringContaining('does not accept a ranking that is worse'),
      })
      expect((await activePointer(harness.owner, knowledgeBaseId))?.version_id).toBe(helped.versionId)

      expect(await activated(plain.versionId)).toMatchObject({ state: 'done' })
      expect((await activePointer(harness.owner, knowledgeBaseId))?.version_id).toBe(plain.versionId)
      const { rows } = await harness.owner.query(
        "select detail -> 'accepted' as accepted from audit where action = 'version.activate' order by seq",
      )
      expect(rows).toEqual([{ accepted: [] }, { accepted }])
    },
  )
})
