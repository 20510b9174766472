import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { Piscina } from 'piscina'
import { NO_ENGINE } from '#core/engine/settings.ts'
import type { EngineSettings } from '#core/engine/settings.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import type { SharedParts } from '#core/index/storage/resident-parts.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import { NodeError } from '#search-node/node-error.ts'
import type { OpenTask, SearchOutcome, SearchTask } from './scoring-worker.ts'
import type { VerifyTask, Verified } from './verify-worker.ts'

/** A search of an artifact that is open on the thread. */
export type ArtifactSearch = Omit<SearchTask, 'versionId'> & { readonly artifact: ArtifactRef }

/** One scoring thread. It runs one task at a time. */
export interface ScoringWorker {
  /** @returns the encoded reply. @throws NodeError for a refusal; Error if the search fails or the thread dies. */
  search(search: ArtifactSearch): Promise<Uint8Array>
  /** @param shared what another thread read of the artifact. @returns what other threads need not read again. */
  open(artifact: ArtifactRef, shared?: SharedParts): Promise<SharedParts>
  close(artifact: ArtifactRef): Promise<void>
  /** Ends the thread once its task is done; never while a native call runs. */
  end(): Promise<void>
}

export interface ScoringWorkerOptions {
  /** Codes of vectors of a version of so many MiB are kept in memory. */
  readonly codesMb?: number | undefined
  /** The cluster of versions that have an engine; none if absent. */
  readonly engine?: EngineSettings
  readonly worker?: URL
}

/**
 * V8 puts objects straight among the old ones where it saw that most of their kind stay. It concludes so of some
 * objects of a search, although none of them stays, and then collects all of a thread's heap every three seconds. The
 * flag holds for the whole process (decision 0030).
 */
const NO_PRETENURING = '--no-allocation-site-pretenuring'

/**
 * Each worker is a piscina of one thread, so that a version can be opened and closed on every thread in turn while the
 * others score. `pool.ts` does queueing, bounds and deadlines. If a thread dies, its task fails and the thread is
 * replaced.
 */
export function startScoringWorker({
  codesMb = INDEX_BOUNDS.residentCodesMbDefault,
  engine = NO_ENGINE,
  worker = new URL('./scoring-worker.ts', import.meta.url),
}: ScoringWorkerOptions = {}): ScoringWorker {
  setFlagsFromString(NO_PRETENURING)
  const thread = new Piscina({
    filename: fileURLToPath(worker),
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: 1,
    maxQueue: 1,
    recordTiming: false,
    resourceLimits: { maxYoungGenerationSizeMb: SEARCH_NODE_BOUNDS.scoringYoungGenerationMb },
  })
  /** Versions that are open. A thread that replaces this one opens them again. */
  const opened = new Map<string, OpenTask>()
  const openOnThread = (task: OpenTask): Promise<SharedParts> => thread.run(task, { name: 'open' })
  const run = (task: SearchTask): Promise<SearchOutcome> => thread.run(task, { name: 'search' })
  async function openAndRun(task: SearchTask, artifact: ArtifactRef): Promise<Exclude<SearchOutcome, undefined>> {
    await openOnThread(opened.get(artifact.versionId) ?? { artifact, shared: undefined, codesMb, engine })
    return (await run(task)) ?? new Error('a thread lost a version that it had just opened')
  }
  return {
    async search({ artifact, input, deadlineMs }) {
      const task = { versionId: artifact.versionId, input, deadlineMs }
      const outcome = (await run(task)) ?? (await openAndRun(task, artifact))
      if (outcome instanceof Uint8Array) return outcome
      throw outcome instanceof Error ? outcome : new NodeError(outcome.code, outcome.message)
    },
    async open(artifact, shared) {
      const known = await openOnThread({ artifact, shared, codesMb, engine })
      opened.set(artifact.versionId, { artifact, shared: shared ?? known, codesMb, engine })
      return known
    },
    close({ versionId }) {
      opened.delete(versionId)
      return thread.run(versionId, { name: 'close' })
    },
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
    idleTimeout: SEARCH_NODE_BOUNDS.verifierIdleMs,
    maxThreads: 1,
    concurrentTasksPerWorker: 1,
    maxQueue: SEARCH_NODE_BOUNDS.verifyQueueMax,
    recordTiming: false,
  })
  return { verify: (task) => thread.run(task), end: () => thread.close() }
}
