import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { openArtifactStore, storeFault } from '#core/index/format/store.ts'
import { readBuild, type BuildFence, type BuildRow } from '#core/db/builds.ts'
import { readImport } from '#core/db/imports.ts'
import type { Database } from '#core/db/pool.ts'
import { OperatorError, StoreError } from '#core/platform/errors.ts'
import { describeCause, type Log } from '#core/platform/log.ts'
import type { JobsConfig } from '#jobs/platform/config.ts'
import { followSearchNodes } from '#jobs/platform/search-nodes.ts'
import type { AttemptOutcome, BuildMark, FailedRun } from './run-child.ts'
import { buildParametersSchema } from './parameters.ts'
import { runBuild } from './pipeline.ts'
import { StaleBuild, createProgress } from './progress.ts'
import { VECTORS_OF_ONE_BUILD } from './text-vectors.ts'

export interface AttemptContext {
  readonly config: JobsConfig
  readonly database: Database
  readonly log: Log
  readonly onProgress: (mark: BuildMark) => void
}

/** Runs a build once. The worker has begun the attempt that the fence names. */
export async function attemptBuild(fence: BuildFence, context: AttemptContext): Promise<AttemptOutcome> {
  try {
    const build = await readBuild(context.database, fence.buildId)
    if (build?.state !== 'running' || build.attempt !== fence.attempt) return { outcome: 'overtaken' }
    return { outcome: 'succeeded', versionId: await run(fence, build, context) }
  } catch (error) {
    return failed(error, context, fence.buildId)
  }
}

/** @returns the id of the candidate. */
async function run(fence: BuildFence, build: BuildRow, { config, database, log, onProgress }: AttemptContext) {
  const { buildId } = fence
  const parameters = buildParametersSchema.parse(build.parameters)
  const overtaken = new AbortController()
  const store = openArtifactStore(config)
  using opened = new DisposableStack()
  const searchNodes = opened.adopt(await followSearchNodes(config, log), (it) => it.close())
  return await runBuild({
    fence,
    knowledgeBaseId: build.knowledge_base_id,
    knowledgeBase: build.knowledge_base,
    asOf: build.as_of ?? undefined,
    parameters,
    source: await readImport(database, build.import_id),
    database,
    store,
    workFolder: store.workFolder(buildId),
    embedding: config,
    chat: config,
    engine: config,
    privateKeyDer: config.MANIFEST_PRIVATE_KEY,
    publicKeysDer: config.MANIFEST_PUBLIC_KEY,
    nodes: searchNodes.nodes,
    vectors: {
      concurrency: parameters.endpoint?.concurrency ?? VECTORS_OF_ONE_BUILD.concurrency,
      batchTexts: parameters.endpoint?.batch_texts ?? VECTORS_OF_ONE_BUILD.batchTexts,
      cache: { path: store.vectorCacheFile, bytesMax: DATABASE_BOUNDS.vectorCacheBytesMax },
    },
    progress: createProgress(database, fence, overtaken, { tell: onProgress, log }),
    warn: (sentence, cause) => log.warn(sentence, { build_id: buildId }, cause),
    signal: overtaken.signal,
    log,
  })
}

/** An error that a retry cannot correct fails the build at once; any other error is retried. */
function failed(error: unknown, { config, log }: AttemptContext, buildId: string): FailedRun {
  if (error instanceof StaleBuild) return { outcome: 'overtaken' }
  log.warn('build run failed', { build_id: buildId }, error)
  const passes = error instanceof StoreError && error.passing
  const isRefused = error instanceof OperatorError || error instanceof ArtifactError
  if ((isRefused && !passes) || (error instanceof EmbeddingError && error.permanent))
    return { outcome: 'failed', kind: 'permanent', message: error.message }
  const kind = isOutOfMemory(error) ? 'out of memory' : 'transient'
  return { outcome: 'failed', kind, message: storeFault(openArtifactStore(config), error) ?? describeCause(error) }
}

/** A thread at its heap limit, or an array that the process found no memory for. */
function isOutOfMemory(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') ||
    (error instanceof RangeError && error.message === 'Array buffer allocation failed')
  )
}
