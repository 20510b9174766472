import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { Piscina, queueOptionsSymbol, type TaskQueue } from 'piscina'
import { NO_ENGINE, type EngineSettings } from '#core/engine/settings.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import type { SharedParts } from '#core/index/storage/resident-parts.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import { NodeError, type CallDeadline } from '#search-node/node-error.ts'
import type { OpenTask, ScoringThreadData, SearchOutcome, SearchTask } from './scoring-worker.ts'

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

type Task = Parameters<TaskQueue['push']>[0]

/** A thread as a load balancer of Piscina sees it, at any moment. */
interface Thread {
  readonly id: number
  /** Tasks that it runs. */
  readonly currentUsage: number
}

/**
 * The queue and the load balancer of a pool: searches in the order of arrival, and before them the shares of what every
 * thread does once. The queue options of a share are the set of the threads that have begun theirs. A share whose
 * threads are all busy is neither counted nor handed out: Piscina stops at the first task that finds no thread.
 */
class SearchQueue implements TaskQueue {
  readonly #searches: Task[] = []
  readonly #shares: Task[] = []
  /** Those of the last call of `threadFor`. */
  #threads: readonly Thread[] = []

  get size(): number {
    return this.#searches.length + Number(this.#dueShare() !== undefined)
  }

  get searches(): number {
    return this.#searches.length
  }

  shift(): Task | null {
    const share = this.#dueShare()
    if (share === undefined) return this.#searches.shift() ?? null
    this.remove(share)
    return share
  }

  push(task: Task): void {
    this.#listOf(task).push(task)
  }

  unshift(task: Task): void {
    this.#listOf(task).unshift(task)
  }

  remove(task: Task): void {
    this.#listOf(task).splice(this.#listOf(task).indexOf(task), 1)
  }

  /** @param options of the search. @returns whether it waited; its promise in the pool is never settled then. */
  drop(options: object): boolean {
    const at = this.#searches.findIndex((search) => search[queueOptionsSymbol] === options)
    return at !== -1 && this.#searches.splice(at, 1).length === 1
  }

  /** @returns null if no thread is free for the task now. */
  threadFor<T extends Thread>(task: Task, threads: readonly T[]): T | null {
    this.#threads = threads
    const begun = begunThreads(task)
    const thread = threads.find(({ id, currentUsage }) => currentUsage === 0 && begun?.has(id) !== true)
    if (thread !== undefined) begun?.add(thread.id)
    return thread ?? null
  }

  /** A thread that ended counts as free: then the next call of `threadFor` brings the one that replaces it. */
  #dueShare(): Task | undefined {
    return this.#shares.find((share) => {
      const left = this.#threads.filter(({ id }) => begunThreads(share)?.has(id) !== true)
      return left.length === 0 || left.some(({ currentUsage }) => currentUsage === 0)
    })
  }

  #listOf(task: Task): Task[] {
    return begunThreads(task) === undefined ? this.#searches : this.#shares
  }
}

/** @returns undefined for a search. */
function begunThreads(task: Task): Set<unknown> | undefined {
  const options = task[queueOptionsSymbol]
  return options instanceof Set ? options : undefined
}
