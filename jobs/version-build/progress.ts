import { recordProgress, type BuildFence } from '#core/db/builds.ts'
import type { Database } from '#core/db/pool.ts'
import type { EmbeddingCounts } from '#core/domain/embedding-counts.ts'
import type { Log } from '#core/platform/log.ts'
import { BUILD_BOUNDS } from './bounds.ts'

/** Stages of a build, in order. */
export const BUILD_STAGES = ['import', 'sort', 'embed', 'artifact', 'verify', 'evaluate', 'candidate'] as const
export type BuildStage = (typeof BUILD_STAGES)[number]

interface ProgressMark {
  readonly stage: BuildStage
  readonly done: number
  readonly total: number
}

/** Another run has taken the build over; this run must stop without writing anything. */
export class StaleBuild extends Error {
  override readonly name = 'StaleBuild'
}

export type Progress = ReturnType<typeof createProgress>

/**
 * Reports the progress of a run to the build's row and to the worker. Each write checks the fence, so an overtaken run
 * learns of it within a second and aborts `overtaken`.
 */
export function createProgress(
  database: Database,
  fence: BuildFence,
  overtaken: AbortController,
  { tell, log }: { readonly tell: (mark: ProgressMark) => void; readonly log: Log },
) {
  let stage: BuildStage = 'import'
  let writtenAtMs = 0
  let writing = false
  let loggedAtMs = Date.now()

  async function write(mark: ProgressMark, embedding?: EmbeddingCounts): Promise<void> {
    tell(mark)
    writtenAtMs = Date.now()
    if (await recordProgress(database, { ...fence, ...mark, embedding })) return
    const stale = new StaleBuild(`build ${fence.buildId} was taken over by another run`)
    overtaken.abort(stale)
    throw stale
  }

  return {
    /** @throws StaleBuild when this run no longer holds the build. */
    async begin(next: BuildStage, total: number) {
      overtaken.signal.throwIfAborted()
      stage = next
      log.info('build stage', { build_id: fence.buildId, stage, total })
      await write({ stage, done: 0, total })
    },
    /** Never blocks: progress is written at most twice a second and not awaited. */
    at(done: number, total: number, embedding?: EmbeddingCounts) {
      if (Date.now() - loggedAtMs >= BUILD_BOUNDS.buildProgressLogEveryMs) {
        loggedAtMs = Date.now()
        log.info('build progress', { build_id: fence.buildId, stage, done, total, ...embedding })
      }
      if (writing || Date.now() - writtenAtMs < BUILD_BOUNDS.buildProgressEveryMs) return
      writing = true
      // The next write replaces a lost one; the signal tells the run that it was overtaken.
      write({ stage, done, total }, embedding)
        .catch(() => undefined)
        .finally(() => (writing = false))
    },
    /** Ends the embed stage. @throws StaleBuild when this run no longer holds the build. */
    async embedded(counts: EmbeddingCounts) {
      overtaken.signal.throwIfAborted()
      log.info('passages embedded', { build_id: fence.buildId, ...counts })
      await write({ stage, done: counts.passages, total: counts.passages }, counts)
    },
  }
}
