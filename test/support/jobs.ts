import { NO_ENGINE } from '#core/engine/settings.ts'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, afterEach, expect } from 'vitest'
import { releaseRun } from '#core/db/build-runs.ts'
import { insertBuild, type BuildFence } from '#core/db/builds.ts'
import { insertImport, insertSnapshots } from '#core/db/imports.ts'
import { createSignedStore } from '#core/index/format/store.ts'
import { sha256 } from '#core/platform/digest.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import { createLog } from '#core/platform/log.ts'
import { attemptBuild } from '#jobs/version-build/attempt.ts'
import { runBuildChild, type BuildMark, type RunChildOptions } from '#jobs/version-build/run-child.ts'
import { claimRun } from '#jobs/version-build/process.ts'
import { jobsConfig } from '#jobs/platform/config.ts'
import { MARKDOWN_MAPPING } from '#law/import/mapping/mapping.ts'
import { openQueue, openQueueRedis } from '#jobs/platform/queues.ts'
import { captureSources, snapshotsOf } from '#law/sources/capture.ts'
import { listSource } from '#law/sources/list.ts'
import { startJobs, type Jobs, type JobsDeps } from '#jobs/worker/workers.ts'
import { COMPILE_CACHE, WITH_FEW_QUERIES } from './processes.ts'
import { connectTestPools } from './postgres.ts'
import { EMPTY_REPORT } from './import.ts'
import { startNodeInProcess } from './search-node.ts'
import { testSecrets } from './secrets.ts'
import { openTestRedis } from './redis.ts'

/** Runs of a build that a busy machine may need. */
const RUNS_MAX = 3

export const silent = createLog('test', 'silent')
export const demoCorpus = fileURLToPath(new URL('../../operator/demo/corpus/', import.meta.url))

/** One of its documents, for tests that do not inspect the built version. */
export const smallSource = join(demoCorpus, 'rulebook/hsfa-conduct-harbour.2023-09-01.md')

/** Matches the outcome of a run that failed, whose message holds the words. */
export function failure(kind: 'permanent' | 'transient', words: string | RegExp): object {
  return { outcome: 'failed', kind, message: saying(words) }
}

/** Matches a text that holds the words. */
export function saying(words: string | RegExp): unknown {
  return typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words)
}

type BuildAsked = Readonly<Record<string, unknown>>

export interface RunOptions {
  readonly environment?: NodeJS.ProcessEnv
  readonly onProgress?: (mark: BuildMark) => void
}

export type JobsHarness = Awaited<ReturnType<typeof startJobsHarness>>

