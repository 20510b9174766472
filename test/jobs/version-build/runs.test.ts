import { describe, expect, test } from 'vitest'
import { releaseRun } from '#core/db/build-runs.ts'
import { cancelBuild, readBuild, type BuildFence } from '#core/db/builds.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { afterRun, claimRun, endLostRuns, retryWaitMs, settleRun, type Ending } from '#jobs/version-build/process.ts'
import { smallSource, openJobsHarness } from '#test/support/jobs.ts'
import { explainExit, defaultBuildHeapMb } from '#jobs/version-build/unexpected-exit.ts'

const TRANSIENT: Ending = { kind: 'transient', reason: 'no search node answers' }
const OUT_OF_MEMORY: Ending = { kind: 'out of memory', reason: 'its process reached its heap limit' }
const harness = await openJobsHarness()

const knowledgeBaseId = await harness.createKnowledgeBase()
const importId = await harness.importFolder(knowledgeBaseId, smallSource)

async function begun(id: string): Promise<BuildFence> {
  const claimed = await claimRun(harness.service, id)
  if (claimed.claim !== 'begun') throw new Error(`the build is ${claimed.claim}`)
  return claimed.fence
}

const silence = (id: string, ms: number): Promise<unknown> =>
  harness.owner.query('update builds set updated_at = now() - make_interval(secs => $2 / 1000.0) where id = $1', [
    id,
    ms,
  ])

test('a run of a build that is cancelled ends without a candidate, and no other one begins', async () => {
  const id = await harness.requestBuild(knowledgeBaseId, importId)
  let cancelled: Promise<boolean> | undefined
  const outcome = await harness.runBuild(id, {
    onProgress: ({ stage }) => void (stage === 'artifact' && (cancelled ??= cancelBuild(harness.owner, id, 'enough'))),
  })
  expect(await cancelled).toBe(true)
  expect(outcome).toEqual({ outcome: 'overtaken' })
  expect(await readBuild(harness.owner, id)).toMatchObject({ state: 'failed', error: 'enough' })
  expect(await claimRun(harness.service, id)).toEqual({ claim: 'ended' })
})

describe('the row of a build', () => {
  test('says why a run ended and when the next one begins, and no run begins before', async () => {
    const id = await harness.requestBuild(knowledgeBaseId, importId)
    expect(await settleRun(harness.service, await begun(id), TRANSIENT)).toMatchObject({ state: 'retrying' })
    const { rows } = await harness.owner.query('select state, error, next_attempt_at from builds where id = $1', [id])
    expect(rows).toEqual([{ state: 'retrying', error: TRANSIENT.reason, next_attempt_at: expect.any(Date) }])
    await harness.owner.query("update builds set next_attempt_at = now() + interval '50 s' where id = $1", [id])
    const early = await claimRun(harness.service, id)
    expect(early).toEqual({ claim: 'not due', waitMs: expect.any(Number) })
    expect('waitMs' in early && early.waitMs > 0 && early.waitMs <= 50_000).toBe(true)
    await harness.owner.query('update builds set next_attempt_at = now() where id = $1', [id])
    expect(await begun(id)).toEqual({ buildId: id, attempt: 2 })
    // What the run before ended with stays readable while the next one runs.
    expect(await readBuild(harness.owner, id)).toMatchObject({ state: 'running', error: TRANSIENT.reason })
  })

  test('is left alone by a run that died after another took the build over', async () => {
    const id = await harness.requestBuild(knowledgeBaseId, importId)
    const stale = await begun(id)
    await releaseRun(harness.service, stale)
    const holding = await begun(id)
    for (const ending of [TRANSIENT, OUT_OF_MEMORY, { kind: 'permanent', reason: 'stale' } as const])
      expect(await settleRun(harness.service, stale, ending)).toBeUndefined()
    await releaseRun(harness.service, stale)
    expect(await readBuild(harness.owner, id)).toMatchObject({
      state: 'running',
      attempt: holding.attempt,
      error: null,
    })
  })

  test('begins no second run while one sends heartbeats, however often its job comes', async () => {
    const id = await harness.requestBuild(knowledgeBaseId, importId)
    await begun(id)
    await silence(id, BUILD_BOUNDS.buildLostAfterMs / 2)
    expect(await claimRun(harness.service, id)).toMatchObject({ claim: 'not due' })
    expect(await endLostRuns(harness.service)).toEqual([])
    expect(await readBuild(harness.owner, id)).toMatchObject({ state: 'running', attempt: 1 })
  })

  test('counts a run as ended once its worker and process have been silent', async () => {
    const id = await harness.requestBuild(knowledgeBaseId, importId)
    await begun(id)
    await silence(id, BUILD_BOUNDS.buildLostAfterMs + 1_000)
    expect(await endLostRuns(harness.service)).toEqual([])
    expect(await readBuild(harness.owner, id)).toMatchObject({
      state: 'retrying',
      error: 'its job worker sent no heartbeat for 20 s',
    })
  })

  test('fails after three lost runs and names lack of memory, also between other failures', async () => {
    const id = await harness.requestBuild(knowledgeBaseId, importId)
    const lose = async (): Promise<BuildFence> => {
      const fence = await begun(id)
      await silence(id, BUILD_BOUNDS.buildLostAfterMs + 1_000)
      expect(await endLostRuns(harness.service)).toEqual(lost === 3 ? [fence] : [])
      await harness.owner.query("update builds set next_attempt_at = now() where id = $1 and state = 'retrying'", [id])
      return fence
    }
    let lost = 1
    await lose()
    await settleRun(harness.service, await begun(id), TRANSIENT)
    await harness.owner.query('update builds set next_attempt_at = now() where id = $1', [id])
    for (lost = 2; lost <= 3; lost++) await lose()
    expect(await readBuild(harness.owner, id)).toMatchObject({
      state: 'failed',
      error: expect.stringMatching(
        /^The build lost its job worker 3 times, .* 20 s\. The likely cause is lack of memory.*"operator build retry /,
      ),
    })
    expect(await claimRun(harness.service, id)).toEqual({ claim: 'ended' })
  })
})

