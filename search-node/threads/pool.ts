import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { Piscina, queueOptionsSymbol } from 'piscina'
import { NO_ENGINE, type EngineSettings } from '#core/engine/settings.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import type { SharedParts } from '#core/index/storage/resident-parts.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import type { CallDeadline } from '#search-node/call-deadline.ts'
import { NodeError } from '#search-node/node-error.ts'
import type { OpenTask, ScoringThreadData, SearchOutcome, SearchTask } from './scoring-worker.ts'
import { SearchQueue } from './search-queue.ts'

export interface SearchPoolOptions {
  readonly threads: number
  /** Searches that may wait for a thread. */
  readonly queueMax: number
  /** SQ4 vectors of a version of so many MiB are kept in memory. */
  readonly sq4Mb?: number | undefined
  /** The cluster of versions that have an engine; none if absent. */
  readonly engine?: EngineSettings
  readonly worker?: URL
}

/**
 * V8 puts objects straight among the old ones where it saw that most of their kind stay. It concludes so of some
 * objects of a search, although none of them stays, and then collects all of a thread's heap every three seconds. The
 * flag holds for the whole process (decision 0032).
 */
const NO_PRETENURING = '--no-allocation-site-pretenuring'

/**
 * Scoring threads behind one bounded first-in, first-out queue. A thread that dies fails its task and is replaced; the
 * one that replaces it opens a version when it first searches it.
 *
 * Piscina 5.3 does three things otherwise than a search node needs. A task with an `AbortSignal` bypasses `maxQueue`
 * and the order of arrival, and loses its thread where it runs already; `SearchQueue` drops what waits instead. Beyond
 * `maxQueue` the opening of a version fails like a search, and without a code; the pool counts searches itself. `close`
 * ends threads that still run a task; `end` waits for all of them first.
 */
export class SearchPool {
  readonly threads: number
  readonly queueMax: number
  /** Searches of mapped graphs since the start. */
  readonly graphSearches: BigInt64Array = new BigInt64Array(new SharedArrayBuffer(8))
  readonly #queue = new SearchQueue()
  /** What a thread that replaces another reads when it starts. */
  readonly #versions = new Map<string, OpenTask>()
  readonly #piscina: Piscina
  #unsettled = 0
  #onIdle: (() => void) | undefined
  #ending = false

  constructor({
    threads,
    queueMax,
    sq4Mb = INDEX_BOUNDS.residentSq4MbDefault,
    engine = NO_ENGINE,
    worker = new URL('./scoring-worker.ts', import.meta.url),
  }: SearchPoolOptions) {
    this.threads = threads
    this.queueMax = queueMax
    setFlagsFromString(NO_PRETENURING)
    this.#piscina = new Piscina({
      filename: fileURLToPath(worker),
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: 1,
      taskQueue: this.#queue,
      loadBalancer: (task, workers) => this.#queue.threadFor(task, workers),
      // Otherwise a task that finds no thread goes to the end of the queue.
      stricterFIFO: true,
      recordTiming: false,
      resourceLimits: { maxYoungGenerationSizeMb: SEARCH_NODE_BOUNDS.scoringYoungGenerationMb },
      workerData: {
        sq4Mb,
        engine,
        versions: this.#versions,
        graphSearches: this.graphSearches,
      } satisfies ScoringThreadData,
    })
  }

  get queued(): number {
    return this.#queue.searches
  }

  /**
   * @returns the encoded reply.
   * @throws NodeError RESOURCE_EXHAUSTED at once if the queue is full, DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE once
   * `end` was called; Error if the search fails or its thread dies.
   */
  async search(search: Omit<SearchTask, 'deadlineMs'>, { deadlineMs, signal }: CallDeadline): Promise<Uint8Array> {
    this.#assertNotEnding()
    if (signal.aborted) throw cancelled()
    if (this.queued >= this.queueMax)
      throw new NodeError('RESOURCE_EXHAUSTED', 'The scoring queue is full; ask another node or retry later.')
    const options = {}
    const { promise, resolve, reject } = Promise.withResolvers<SearchOutcome>()
    const drop = (): void => {
      if (this.#queue.drop(options)) reject(cancelled())
    }
    signal.addEventListener('abort', drop, { once: true })
    this.#run<SearchOutcome>('search', { ...search, deadlineMs }, options).then(resolve, reject)
    try {
      const outcome = await this.#counted(promise)
      if (outcome instanceof Uint8Array) return outcome
      throw outcome instanceof Error ? outcome : new NodeError(outcome.code, outcome.message)
    } finally {
      signal.removeEventListener('abort', drop)
    }
  }

  /**
   * Maps an artifact on one thread after the other, ahead of waiting searches; the other threads continue to score.
   * What threads share is read by the first. The first thread that fails ends it; the caller then closes the artifact
   * everywhere.
   */
  async openEverywhere(artifact: ArtifactRef): Promise<void> {
    let task: OpenTask = { artifact, shared: undefined }
    this.#versions.set(artifact.versionId, task)
    await this.#onEachThread(async (begun) => {
      const shared = await this.#run<SharedParts>('open', task, begun)
      task = { artifact, shared: task.shared ?? shared }
      this.#versions.set(artifact.versionId, task)
    })
  }

  /** Closes an artifact on every thread, also if it fails on one. @throws what the first failure was. */
  async closeEverywhere({ versionId }: ArtifactRef): Promise<void> {
    this.#versions.delete(versionId)
    const failures: unknown[] = []
    await this.#onEachThread((begun) =>
      this.#run('close', { versionId }, begun).catch((error: unknown) => failures.push(error)),
    )
    if (failures.length > 0) throw failures[0]
  }

  /**
   * Refuses new searches, waits for queued and running searches, then ends the threads. A thread that ends during a
   * native call crashes the process.
   */
  async end(): Promise<void> {
    this.#ending = true
    if (this.#unsettled > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    await this.#piscina.destroy()
  }

  /** Runs the share of one thread after the other, also of threads that replace others meanwhile. */
  async #onEachThread(run: (begun: Set<number>) => Promise<unknown>): Promise<void> {
    const begun = new Set<number>()
    while (this.#piscina.threads.some(({ threadId }) => !begun.has(threadId))) {
      this.#assertNotEnding()
      await this.#counted(run(begun))
    }
  }

  #assertNotEnding(): void {
    if (this.#ending) throw new NodeError('UNAVAILABLE', 'This search node is stopping; ask another node.')
  }

  #run<Result>(name: string, task: object, options: object): Promise<Result> {
    return this.#piscina.run({ ...task, [queueOptionsSymbol]: options }, { name })
  }

  async #counted<Result>(task: Promise<Result>): Promise<Result> {
    this.#unsettled += 1
    try {
      return await task
    } finally {
      this.#unsettled -= 1
      if (this.#unsettled === 0) this.#onIdle?.()
    }
  }
}

function cancelled(): NodeError {
  return new NodeError('CANCELLED', 'The caller gave up before the search started.')
}
