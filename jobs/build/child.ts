import { constants, setPriority } from 'node:os'
import { z } from 'zod'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { readBuild } from '#core/db/builds.ts'
import type { BuildFence, BuildRow } from '#core/db/builds.ts'
import { readImport } from '#core/db/imports.ts'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createLog, describeCause } from '#core/platform/log.ts'
import type { Log } from '#core/platform/log.ts'
import { jobsConfig } from '#jobs/config.ts'
import type { JobsConfig } from '#jobs/config.ts'
import { openSearchNodeClients } from '#jobs/search-nodes.ts'
import { BUILD_BOUNDS } from './bounds.ts'
import type { ChildMessage, FailedRun } from './run-child.ts'
import { buildParametersSchema } from './parameters.ts'
import { runBuild } from './pipeline.ts'
import { StaleBuild, createProgress } from './progress.ts'

/**
 * Runs a build once in its own process: `child.ts <build id> <attempt>`. The worker has begun the attempt, so it knows
 * the fence of a process that dies. The process may be killed at any point.
 */
async function main(): Promise<void> {
  process.on('disconnect', () => process.exit(1))
  const [buildId, attemptNumber] = z.tuple([z.uuid(), z.coerce.number().int()]).parse(process.argv.slice(2))
  const fence = { buildId, attempt: attemptNumber }
  const config = jobsConfig()
  const log = createLog('jobs', config.LOG_LEVEL)
  // A build uses every core; serving has priority.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const database = openDatabase(
    config.DATABASE_URL,
    log,
    DATABASE_BOUNDS.buildDatabaseConnectionsMax,
    BUILD_BOUNDS.buildStatementTimeoutMs,
  )
  const message = await attempt(fence, config, database, log).catch((error: unknown) => failed(error, log, buildId))
  await database.end()
  await tell(message)
  process.disconnect()
  process.exit(0)
}

async function attempt(fence: BuildFence, config: JobsConfig, database: Database, log: Log): Promise<ChildMessage> {
  const build = await readBuild(database, fence.buildId)
  if (build?.state !== 'running' || build.attempt !== fence.attempt) return { outcome: 'overtaken' }
  return { outcome: 'succeeded', versionId: await run(fence, build, config, database, log) }
}

/** @returns the id of the candidate. */
async function run(
  fence: BuildFence,
  build: BuildRow,
  config: JobsConfig,
  database: Database,
  log: Log,
): Promise<string> {
  const { buildId } = fence
  const overtaken = new AbortController()
  const store = createArtifactStore(config.ARTIFACT_STORE)
  return await runBuild({
    fence,
    knowledgeBaseId: build.knowledge_base_id,
    knowledgeBase: build.knowledge_base,
    parameters: buildParametersSchema.parse(build.parameters),
    source: await readImport(database, build.import_id),
    database,
    store,
    workFolder: store.workFolder(buildId),
    embedding: config,
    privateKeyDer: config.MANIFEST_PRIVATE_KEY,
    publicKeysDer: config.MANIFEST_PUBLIC_KEY,
    nodes: openSearchNodeClients(config.SEARCH_NODES, config),
    vectors: {
      concurrency: config.OPENAI_CONCURRENCY,
      batchTexts: config.OPENAI_BATCH_TEXTS,
      cache:
        config.VECTOR_CACHE_BYTES_MAX === 0
          ? undefined
          : { path: store.vectorCacheFile, bytesMax: config.VECTOR_CACHE_BYTES_MAX },
    },
    progress: createProgress(database, fence, overtaken, { tell: (mark) => void tell(mark), log }),
    warn: (sentence, cause) => log.warn(sentence, { build_id: buildId }, cause),
    signal: overtaken.signal,
    log,
  })
}

/** An error that a retry cannot correct fails the build at once; any other error is retried. */
function failed(error: unknown, log: Log, buildId: string): FailedRun {
  if (error instanceof StaleBuild) return { outcome: 'overtaken' }
  log.warn('build run failed', { build_id: buildId }, error)
  if (error instanceof OperatorError || error instanceof ArtifactError || isPermanent(error))
    return { outcome: 'failed', kind: 'permanent', message: error.message }
  const kind = isOutOfMemory(error) ? 'out of memory' : 'transient'
  return { outcome: 'failed', kind, message: describeCause(error) }
}

function isPermanent(error: unknown): error is EmbeddingError {
  return error instanceof EmbeddingError && error.permanent
}

/** A thread at its heap limit, or an array that the process found no memory for. */
function isOutOfMemory(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') ||
    (error instanceof RangeError && error.message === 'Array buffer allocation failed')
  )
}

function tell(message: ChildMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve()
    else process.send(message, () => resolve())
  })
}

await main()
