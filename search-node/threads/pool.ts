import type { SharedParts } from '#core/index/storage/resident-parts.ts'
import type { ArtifactSearch, ScoringWorker } from './workers.ts'
import type { CallDeadline } from '#search-node/call-deadline.ts'
import { NodeError } from '#search-node/node-error.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'

interface Waiting {
  readonly search: ArtifactSearch
  readonly deadlineMs: number
  readonly answer: (reply: Uint8Array) => void
  readonly refuse: (error: unknown) => void
}

interface Slot {
  readonly worker: ScoringWorker
  /** Run before any waiting search. */
  readonly controlTasks: (() => Promise<void>)[]
  busy: boolean
}

/** Scoring threads behind one bounded first-in, first-out queue. */
export class SearchPool {
  readonly queueMax: number
  readonly #slots: readonly Slot[]
  readonly #queue: Waiting[] = []
  #ending = false
  #onIdle: (() => void) | undefined

  constructor(workers: readonly ScoringWorker[], queueMax: number) {
    this.queueMax = queueMax
    this.#slots = workers.map((worker) => ({ worker, controlTasks: [], busy: false }))
  }

  get threads(): number {
    return this.#slots.length
  }

  get queued(): number {
    return this.#queue.length
  }

  /**
   * @returns the encoded reply.
   * @throws NodeError RESOURCE_EXHAUSTED at once if the queue is full, DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE once
   * `end` was called.
   */
  async search(search: ArtifactSearch, { deadlineMs, signal }: CallDeadline): Promise<Uint8Array> {
    if (this.#ending) throw new NodeError('UNAVAILABLE', 'This search node is stopping; ask another node.')
    if (signal.aborted) throw cancelled()
    const free = this.#slots.find(({ busy }) => !busy)
    if (free === undefined && this.#queue.length >= this.queueMax)
      throw new NodeError('RESOURCE_EXHAUSTED', 'The scoring queue is full; ask another node or retry later.')
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    const waiting: Waiting = { search, deadlineMs, answer: resolve, refuse: reject }
    const drop = (): void => this.#drop(waiting)
    signal.addEventListener('abort', drop, { once: true })
    this.#queue.push(waiting)
    if (free !== undefined) this.#dispatch(free)
    return promise.finally(() => signal.removeEventListener('abort', drop))
  }

  /**
   * Maps an artifact on one thread after the other, ahead of waiting searches; the other threads continue to score.
   * What threads share is read by the first. The first thread that fails ends it; the caller then closes the artifact
   * everywhere.
   */
  async openEverywhere(artifact: ArtifactRef): Promise<void> {
    let shared: SharedParts | undefined
    for (const slot of this.#slots) {
      const known: SharedParts = await this.#control(slot, (worker) => worker.open(artifact, shared))
      shared ??= known
    }
  }

  /** Closes an artifact on every thread, also if it fails on one. @throws what the first failure was. */
  async closeEverywhere(artifact: ArtifactRef): Promise<void> {
    const failures: unknown[] = []
    for (const slot of this.#slots)
      await this.#control(slot, (worker) => worker.close(artifact)).catch((error: unknown) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }

  /**
   * Refuses new searches, waits for queued and running searches, then ends the threads. A thread that ends during a
   * native call crashes the process.
   */
  async end(): Promise<void> {
    this.#ending = true
    if (!this.#isIdle()) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    await Promise.all(this.#slots.map(({ worker }) => worker.end()))
  }

  #control<Result>(slot: Slot, controlTask: (worker: ScoringWorker) => Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    slot.controlTasks.push(() => controlTask(slot.worker).then(resolve, reject))
    this.#dispatch(slot)
    return promise
  }

  #dispatch(slot: Slot): void {
    if (slot.busy) return
    const task = this.#nextTask(slot)
    if (task === undefined) {
      if (this.#isIdle()) this.#onIdle?.()
      return
    }
    slot.busy = true
    void task().finally(() => {
      slot.busy = false
      this.#dispatch(slot)
    })
  }

  #nextTask(slot: Slot): (() => Promise<void>) | undefined {
    const controlTask = slot.controlTasks.shift()
    if (controlTask !== undefined) return controlTask
    const waiting = this.#nextSearch()
    return waiting && (() => slot.worker.search(waiting.search).then(waiting.answer, waiting.refuse))
  }

  /** Takes the first search whose deadline has not passed; refuses those before it. */
  #nextSearch(): Waiting | undefined {
    for (;;) {
      const waiting = this.#queue.shift()
      if (waiting === undefined || Date.now() < waiting.deadlineMs) return waiting
      waiting.refuse(
        new NodeError(
          'DEADLINE_EXCEEDED',
          'The deadline passed before a scoring thread was free; send fewer searches at once or add search nodes.',
        ),
      )
    }
  }

  #drop(waiting: Waiting): void {
    const at = this.#queue.indexOf(waiting)
    if (at === -1) return
    this.#queue.splice(at, 1)
    waiting.refuse(cancelled())
  }

  #isIdle(): boolean {
    return this.#queue.length === 0 && this.#slots.every(({ busy }) => !busy)
  }
}

function cancelled(): NodeError {
  return new NodeError('CANCELLED', 'The caller gave up before the search started.')
}
