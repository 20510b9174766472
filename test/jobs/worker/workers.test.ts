import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { readActivation } from '#core/db/activations.ts'
import { readBuild } from '#core/db/builds.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import { lastCaptures } from '#core/db/sources.ts'
import type { Log } from '#core/platform/log.ts'
import { openLedgerQueue } from '#core/queues/ledger-queue.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import { addSource } from '#operator/actions/sources.ts'
import { failureOf } from '#operator/command-line/failure.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { enqueueBuild, openQueue, openQueueRedis } from '#jobs/platform/queues.ts'
import type { Jobs } from '#jobs/worker/workers.ts'
import { requestActivation } from '#test/support/activations.ts'
import { folderOfTest } from '#test/support/folder.ts'
import { startJsonServer } from '#test/support/json-server.ts'
import { PLAINTEXT, startFakeNode, openSearchNodeClients } from '#test/support/search-node.ts'
import { insertReservations, ledgerIds } from '#test/support/limits.ts'
import { openWorkerHarness, saying, silent, smallSource } from '#test/support/jobs.ts'
import { approve } from '#test/support/reviews.ts'
import { EVERYTHING, requestOf } from '#test/support/search.ts'
import { startOwnRedis } from '#test/support/redis.ts'
import { CALL_TIMEOUT_MS, expectEventually, until } from '#test/support/until.ts'

const { harness, redis, queueRedis, builds, knowledgeBaseId, importId, startWorker } = await openWorkerHarness()
const operator = { database: harness.owner, actor: 'tester' }
const captures = openQueue('capture', queueRedis, silent)
afterAll(() => captures.close())

function start(searchNode = harness.searchNode): Promise<Jobs> {
  return startWorker({ nodes: openSearchNodeClients([searchNode], PLAINTEXT) })
}

const stateOf = async (id: string): Promise<string | undefined> => (await readBuild(harness.owner, id))?.state
const stageOf = async (id: string): Promise<string | null | undefined> => (await readBuild(harness.owner, id))?.stage

/** Waits for the state of a build, whose stages and steps are its progress. */
async function expectState(buildId: string, state: 'succeeded' | 'failed'): Promise<void> {
  await until(`the build has ${state}`, async (seen) => {
    const build = await readBuild(harness.owner, buildId)
    seen(build)
    return build?.state === state
  })
}

