import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { insertBuild } from '#core/db/builds.ts'
import { insertCapture, lastCaptures } from '#core/db/sources.ts'
import { captureScheduled, keepCaptureSchedules, tellOfBuild } from '#jobs/capture/schedule.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { internalPage } from '#core/platform/internal-server.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { addSource, removeSourceNamed, sourceNamed } from '#operator/actions/sources.ts'
import { createJobsMetrics } from '#jobs/worker/metrics.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { openQueue, openQueueRedis } from '#jobs/platform/queues.ts'
import { silent } from '#test/support/jobs.ts'
import { bodyOf, send, startJsonServer } from '#test/support/json-server.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { COMPILE_CACHE } from '#test/support/processes.ts'
import { openTestRedis } from '#test/support/redis.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { createHistoryBase, insertVersion } from '#test/support/version-rows.ts'
import { folderOfFile } from '#test/support/folder.ts'

const PAGE =
  '<!doctype html><html lang="en"><head><title>Bees</title></head><body><h1>Bees</h1><p>Keep bees.</p></body></html>'
const { database, jobs, operator: pool, owner } = await openTestPools()
const operator = { database: pool, actor: 'tester' }
const redis = await openTestRedis()
const connection = openQueueRedis(redis.url, silent)
const queues = {
  capture: openQueue('capture', connection.redis, silent),
  build: openQueue('build', connection.redis, silent),
}
const told: unknown[] = []
const server = await startJsonServer((request, response) => {
  if (request.method === 'GET') response.writeHead(200).end(PAGE)
  else
    void bodyOf(request).then((body) => {
      told.push(body)
      send(response, 200, {})
    })
})
const notified = { webhook: `${server.baseUrl}/hook` }
const deps = { database: jobs, buildQueue: queues.build, notified, log: silent, buildHeapMb: 256 }
const folder = folderOfFile()

const { id: knowledgeBaseId } = await createKnowledgeBase(operator, { slug: 'bees', title: 'Bees' })
await addSource(operator, {
  name: 'bees',
  knowledgeBase: 'bees',
  from: `${server.baseUrl}/bees.html`,
  allowPrivate: true,
  everyMinutes: 60,
})
afterAll(async () => {
  for (const queue of Object.values(queues)) await queue.close()
  connection.close()
  await redis.release()
  await server.stop()
})

async function schedules(): Promise<readonly unknown[]> {
  await keepCaptureSchedules(queues.capture, jobs)
  return (await queues.capture.getJobSchedulers()).map(({ key, every }) => [key, Number(every)])
}

test('a source is captured on its schedule in a bounded process, the webhook is told, a removed one is captured no more', async () => {
  const source = await sourceNamed(pool, 'bees', null)
  expect(await schedules()).toEqual([[source.id, 3_600_000]])
  expect(await schedules()).toEqual([[source.id, 3_600_000]])
  // A worker under a wrong clock put it off until the day after tomorrow.
  await queues.capture.removeJobScheduler(source.id)
  const startDate = Date.now() + 2 * 86_400_000
  await queues.capture.upsertJobScheduler(source.id, { every: 3_600_000, startDate }, { name: 'capture' })
  expect(await schedules()).toEqual([[source.id, 3_600_000]])
  const [{ next = 0 } = {}] = await queues.capture.getJobSchedulers()
  expect(next).toBeLessThan(startDate - 86_400_000)
  const { MANIFEST_PUBLIC_KEY, MANIFEST_PRIVATE_KEY } = testSecrets()
  const environment = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    DATABASE_URL: database.jobsUrl,
    REDIS_URL: redis.url,
    ARTIFACT_STORE: pathToFileURL(folder).href,
    SEARCH_NODES: '127.0.0.1:1',
    MANIFEST_PUBLIC_KEY,
    MANIFEST_PRIVATE_KEY,
    LOG_LEVEL: 'silent',
  }
  const run = (buildHeapMb = deps.buildHeapMb): Promise<string> =>
    captureScheduled({ ...deps, environment, buildHeapMb }, source.id, new AbortController().signal)
  expect(await run(20)).toBe('failed')
  const message = expect.stringMatching(/^the capture was not completed, .* heap limit of 20 MB: .* BUILD_HEAP_MB/)
  expect(told.splice(0)).toMatchObject([{ event: 'capture', source: 'bees', outcome: 'failed', message }])
  expect(await lastCaptures(pool, source.id, 2)).toMatchObject([{ outcome: 'failed', message }])
  expect(await run()).toBe('changed')
  // Nothing states the authority, so that no candidate follows.
  expect(told).toMatchObject([
    { event: 'capture', source: 'bees', outcome: 'changed', message: expect.stringContaining('missing') },
  ])
  // The process of a capture opens nothing by the name that an operator gives, where no variable of its own says so.
  const [own, other] = [join(folder, 'own'), join(folder, 'other')]
  for (const [name, path] of [
    ['own', own],
    ['other', other],
  ] as const) {
    await mkdir(path)
    await writeFile(join(path, `${name}.html`), PAGE.replaceAll('bees', name))
    await addSource(operator, { name, knowledgeBase: 'bees', from: path, everyMinutes: 60 })
  }
  const outcomeOf = async (name: string, SOURCE_ROOTS: string): Promise<unknown> => {
    const { id } = await sourceNamed(pool, name, null)
    await captureScheduled({ ...deps, environment: { ...environment, SOURCE_ROOTS } }, id, new AbortController().signal)
    const [last] = await lastCaptures(pool, id, 1)
    return last?.message ?? last?.outcome
  }
  expect(await outcomeOf('own', '')).toMatch(/is outside the folders .* SOURCE_ROOTS names \(none\)/)
  expect(await outcomeOf('own', own)).toBe('changed')
  expect(await outcomeOf('other', own)).toMatch(/is outside the folders .*\/own\)/)
  expect(await outcomeOf('other', `${own}:${other}/`)).toBe('changed')
  for (const name of ['bees', 'own', 'other']) await removeSourceNamed(operator, await sourceNamed(pool, name, null))
  expect(await schedules()).toEqual([])
  expect(await run()).toBe('removed')
})

