import { BOUNDS } from '#core/platform/bounds.ts'
import { recordProgress } from '#core/db/builds.ts'
import type { BuildFence } from '#core/db/builds.ts'
import type { Database } from '#core/db/pool.ts'
import type { BuildStage } from './stages.ts'

export interface ProgressMark {
  readonly stage: BuildStage
  readonly done: number
  readonly total: number
}

/** Another run has taken the build over; this one must stop without a trace. */
export class StaleBuild extends Error {
  override readonly name = 'StaleBuild'
}

export interface Progress {
  /** @throws StaleBuild when this run no longer holds the build. */
  begin(stage: BuildStage, total: number): Promise<void>
  /** Cheap: written at most twice a second, and never awaited. */
  at(done: number, total: number): void
}

/**
 * Tells the build's row and the worker how far a run is. Each write holds the fence, so a run that was overtaken learns
 * it within a second and aborts `overtaken`.
 */
export function createProgress(
  database: Database,
  fence: BuildFence,
  overtaken: AbortController,
  tell: (mark: ProgressMark) => void,
): Progress {
  let stage: BuildStage = 'import'
  let writtenAtMs = 0
  let writing = false

  async function write(mark: ProgressMark): Promise<void> {
    tell(mark)
    writtenAtMs = Date.now()
    if (await recordProgress(database, fence, mark.stage, mark.done, mark.total)) return
    const stale = new StaleBuild(`build ${fence.buildId} was taken over by another run`)
    overtaken.abort(stale)
    throw stale
  }

  return {
    async begin(next, total) {
      overtaken.signal.throwIfAborted()
      stage = next
      await write({ stage, done: 0, total })
    },
    at(done, total) {
      if (writing || Date.now() - writtenAtMs < BOUNDS.buildProgressEveryMs) return
      writing = true
      // A lost write is made good by the next one; being overtaken reaches the run through the signal.
      write({ stage, done, total })
        .catch(() => undefined)
        .finally(() => (writing = false))
    },
  }
}
