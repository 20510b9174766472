import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { beginAttempt, noteFailedRun, readBuild } from '#core/db/builds.ts'
import { projectionIdOf } from '#jobs/build/ids.ts'
import { abandonBuild } from '#jobs/build/process.ts'
import { runBuildChild } from '#jobs/build/run-child.ts'
import { startJobsHarness, demoCorpus, silent } from '#test/support/jobs/harness.ts'
import type { JobsHarness } from '#test/support/jobs/harness.ts'

let harness: JobsHarness
let knowledgeBaseId: string
let importId: string

beforeAll(async () => {
  harness = await startJobsHarness()
  knowledgeBaseId = await harness.createKnowledgeBase()
  importId = await harness.importFolder(knowledgeBaseId, join(demoCorpus, 'rulebook'))
})
afterAll(async () => {
  await harness.stop()
})

test('a superseded run that fails changes neither the build nor its files', async () => {
  const id = await harness.requestBuild(knowledgeBaseId, importId)
  const [overtaken, holding] = [await beginAttempt(harness.service, id), await beginAttempt(harness.service, id)]
  const work = harness.store.workFolder(id)
  mkdirSync(work, { recursive: true })
  const deps = { database: harness.service, store: harness.store, log: silent }
  await abandonBuild(deps, id, 'the stale run failed', overtaken)
  expect(await readBuild(harness.owner, id)).toMatchObject({ state: 'running', attempt: holding, error: null })
  expect(existsSync(work)).toBe(true)
  expect(await noteFailedRun(harness.service, { buildId: id, attempt: overtaken ?? 0 }, 'stale')).toBe(false)
  await abandonBuild(deps, id, 'the holding run failed', holding)
  expect(await readBuild(harness.owner, id)).toMatchObject({ state: 'failed', error: 'the holding run failed' })
  expect(existsSync(work)).toBe(false)
})

test('a run that fails because another took its build over says so instead of failing', async () => {
  const id = await harness.requestBuild(knowledgeBaseId, importId, { questions_sha256: 'ab'.repeat(32) })
  const outcome = await runBuildChild(id, {
    environment: harness.environment,
    onProgress: ({ stage }) => {
      // After the last progress that is written before the missing question set is noticed.
      if (stage === 'evaluate') void harness.owner.query('update builds set attempt = attempt + 1 where id = $1', [id])
    },
  })
  expect(outcome).toEqual({ outcome: 'overtaken' })
})

test('why a run failed stands in the row of its build while it waits to be tried again', async () => {
  const id = await harness.requestBuild(knowledgeBaseId, importId)
  const outcome = await runBuildChild(id, { environment: { ...harness.environment, SEARCH_NODES: '127.0.0.1:9' } })
  expect(outcome).toMatchObject({ outcome: 'failed', permanent: false, attempt: 1 })
  expect(await readBuild(harness.owner, id)).toMatchObject({
    state: 'running',
    error: expect.stringContaining('start or repair a search node'),
  })
})

test('what killed runs left beside the place of an artifact goes when the build is given up', async () => {
  const id = await harness.requestBuild(knowledgeBaseId, importId)
  const unfinished = `${harness.store.artifactFolder(projectionIdOf(id))}.0123456789ab.tmp`
  mkdirSync(unfinished, { recursive: true })
  await abandonBuild({ database: harness.service, store: harness.store, log: silent }, id, 'given up')
  expect(existsSync(unfinished)).toBe(false)
})
