import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { NO_ENGINE } from '#core/engine/settings.ts'
import { readBuild } from '#core/db/builds.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { removeFailed } from '#jobs/version-build/process.ts'
import { enqueueBuild } from '#jobs/platform/queues.ts'
import { openWorkerHarness, silent } from '#test/support/jobs.ts'
import { startFakeNode } from '#test/support/search-node.ts'
import { until } from '#test/support/until.ts'

const { harness, builds, knowledgeBaseId, importId, startWorker } = await openWorkerHarness()
const stuck = await startFakeNode(() => undefined)
afterAll(() => stuck.stop())

/** Of builds that wait in their evaluation for a search node, so that none ends before it is killed. */
const waiting = (): NodeJS.ProcessEnv => ({ ...harness.environment, SEARCH_NODES: stuck.address })

async function enqueued(parameters: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const id = await harness.requestBuild(knowledgeBaseId, importId, parameters)
  await enqueueBuild(builds, id)
  return id
}

/** The process of a run of the build, found as an operator would find it. */
function processOf(buildId: string, attempt: number): number | undefined {
  const command = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    } catch {
      return ''
    }
  }
  const found = readdirSync('/proc').find((name) => command(name).includes(`child.ts\0${buildId}\0${attempt}\0`))
  return found === undefined ? undefined : Number(found)
}

async function kill(buildId: string, attempt: number, signal: NodeJS.Signals): Promise<void> {
  let pid: number | undefined
  await until(`attempt ${attempt} of the build runs`, async (seen) => {
    seen(await readBuild(harness.owner, buildId))
    pid = processOf(buildId, attempt)
    return pid !== undefined
  })
  process.kill(pid ?? 0, signal)
}

async function row(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { rows } = await harness.owner.query<Record<string, unknown>>(
    'select state, attempt, error, failed_runs, out_of_memory_runs, next_attempt_at from builds where id = $1',
    [id],
  )
  return rows[0]
}

async function expectRow(id: string, expected: Readonly<Record<string, unknown>>): Promise<void> {
  await until(`the build is ${String(expected['state'])}`, async (seen) => {
    const found = await row(id)
    seen(found)
    return found?.['state'] === expected['state']
  })
  expect(await row(id)).toMatchObject(expected)
}

test('the worker records the death of a process at once, with reason and time of the next attempt', async () => {
  const id = await enqueued()
  await harness.owner.query('update builds set failed_runs = 6 where id = $1', [id])
  await startWorker({ environment: waiting() })
  await kill(id, 1, 'SIGTERM')
  await expectRow(id, {
    state: 'retrying',
    attempt: 1,
    failed_runs: 7,
    out_of_memory_runs: 0,
    error: 'its process ended with SIGTERM',
    next_attempt_at: expect.any(Date),
  })
})

test('a build whose process died goes on by itself and succeeds', async () => {
  const id = await enqueued()
  const environment = waiting()
  await startWorker({ environment })
  await kill(id, 1, 'SIGTERM')
  Object.assign(environment, harness.environment)
  await expectRow(id, { state: 'succeeded', attempt: 2, error: null, next_attempt_at: null })
})

test('a build whose process is killed for memory twice fails with a sentence that says so', async () => {
  const id = await enqueued()
  await startWorker({ environment: waiting() })
  await kill(id, 1, 'SIGKILL')
  await kill(id, 2, 'SIGKILL')
  await expectRow(id, { state: 'failed', attempt: 2, out_of_memory_runs: 2 })
  const { error } = (await row(id)) ?? {}
  expect(error).toMatch(
    /^The build ended 2 times for lack of memory or by SIGKILL, .*SIGKILL.* BUILD_HEAP_MB, .*"operator build retry /,
  )
  await until('its job has failed', async () => (await (await builds.getJob(id))?.getState()) === 'failed')
})

test('a process that reaches its heap limit is recognised, and fails its build after the second time', async () => {
  const id = await enqueued()
  await startWorker({ buildHeapMb: 20 })
  await expectRow(id, {
    state: 'failed',
    attempt: 2,
    out_of_memory_runs: 2,
    error: expect.stringContaining('its process reached its heap limit of 20 MB'),
  })
})

test('a process that dies after another run took its build over changes neither the build nor its files', async () => {
  const id = await enqueued()
  await startWorker({ environment: waiting() })
  const work = harness.store.workFolder(id)
  mkdirSync(work, { recursive: true })
  await until('the build runs', async () => processOf(id, 1) !== undefined)
  await harness.owner.query('update builds set attempt = attempt + 1 where id = $1', [id])
  await kill(id, 1, 'SIGKILL')
  // The job of the earlier run ends; the row of the later one stays.
  await until('the job is over', async () => (await builds.getActiveCount()) === 0)
  expect(await row(id)).toMatchObject({ state: 'running', attempt: 2, failed_runs: 0, error: null })
  expect(existsSync(work)).toBe(true)
})

test('why a run failed stands in the row of its build while it waits to be tried again', async () => {
  const id = await enqueued()
  await harness.owner.query('update builds set failed_runs = 6 where id = $1', [id])
  await startWorker({ environment: { ...harness.environment, SEARCH_NODES: '127.0.0.1:9' } })
  await expectRow(id, { state: 'retrying', error: expect.stringContaining('start or repair a search node') })
})

test('the artifact that killed runs left unfinished goes when the build fails; what resumes stays', async () => {
  const id = await harness.requestBuild(knowledgeBaseId, importId)
  const unfinished = `${harness.store.artifactFolder(versionIdOf(id))}.0123456789ab.tmp`
  mkdirSync(unfinished, { recursive: true })
  mkdirSync(harness.store.workFolder(id), { recursive: true })
  await removeFailed({ store: harness.store, engine: NO_ENGINE, log: silent }, id)
  expect(existsSync(unfinished)).toBe(false)
  expect(existsSync(harness.store.workFolder(id))).toBe(true)
})
