import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { beginAttempt, noteFailedRun, readBuild } from '#core/db/builds.ts'
import { projectionIdOf } from '#jobs/build/ids.ts'
import { abandonBuild } from '#jobs/build/process.ts'
import { runBuildChild } from '#jobs/build/run-child.ts'
import { createJobsWorld, demoCorpus, silent } from '#test/support/jobs/harness.ts'
import type { JobsWorld } from '#test/support/jobs/harness.ts'

let world: JobsWorld
let knowledgeBaseId: string
let importId: string

beforeAll(async () => {
  world = await createJobsWorld()
  knowledgeBaseId = await world.createKnowledgeBase()
  importId = await world.importFolder(knowledgeBaseId, join(demoCorpus, 'rulebook'))
})
afterAll(async () => {
  await world.stop()
})

test('a run that was overtaken ends nothing by failing: the build and its files are the run that holds it', async () => {
  const id = await world.requestBuild(knowledgeBaseId, importId)
  const [overtaken, holding] = [await beginAttempt(world.service, id), await beginAttempt(world.service, id)]
  const work = world.store.workFolder(id)
  mkdirSync(work, { recursive: true })
  const deps = { database: world.service, store: world.store, log: silent }
  await abandonBuild(deps, id, 'the stale run failed', overtaken)
  expect(await readBuild(world.owner, id)).toMatchObject({ state: 'running', attempt: holding, error: null })
  expect(existsSync(work)).toBe(true)
  expect(await noteFailedRun(world.service, { buildId: id, attempt: overtaken ?? 0 }, 'stale')).toBe(false)
  await abandonBuild(deps, id, 'the holding run failed', holding)
  expect(await readBuild(world.owner, id)).toMatchObject({ state: 'failed', error: 'the holding run failed' })
  expect(existsSync(work)).toBe(false)
})

test('a run that fails because another took its build over says so instead of failing', async () => {
  const id = await world.requestBuild(knowledgeBaseId, importId, { questions_sha256: 'ab'.repeat(32) })
  const outcome = await runBuildChild(id, {
    environment: world.environment,
    onProgress: ({ stage }) => {
      // After the last progress that is written before the missing question set is noticed.
      if (stage === 'evaluate') void world.owner.query('update builds set attempt = attempt + 1 where id = $1', [id])
    },
  })
  expect(outcome).toEqual({ outcome: 'overtaken' })
})

test('why a run failed stands in the row of its build while it waits to be tried again', async () => {
  const id = await world.requestBuild(knowledgeBaseId, importId)
  const outcome = await runBuildChild(id, { environment: { ...world.environment, SEARCH_NODES: '127.0.0.1:9' } })
  expect(outcome).toMatchObject({ outcome: 'failed', permanent: false, attempt: 1 })
  expect(await readBuild(world.owner, id)).toMatchObject({
    state: 'running',
    error: expect.stringContaining('start or repair a search node'),
  })
})

test('what killed runs left beside the place of an artifact goes when the build is given up', async () => {
  const id = await world.requestBuild(knowledgeBaseId, importId)
  const unfinished = `${world.store.artifactFolder(projectionIdOf(id))}.0123456789ab.tmp`
  mkdirSync(unfinished, { recursive: true })
  await abandonBuild({ database: world.service, store: world.store, log: silent }, id, 'given up')
  expect(existsSync(unfinished)).toBe(false)
})