describe('the job worker', () => {
  test('stopped in the middle of a build puts the job back, and another worker goes on with it', async () => {
    const buildId = await harness.requestBuild(knowledgeBaseId, importId)
    await enqueueBuild(builds, buildId)
    // It waits in its evaluation for a search node, so that it does not end before the worker.
    const stuck = await startFakeNode(() => undefined)
    const jobs = await startWorker({ environment: { ...harness.environment, SEARCH_NODES: stuck.address } })
    await until('the build runs', async () => (await stageOf(buildId)) !== null)
    await jobs.close()
    stuck.stop()
    expect(await stateOf(buildId)).toBe('queued')
    expect(await (await builds.getJob(buildId))?.getState()).toBe('waiting')
    await start()
    await expectState(buildId, 'succeeded')
    expect((await readBuild(harness.owner, buildId))?.attempt).toBe(2)
  })

  test('stopped in the middle of a capture puts the job back, and records no failure', async () => {
    const asked = Promise.withResolvers<void>()
    const silentServer = await startJsonServer(() => asked.resolve())
    const { rows } = await harness.owner.query<{ slug: string }>('select slug from knowledge_bases')
    const from = `${silentServer.baseUrl}/law.html`
    const source = { name: 'law', knowledgeBase: rows[0]?.slug ?? '', from, allowPrivate: true }
    const { id } = await addSource(operator, source)
    await captures.add('capture', { id }, { jobId: id })
    const jobs = await start()
    await asked.promise
    await jobs.close()
    expect(await (await captures.getJob(id))?.getState()).toBe('waiting')
    expect(await lastCaptures(harness.owner, id, 1)).toEqual([])
    await captures.obliterate({ force: true })
    await silentServer.stop()
  })

  test('stopped while a search node loads a version ends at once, and another worker activates it', async () => {
    const { rows } = await harness.owner.query<{ id: string }>('select id from corpus_versions where passed')
    const versionId = rows[0]?.id ?? ''
    await approve(harness.owner, versionId, { store: harness.store })
    const id = await requestActivation(harness.owner, { knowledgeBaseId, versionId, expectedVersionId: null })
    const asked = Promise.withResolvers<void>()
    const stuck = await startFakeNode(() => asked.resolve())
    const jobs = await start(stuck.address)
    await asked.promise
    await jobs.close()
    stuck.stop()
    expect(await readActivation(harness.owner, id)).toMatchObject({ state: 'queued' })
    await start()
    await until('the version is active', async () => (await readActivation(harness.owner, id))?.state === 'done')
  })

  test('builds once what was asked for twice', async () => {
    const buildId = await harness.requestBuild(knowledgeBaseId, importId)
    await Promise.all([enqueueBuild(builds, buildId), enqueueBuild(builds, buildId)])
    await start()
    await expectState(buildId, 'succeeded')
    await enqueueBuild(builds, buildId)
    await until('nothing waits', async () => (await builds.getWaitingCount()) + (await builds.getActiveCount()) === 0)
    expect((await readBuild(harness.owner, buildId))?.attempt).toBe(1)
    const { rows } = await harness.owner.query(
      'select count(*)::int as versions from corpus_versions where build_id = $1',
      [buildId],
    )
    expect(rows).toEqual([{ versions: 1 }])
  })

  test('finds a build whose job was lost with all of Redis', async () => {
    const buildId = await harness.requestBuild(knowledgeBaseId, importId)
    await redis.flush()
    await start()
    await expectState(buildId, 'succeeded')
  })

  test('ends a build that cannot succeed and says what to do next', async () => {
    const buildId = await harness.requestBuild(knowledgeBaseId, importId, { questions_sha256: 'ab'.repeat(32) })
    await enqueueBuild(builds, buildId)
    await start()
    await expectState(buildId, 'failed')
    expect((await readBuild(harness.owner, buildId))?.error).toContain('build with --questions')
  })

  test('whose Redis answers with errors pauses longer each time, and goes on by itself once it can', async () => {
    const own = await startOwnRedis()
    const connection = openQueueRedis(own.url, silent)
    await connection.usable()
    const failures: number[] = []
    const on = (event: string, cause?: unknown): void => {
      if (event === 'worker' && String(cause).includes('OOM')) failures.push(performance.now())
    }
    const log: Log = { ...silent, warn: (event, { queue } = {}, cause) => queue === 'build' && on(event, cause) }
    const jobs = await startWorker({ redis: connection.redis, log })
    const queue = openQueue('build', connection.redis, silent)
    const buildId = await harness.requestBuild(knowledgeBaseId, importId)
    await enqueueBuild(queue, buildId)
    await expectState(buildId, 'succeeded')
    await connection.redis.config('SET', 'maxmemory', '1')
    await until('it failed five times', () => failures.length >= 5)
    const [first = 0, , , , fifth = 0] = failures
    expect(fifth - first).toBeGreaterThan(15 * JOB_BOUNDS.failurePauseFirstMs)
    await connection.redis.config('SET', 'maxmemory', '0')
    const next = await harness.requestBuild(knowledgeBaseId, importId)
    await expectState(next, 'succeeded')
    await jobs.close()
    await queue.close()
    connection.close()
    await own.stop()
  })

  test('appends an entry for every reservation that a gateway says is settled', async () => {
    const ids = await insertReservations(harness.owner, 500)
    const queue = openLedgerQueue(redis.url, silent)
    const jobs = openQueue('ledger', queueRedis, silent)
    await until('the ledger queue is connected', async () => {
      queue.settled(ids[0] ?? '')
      return (await jobs.getWaitingCount()) > 0
    })
    for (const id of ids) queue.settled(id)
    await start()
    await until('all entries are there', async (seen) => {
      const { length } = await ledgerIds(harness.owner)
      seen(length)
      return length === ids.length
    })
    await queue.close()
    await jobs.close()
    expect(await ledgerIds(harness.owner)).toEqual(ids.toSorted())
  })
})