/** A database, an artifact store and one search node: what builds and activations need. */
export async function startJobsHarness() {
  const { database, owner, jobs: service, close } = await connectTestPools()
  const root = mkdtempSync(join(tmpdir(), 'evidence-jobs-'))
  const storeUrl = pathToFileURL(root).href
  const secrets = testSecrets()
  const publicKeyDer = Buffer.from(secrets.MANIFEST_PUBLIC_KEY, 'base64')
  const store = createSignedStore({ ARTIFACT_STORE: storeUrl, MANIFEST_PUBLIC_KEY: [publicKeyDer] })
  const node = await startNodeInProcess(root, publicKeyDer)
  const searchNode = `127.0.0.1:${node.port}`
  const environment: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    NODE_OPTIONS: WITH_FEW_QUERIES,
    DATABASE_URL: database.jobsUrl,
    REDIS_URL: 'redis://127.0.0.1:1',
    ARTIFACT_STORE: storeUrl,
    SEARCH_NODES: searchNode,
    MANIFEST_PUBLIC_KEY: secrets.MANIFEST_PUBLIC_KEY,
    MANIFEST_PRIVATE_KEY: secrets.MANIFEST_PRIVATE_KEY,
    LOG_LEVEL: 'silent',
  }
  async function claimed<T>(buildId: string, run: (fence: BuildFence) => Promise<T>) {
    const begun = await claimRun(service, buildId)
    if (begun.claim !== 'begun') return { outcome: 'not begun' } as const
    const outcome = await run(begun.fence)
    await releaseRun(service, begun.fence)
    return outcome
  }
  /**
   * A build without vectors unless the parameters say otherwise: they take most of the time of a small build.
   * @returns the id of a build row; nothing runs yet.
   */
  async function requestBuild(knowledgeBaseId: string, importId: string, parameters: BuildAsked = {}) {
    const id = randomUUID()
    const asked = { embedding: 'none', ...parameters }
    await insertBuild(owner, { id, knowledgeBaseId, importId, parameters: asked, startedBy: 'tester' })
    return id
  }
  /** Runs a build once in this process. A run that ends without a candidate may follow at once. */
  const runBuild = (buildId: string, options: RunOptions = {}) =>
    claimed(buildId, (fence) =>
      attemptBuild(fence, {
        config: jobsConfig(options.environment ?? environment),
        database: service,
        log: silent,
        onProgress: options.onProgress ?? (() => undefined),
      }),
    )
  return {
    owner,
    service,
    /** Signs manifests and the version chain. */
    privateKeyDer: Buffer.from(secrets.MANIFEST_PRIVATE_KEY, 'base64'),
    /** Of the command line, and of a migration. */
    operatorUrl: database.operatorUrl,
    ownerUrl: database.ownerUrl,
    store,
    searchNode,
    /** Of a job worker or a build's process. */
    environment,
    /** @returns the id of a new, empty knowledge base. */
    async createKnowledgeBase() {
      const id = randomUUID()
      await owner.query('insert into knowledge_bases (id, slug, title) values ($1, $2, $3)', [
        id,
        `kb-${id.slice(0, 8)}`,
        'Test',
      ])
      return id
    },
    /** Captures a folder of Markdown and records the import. @returns its id. */
    async importFolder(knowledgeBaseId: string, folder: string) {
      const captured = await captureSources(store, (await listSource(folder, 'markdown')).files)
      const snapshots = snapshotsOf(knowledgeBaseId, captured)
      const snapshotIds = await insertSnapshots(owner, knowledgeBaseId, snapshots)
      const id = randomUUID()
      await insertImport(owner, { id, knowledgeBaseId, mapping: MARKDOWN_MAPPING, snapshotIds, report: EMPTY_REPORT })
      return id
    },
    requestBuild,
    runBuild,
    /** Requests a build and runs it to a candidate. @returns the id of the build. */
    async candidate(knowledgeBaseId: string, importId: string, parameters: BuildAsked = {}, options: RunOptions = {}) {
      const buildId = await requestBuild(knowledgeBaseId, importId, parameters)
      let ended = await runBuild(buildId, options)
      // A job worker runs it again, too, where a search node was too busy to answer.
      for (let run = 1; run < RUNS_MAX && ended.outcome === 'failed' && ended.kind === 'transient'; run += 1)
        ended = await runBuild(buildId, options)
      expect(ended).toMatchObject({ outcome: 'succeeded' })
      return buildId
    },
    /** Runs a build once in a process of its own, as a job worker does. */
    runBuildProcess: (buildId: string, options: RunChildOptions = {}) =>
      claimed(buildId, (fence) => runBuildChild(fence, { environment, ...options })),
    /** Puts a question set into the store. @returns its SHA-256. */
    async storeQuestions(questions: readonly unknown[]) {
      const text = questions.map((question) => JSON.stringify(question)).join('\n')
      const sha256Hex = sha256(text).toString('hex')
      await writeDurably(store.snapshotFile(sha256Hex), text)
      return sha256Hex
    },
    async stop() {
      await node.stop()
      await close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** The same, stopped after the tests of the calling file. */
export async function openJobsHarness(): Promise<JobsHarness> {
  const harness = await startJobsHarness()
  afterAll(() => harness.stop())
  return harness
}

/** An import to build, and job workers that end after the test that started them. Closes after the calling file. */
export async function openWorkerHarness() {
  const harness = await openJobsHarness()
  const redis = await openTestRedis()
  const connection = openQueueRedis(redis.url, silent)
  const builds = openQueue('build', connection.redis, silent)
  const knowledgeBaseId = await harness.createKnowledgeBase()
  const importId = await harness.importFolder(knowledgeBaseId, smallSource)
  const running: Jobs[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map((jobs) => jobs.close()))
  })
  afterAll(async () => {
    await builds.close()
    connection.close()
    await redis.release()
  })
  return {
    harness,
    redis,
    /** The connection of the queues. */
    queueRedis: connection.redis,
    builds,
    knowledgeBaseId,
    importId,
    async startWorker(change: Partial<JobsDeps> = {}) {
      const jobs = await startJobs({
        database: harness.service,
        redis: connection.redis,
        store: harness.store,
        nodes: [],
        counters: { nowMs: async () => Date.now() },
        settlement: { refundOverdue: async () => 'gone' },
        privateKeyDer: harness.privateKeyDer,
        traceDir: harness.store.traceFolder,
        notified: {},
        buildConcurrency: 1,
        buildHeapMb: 512,
        engine: NO_ENGINE,
        rewriting: { REWRITER_BASE_URL: undefined, REWRITER_API_KEY: undefined },
        drifts: new Map(),
        vectorCacheBytesMax: 0,
        held: () => undefined,
        onTaskDone: () => undefined,
        log: silent,
        environment: harness.environment,
        ...change,
      })
      running.push(jobs)
      return jobs
    },
  }
}
