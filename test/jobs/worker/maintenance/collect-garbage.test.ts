import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { NO_ENGINE } from '#core/engine/settings.ts'
import { openVectorCache } from '#core/db/vector-cache/cache.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { collectGarbage } from '#jobs/worker/maintenance/collect-garbage.ts'
import { openReadFiles } from '#law/import/staging/read-files.ts'
import { keepBlocks } from '#law/sources/capture.ts'
import { demoCorpus, silent, openJobsHarness } from '#test/support/jobs.ts'
import { ENTRY_DIMENSIONS, ENTRY_SPACE, vectorEntries } from '#test/core/db/vector-cache/entries.ts'

const harness = await openJobsHarness()

const knowledgeBaseId = await harness.createKnowledgeBase()
const importId = await harness.importFolder(knowledgeBaseId, join(demoCorpus, 'rulebook'))
beforeEach(async () => {
  await collect()
})

const collect = (vectorCacheBytesMax = 2 ** 30): Promise<number> =>
  collectGarbage({
    database: harness.service,
    store: harness.store,
    vectorCacheBytesMax,
    engine: NO_ENGINE,
    log: silent,
  })

/** What a build that was killed while it wrote its artifact leaves on disk. */
type Leftovers = ReturnType<typeof leaveBehind>

function leaveBehind(buildId: string) {
  const artifact = harness.store.artifactFolder(versionIdOf(buildId))
  const left = { work: harness.store.workFolder(buildId), unfinished: `${artifact}.0123456789ab.tmp`, artifact }
  for (const folder of Object.values(left)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'vectors.f32'), 'half')
  }
  return left
}

async function buildIn(state: string, endedAgoMs: number): Promise<Leftovers> {
  const id = await harness.requestBuild(knowledgeBaseId, importId)
  await harness.owner.query(
    `update builds set state = $2, updated_at = now() - make_interval(secs => $3 / 1000.0),
       next_attempt_at = case when $2 = 'retrying' then now() end where id = $1`,
    [id, state, endedAgoMs],
  )
  return leaveBehind(id)
}

const present = ({ work, unfinished, artifact }: Leftovers): Record<keyof Leftovers, boolean> => ({
  work: existsSync(work),
  unfinished: existsSync(unfinished),
  artifact: existsSync(artifact),
})
const LONG_AGO_MS = 3_600_000
const old = new Date(Date.now() - JOB_BOUNDS.garbageFilesOlderThanMs - 60_000)

test.each(['queued', 'running', 'retrying'])(
  'nothing of a build that is %s is touched, however long it has been silent',
  async (state) => {
    const left = await buildIn(state, LONG_AGO_MS)
    expect(await collect()).toBe(0)
    expect(present(left)).toEqual({ work: true, unfinished: true, artifact: true })
  },
)

test('of a build that failed everything goes once it can no longer be asked for again', async () => {
  const retryable = await buildIn('failed', BUILD_BOUNDS.failedBuildRetryableMs)
  expect(await collect()).toBe(0)
  expect(present(retryable)).toEqual({ work: true, unfinished: true, artifact: true })
  const left = await buildIn('failed', JOB_BOUNDS.garbageFailedBuildsOlderThanMs + 1_000)
  expect(await collect()).toBe(2)
  expect(present(left)).toEqual({ work: false, unfinished: false, artifact: false })
})

test('of a build that succeeded the artifact stays, what its killed runs left goes', async () => {
  const left = await buildIn('succeeded', LONG_AGO_MS)
  await collect()
  expect(present(left)).toEqual({ work: false, unfinished: false, artifact: true })
})

test('a build that ended a moment ago may still have a run that does not know it, so it waits', async () => {
  const left = await buildIn('succeeded', JOB_BOUNDS.garbageBuildsOlderThanMs / 2)
  expect(await collect()).toBe(0)
  expect(present(left)).toEqual({ work: true, unfinished: true, artifact: true })
})

test('what no build of this database explains stays: another installation may share the store', async () => {
  const left = leaveBehind(randomUUID())
  expect(await collect()).toBe(0)
  expect(present(left)).toEqual({ work: true, unfinished: true, artifact: true })
})

test('a temporary file of a capture goes once nobody wrote to it for a day; snapshots stay', async () => {
  const snapshot = harness.store.snapshotFile('ab'.repeat(32))
  const [abandoned, written] = [`${snapshot}.${randomUUID()}.tmp`, `${snapshot}.${randomUUID()}.tmp`]
  mkdirSync(dirname(snapshot), { recursive: true })
  for (const path of [snapshot, abandoned, written]) writeFileSync(path, 'bytes')
  for (const path of [snapshot, abandoned]) utimesSync(path, old, old)
  expect(await collect()).toBe(1)
  expect([snapshot, abandoned, written].map((path) => existsSync(path))).toEqual([true, false, true])
})

test('what a killed capture had received goes once nobody wrote to it for a day', async () => {
  const incoming = dirname(harness.store.incomingFile('any'))
  const killed = keepBlocks(
    harness.store,
    async (keep) => {
      await keep(Buffer.from('half'))
      for (const name of readdirSync(incoming)) utimesSync(join(incoming, name), old, old)
      throw new Error(`collected ${await collect()}`)
    },
    {},
  )
  await expect(killed).rejects.toThrow('collected 1')
})

test('what an interrupted import has read goes once nobody wrote to it for a day, unless it is open', async () => {
  const [open = '', left = ''] = ['open', 'left'].map((name) => harness.store.incomingFile(`read-${name}.sqlite`))
  const held = [open, left].map((path) => openReadFiles(path, 'law'))
  held[1]?.close(true)
  expect(await collect()).toBe(0)
  for (const path of [open, left]) utimesSync(path, old, old)
  expect(await collect()).toBe(1)
  expect([open, left].map((path) => existsSync(path))).toEqual([true, false])
  held[0]?.close(false)
})

test('what a killed capture sorted for a build goes once nobody wrote to it for a day', async () => {
  const [abandoned, written] = [randomUUID(), randomUUID()].map((id) => `${harness.store.workFolder(id)}.tmp`)
  for (const path of [abandoned, written]) {
    mkdirSync(path ?? '', { recursive: true })
    writeFileSync(join(path ?? '', 'passages.jsonl'), 'bytes')
  }
  utimesSync(abandoned ?? '', old, old)
  expect(await collect()).toBe(1)
  expect([abandoned, written].map((path) => existsSync(path ?? ''))).toEqual([false, true])
})

test('the vector cache is brought down to its bound, and leaves where it is off', async () => {
  const path = harness.store.vectorCacheFile
  const cache = openVectorCache(path, {
    space: ENTRY_SPACE,
    dimensions: ENTRY_DIMENSIONS,
    bytesMax: Number.POSITIVE_INFINITY,
    onFault: (error) => {
      throw error
    },
  })
  cache.write(vectorEntries(0, 8_000))
  cache.close()
  const bytesMax = 4 * 1024 ** 2
  expect(statSync(path).size).toBeGreaterThan(bytesMax)
  await collect(bytesMax)
  expect(statSync(path).size).toBeLessThanOrEqual(bytesMax)
  await collect(0)
  expect(existsSync(path)).toBe(false)
})