describe('what follows a run', () => {
  test('the waits double up to a minute, and last eight minutes together', () => {
    const waits = Array.from(
      { length: BUILD_BOUNDS.buildFailedRunsMax - 1 },
      (_, failed) => retryWaitMs(failed) / 1_000,
    )
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60])
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBe(483)
  })

  test('a fault of the input fails the build at once, in its own words', () => {
    expect(
      afterRun('b', { failed_runs: 0, out_of_memory_runs: 0, lost_runs: 0 }, { kind: 'permanent', reason: 'No.' }),
    ).toEqual({ state: 'failed', outOfMemory: false, lost: false, error: 'No.' })
  })

  test('the second lack of memory fails the build and names memory and what to do, also between other failures', () => {
    const first = afterRun('b', { failed_runs: 3, out_of_memory_runs: 0, lost_runs: 2 }, OUT_OF_MEMORY)
    expect(first).toMatchObject({ state: 'retrying', outOfMemory: true, waitMs: 8_000 })
    const second = afterRun('b', { failed_runs: 6, out_of_memory_runs: 1, lost_runs: 2 }, OUT_OF_MEMORY)
    expect(second).toEqual({
      state: 'failed',
      outOfMemory: true,
      lost: false,
      error:
        'The build ended 2 times for lack of memory or by SIGKILL, the last time because its process reached its ' +
        'heap limit. Give the job worker more memory and a larger BUILD_HEAP_MB, or split the corpus, then run ' +
        '"operator build retry b".',
    })
  })
})

const GIB = 1_073_741_824
const ended = { code: null, signal: null, standardError: '', heapMb: 512, kernelKills: undefined } as const
const V8 = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n 1: 0x931db0'

const REACHED = 'its process reached its heap limit of 512 MB'
const COUNTED = 'the kernel ended its process for lack of memory'
const KILLED = 'its process was ended with SIGKILL, as the kernel does for lack of memory'
const OUTSIDE = 'its process was killed from outside (SIGKILL), most often for lack of memory'

test.each<[what: string, Partial<Parameters<typeof explainExit>[0]>, outOfMemory: boolean, reason: string]>([
  ['V8 says so as it aborts', { signal: 'SIGABRT', standardError: V8 }, true, REACHED],
  ['V8 says so and a shell is between', { code: 134, standardError: V8 }, true, REACHED],
  ['another reason', { signal: 'SIGABRT', standardError: 'assertion failed' }, false, 'its process ended with SIGABRT'],
  ['the words only logged', { code: 1, standardError: V8 }, false, 'its process ended with exit code 1'],
  ['a kill that the kernel counted', { signal: 'SIGKILL', kernelKills: 1 }, true, COUNTED],
  ['a kill', { signal: 'SIGKILL' }, true, KILLED],
  ['a kill that the kernel did not count', { signal: 'SIGKILL', kernelKills: 0 }, true, OUTSIDE],
])('a process that died by %s is explained', (_, exit, outOfMemory, reason) => {
  expect(explainExit({ ...ended, ...exit })).toEqual({ outOfMemory, reason })
})

test('builds side by side share half the memory of machine or container, within bounds', () => {
  expect(defaultBuildHeapMb(1, 8 * GIB, 0)).toBe(4_096)
  expect(defaultBuildHeapMb(4, 8 * GIB, 0)).toBe(1_024)
  expect(defaultBuildHeapMb(1, 64 * GIB, 2 * GIB)).toBe(1_024)
  // Without a limit, cgroup 1 states a number beyond any machine.
  expect(defaultBuildHeapMb(1, 8 * GIB, 2 ** 64)).toBe(4_096)
  expect(defaultBuildHeapMb(16, GIB, 0)).toBe(512)
  expect(defaultBuildHeapMb(1, 1_024 * GIB, 0)).toBe(16_384)
})
