import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import { NodeError } from '#search-node/node-error.ts'
import type { SearchOutcome, SearchTask } from './scoring-worker.ts'
import type { VerifyTask, Verified } from './verify-worker.ts'

/** One scoring thread. It runs one task at a time. */
export interface ScoringWorker {
  search(task: SearchTask): Promise<Uint8Array>
  open(artifact: ArtifactRef): Promise<void>
  close(artifact: ArtifactRef): Promise<void>
  /** Ends the thread once its task is done; never while a native call runs. */
  end(): Promise<void>
}

/**
 * Each worker is a piscina of one thread, so that a version can be opened and closed on every thread in turn while the
 * others score. `pool.ts` does queueing, bounds and deadlines. If a thread dies, its task fails and the thread is
 * replaced.
 */
export function startScoringWorker(worker: URL = new URL('./scoring-worker.ts', import.meta.url)): ScoringWorker {
  const thread = new Piscina({
    filename: fileURLToPath(worker),
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: 1,
    maxQueue: 1,
    recordTiming: false,
    resourceLimits: { maxYoungGenerationSizeMb: BOUNDS.scoringYoungGenerationMb },
  })
  return {
    async search(task) {
      const outcome = (await thread.run(task, { name: 'search' })) as SearchOutcome
      if (outcome instanceof Uint8Array) return outcome
      throw new NodeError(outcome.code, outcome.message)
    },
    open: (artifact) => thread.run(artifact, { name: 'open' }),
    close: (artifact) => thread.run(artifact, { name: 'close' }),
    end: () => thread.close(),
  }
}

/** The thread that hashes artifacts. It ends after an idle period. */
export interface Verifier {
  verify(task: VerifyTask): Promise<Verified>
  end(): Promise<void>
}

export function startVerifier(): Verifier {
  const thread = new Piscina({
    filename: fileURLToPath(new URL('./verify-worker.ts', import.meta.url)),
    name: 'verify',
    minThreads: 0,
    idleTimeout: BOUNDS.verifierIdleMs,
    maxThreads: 1,
    concurrentTasksPerWorker: 1,
    maxQueue: BOUNDS.verifyQueueMax,
    recordTiming: false,
  })
  return { verify: (task) => thread.run(task), end: () => thread.close() }
}
