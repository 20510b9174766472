import { constants, setPriority } from 'node:os'
import { BOUNDS } from '#core/platform/bounds.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { beginAttempt, noteFailedRun, readBuild } from '#core/db/builds.ts'
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
import type { ChildMessage, FailedRun } from './run-child.ts'
import { buildParametersSchema } from './parameters.ts'
import { runBuild } from './pipeline.ts'
import { StaleBuild, createProgress } from './progress.ts'

/** Runs a build once in its own process: `child.ts <build id>`. The process may be killed at any point. */
async function main(): Promise<void> {
  process.on('disconnect', () => process.exit(1))
  const buildId = process.argv[2] ?? ''
  const config = jobsConfig()
  const log = createLog('jobs', config.LOG_LEVEL)
  // A build uses every core; serving has priority.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const database = openDatabase(
    config.DATABASE_URL,
    log,
    BOUNDS.buildDatabaseConnectionsMax,
    BOUNDS.buildStatementTimeoutMs,
  )
  const message = await attempt(buildId, config, database, log).catch((error: unknown) => failed(error, log, buildId))
  await database.end()
  await tell(message)
  process.disconnect()
  process.exit(0)
}

async function attempt(buildId: string, config: JobsConfig, database: Database, log: Log): Promise<ChildMessage> {
  const attemptNumber = await beginAttempt(database, buildId)
  const build = await readBuild(database, buildId)
  if (attemptNumber === undefined || build === undefined) return { outcome: 'finished before' }
  const fence = { buildId, attempt: attemptNumber }
  try {
    return { outcome: 'succeeded', versionId: await run(fence, build, config, database, log) }
  } catch (error) {
    const outcome = failed(error, log, buildId)
    if (outcome.outcome === 'overtaken') return outcome
    // A run that takes over removes the files of this one, so this one then fails for that reason alone.
    return (await noteFailedRun(database, fence, outcome.message))
      ? { ...outcome, attempt: fence.attempt }
      : { outcome: 'overtaken' }
  }
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
    embedding: { ...config, OPENAI_TIMEOUT_MS: BOUNDS.embedBatchTimeoutMs },
    privateKeyDer: config.MANIFEST_PRIVATE_KEY,
    publicKeyDer: config.MANIFEST_PUBLIC_KEY,
    nodes: openSearchNodeClients(config.SEARCH_NODES, config),
    progress: createProgress(database, fence, overtaken, (mark) => void tell(mark)),
    signal: overtaken.signal,
    log,
  })
}

/** An error that a retry cannot correct fails the build at once; any other error is retried. */
function failed(error: unknown, log: Log, buildId: string): FailedRun {
  if (error instanceof StaleBuild) return { outcome: 'overtaken' }
  log.warn('build run failed', { build_id: buildId }, error)
  const permanent = error instanceof OperatorError || error instanceof ArtifactError
  return { outcome: 'failed', permanent, message: permanent ? error.message : describeCause(error) }
}

function tell(message: ChildMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve()
    else process.send(message, () => resolve())
  })
}

await main()
