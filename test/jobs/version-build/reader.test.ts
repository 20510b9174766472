import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEFAULT_CHAT_READER_CALIBRATION } from '#core/domain/default-calibration.ts'
import { READER_PREDICTORS } from '#core/domain/predictors.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import type { ReaderParameters } from '#core/domain/retrieval-profile.ts'
import { PROMPT_SHA256 } from '#core/reading/chat.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { demoCorpus, startJobsHarness } from '#test/support/jobs.ts'
import type { JobsHarness } from '#test/support/jobs.ts'
import type { JsonServer } from '#test/support/json-server.ts'
import { OVERLAP, readerCalls, startReaderEndpoint } from '#test/support/reader-endpoint.ts'
import { evaluationOf } from './rulebook.ts'

const RELEVANT = 'hsfa-conduct-harbour#cob-f-1-1'
/** As many answerable questions as unanswerable ones. */
const LABELLED = Array.from({ length: 20 }, (_, at) => [
  { id: `a${at}`, text: `How long is charge card ${at} valid?`, relevant: [RELEVANT] },
  { id: `u${at}`, text: `Which orchestra performs sonata card ${at} tonight?`, relevant: [] },
]).flat()

let harness: JobsHarness
let endpoint: JsonServer
let knowledgeBaseId: string
let importId: string
beforeAll(async () => {
  harness = await startJobsHarness()
  endpoint = await startReaderEndpoint()
  knowledgeBaseId = await harness.createKnowledgeBase()
  importId = await harness.importFolder(knowledgeBaseId, join(demoCorpus, 'rulebook'))
})
afterAll(async () => {
  await endpoint.stop()
  await harness.stop()
})

async function built(model: string, questions: object): Promise<{ buildId: string; outcome: unknown }> {
  const reader = { model, on_failure: 'decide_without' }
  const buildId = await harness.requestBuild(knowledgeBaseId, importId, { ...questions, reader })
  const environment = { ...harness.environment, READER_BASE_URL: endpoint.baseUrl }
  return { buildId, outcome: await harness.runBuild(buildId, { environment }) }
}

async function readerOf(buildId: string): Promise<ReaderParameters | null> {
  const { rows } = await harness.owner.query<{ profile: unknown }>(
    'select profile from corpus_versions where id = $1',
    [versionIdOf(buildId)],
  )
  return profileParametersSchema.parse(rows[0]?.profile).reader
}

async function labelled(): Promise<object> {
  const folder = harness.store.workFolder('question-sets')
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'labelled.jsonl')
  writeFileSync(path, LABELLED.map((line) => JSON.stringify(line)).join('\n'))
  return { questions_sha256: await harness.storeQuestions(path) }
}

test('a build with a reader pins it, fits its decision on labelled questions, one call each, and reports it', async () => {
  const { buildId, outcome } = await built(OVERLAP, await labelled())
  expect(outcome).toEqual({ outcome: 'succeeded', versionId: versionIdOf(buildId) })
  const reader = await readerOf(buildId)
  expect(reader).toMatchObject({
    kind: 'chat',
    model: OVERLAP,
    prompt_sha256: PROMPT_SHA256,
    on_failure: 'decide_without',
  })
  expect(reader?.calibration).toMatchObject({ features: [...READER_PREDICTORS], named: null, questions: 40 })
  const { reader: figures } = await evaluationOf(harness, buildId)
  expect(figures).toMatchObject({
    model: OVERLAP,
    questions: 40,
    answerable: 20,
    is_fitted: true,
    answered_unanswerable: 0,
  })
  expect(figures?.answered_answerable).toBeGreaterThan(5)
  expect(await readerCalls(endpoint.baseUrl, '')).toHaveLength(40)
})

test('a build without labelled questions asks no reader, and has the default of chat models', async () => {
  const before = await readerCalls(endpoint.baseUrl, '')
  const { buildId, outcome } = await built(OVERLAP, {})
  expect(outcome).toEqual({ outcome: 'succeeded', versionId: versionIdOf(buildId) })
  expect((await readerOf(buildId))?.calibration).toEqual(DEFAULT_CHAT_READER_CALIBRATION)
  expect((await evaluationOf(harness, buildId)).reader).toMatchObject({ questions: 0, is_fitted: false })
  expect(await readerCalls(endpoint.baseUrl, '')).toHaveLength(before.length)
})

test('a reader that fails ends the run, which may be repeated, and no candidate is left', async () => {
  const { outcome } = await built('status-500', await labelled())
  expect(outcome).toMatchObject({ outcome: 'failed', kind: 'transient' })
})