/** A full and a read-only disk as the store; where nothing may be mounted, links to a folder that takes no file. */
function faultsOf(root: string) {
  const sh = (script: string) => (): unknown => execFileSync('sh', ['-ec', script], { cwd: root, stdio: 'pipe' })
  const each = (script: string) => sh(`for each in work snapshots/incoming; do ${script}; done`)
  const copy = folderOfTest()
  try {
    sh(`cp -a . ${copy}; mount -t tmpfs -o size=16m tmpfs "$PWD"; cp -a ${copy}/. "$PWD"`)()
  } catch {
    const [link, unlink] = [each('mv $each $each-away; ln -s /sys $each'), each('rm $each; mv $each-away $each')]
    return [[/ is read-only \(|^This account may not use|read-only file/, link, unlink]] as const
  }
  onTestFinished(() => void sh('umount --lazy "$PWD"')())
  return [
    [
      / is full \(ENOSPC\)|^There is no space left for a file of /,
      sh('head -c 16M /dev/zero > full || :'),
      sh('rm full'),
    ],
    [/ is read-only \(EROFS\)| is on a read-only file/, sh('mount -o remount,ro .'), sh('mount -o remount,rw .')],
  ] as const
}

test('a store that takes nothing fails jobs and imports with a sentence, keeps no half, is served from; once mended they succeed', async () => {
  const { owner, store, searchNode } = harness
  const corpus = { knowledgeBase: `kb-${knowledgeBaseId.slice(0, 8)}`, source: smallSource, store }
  const sources = folderOfTest()
  const { id } = await addSource(operator, { ...corpus, name: 'own', from: sources })
  const expectCapture = async (expected: object): Promise<void> => {
    await captures.add('capture', { id })
    await expectEventually(async () => (await lastCaptures(owner, id, 1))[0], expect.objectContaining(expected))
  }
  // No link is followed; see faultsOf.
  const files = (): readonly string[] =>
    execFileSync('find', ['.', '-type', 'f', '-not', '-path', './work*', '-not', '-path', './full'], {
      cwd: store.root,
    })
      .toString()
      .replaceAll('-away', '')
      .split('\n')
      .toSorted()
  let buildId = await harness.candidate(knowledgeBaseId, importId)
  mkdirSync(store.incomingFile('.'), { recursive: true })
  for (const [words, begin, end] of faultsOf(store.root)) {
    const versionId = versionIdOf(buildId)
    await approve(owner, versionId, { store })
    const { version_id: expectedVersionId = null } = (await activePointer(owner, knowledgeBaseId)) ?? {}
    // A large file has another name until it is whole.
    writeFileSync(join(sources, 'law.md'), `${readFileSync(smallSource, 'utf8')}\n\n`.padEnd(300_000, `${versionId} `))
    const before = files()
    begin()
    const nodes = openSearchNodeClients([searchNode], PLAINTEXT)
    const worker = await startWorker({ nodes, environment: { ...harness.environment, SOURCE_ROOTS: sources } })
    await expectCapture({ outcome: 'failed', message: saying(words) })
    expect(failureOf(await importCorpus(operator, corpus).catch((error: unknown) => error)).sentence).toMatch(words)
    const asked = await requestActivation(owner, { knowledgeBaseId, versionId, expectedVersionId })
    await expectEventually(async () => (await readActivation(owner, asked))?.state, 'done')
    const query = requestOf({ versionId, text: 'harbour', filters: { ...EVERYTHING, jurisdictions: ['HS-F'] } })
    expect((await nodes[0]?.search(query, CALL_TIMEOUT_MS))?.passages).not.toEqual([])
    buildId = await harness.requestBuild(knowledgeBaseId, importId)
    await enqueueBuild(builds, buildId)
    await expectEventually(async () => (await readBuild(owner, buildId))?.error, saying(words))
    expect(files()).toEqual(before)
    end()
    await expectState(buildId, 'succeeded')
    await expectCapture({ outcome: 'changed' })
    await expectEventually(() => readFileSync(store.servingFile, 'utf8').includes(versionId), true)
    await worker.close()
  }
})