test('the candidate of a scheduled capture is told of, and so is its failed build; those of an operator are not', async () => {
  const importId = randomUUID()
  const snapshot = randomUUID()
  await pool.query(
    "insert into imports (id, knowledge_base_id, mapping, snapshot_ids, report) values ($1, $2, '{}', $3, '{}')",
    [importId, knowledgeBaseId, [snapshot]],
  )
  const build = async (startedBy: string): Promise<string> => {
    const id = randomUUID()
    await insertBuild(pool, { id, knowledgeBaseId, importId, parameters: {}, startedBy })
    return id
  }
  const [scheduled, other] = [await build('scheduled capture'), await build('tester')]
  told.length = 0
  const ended = async (id: string, state: string, error: string | null): Promise<void> => {
    await owner.query('update builds set state = $2, error = $3 where id = $1', [id, state, error])
    await tellOfBuild(deps, id)
  }
  await ended(other, 'succeeded', null)
  await ended(scheduled, 'succeeded', null)
  const candidate = {
    event: 'candidate',
    knowledge_base: 'bees',
    build_id: scheduled,
    version_id: versionIdOf(scheduled),
  }
  expect(told.splice(0)).toEqual([candidate])
  await ended(scheduled, 'failed', 'a withdrawal is undecided')
  const { version_id: _, ...named } = candidate
  expect(told).toEqual([{ ...named, event: 'build failed', message: 'a withdrawal is undecided' }])
})

test('the metrics of a worker count candidates that wait for a review, and sources by their last capture', async () => {
  const from = `${server.baseUrl}/wasps.html`
  await addSource(operator, { name: 'wasps', knowledgeBase: 'bees', from, allowPrivate: true })
  const agesMs: number[] = []
  const wasps = await sourceNamed(pool, 'wasps', null)
  const clock = { fault: () => undefined, register: () => undefined }
  const metrics = createJobsMetrics({
    database: jobs,
    clock,
    certificate: undefined,
    drifts: new Map(),
    queues: [],
    redis: connection.redis,
    store: folder,
    tasks: () => ({ sweep: agesMs.shift() ?? 0 }),
  })
  const counted = async (): Promise<readonly string[]> =>
    (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => /^evidence_(?:sources|candidates_waiting)\{.* [1-9]/.test(line))
  expect(await counted()).toEqual(['evidence_sources{knowledge_base="bees",outcome="none"} 1'])
  await insertCapture(jobs, { source_id: wasps.id, outcome: 'failed', message: 'gone', files: null })
  const base = await createHistoryBase(owner)
  const { version } = await insertVersion(owner, { slug: base.slug, state: 'candidate', passages: 1 })
  expect(await counted()).toEqual([
    `evidence_candidates_waiting{knowledge_base="${base.slug}"} 1`,
    'evidence_sources{knowledge_base="bees",outcome="failed"} 1',
  ])
  await base.review(version, 'approved')
  expect(await counted()).toHaveLength(1)
  agesMs.push(JOB_BOUNDS.sweepAgeMaxMs, JOB_BOUNDS.sweepEveryMs)
  expect(metrics.ready()).toMatchObject({ faults: ['sweep: no success lately'] })
  expect((await internalPage(metrics, '/readyz'))?.status).toBe(200)
})
