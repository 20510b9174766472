import type { Lane } from './workers.ts'
import { NodeError } from '#search-node/node-error.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import type { SearchTask } from './scoring-worker.ts'

export interface CallLimits {
  /** Milliseconds since the epoch; Infinity for none. Checked before the task is handed to a thread. */
  readonly deadlineMs: number
  /** A task that waits is dropped when this fires; one that runs is not touched. */
  readonly signal: AbortSignal
}

interface Waiting {
  readonly deadlineMs: number
  /** Never rejects: the caller of the search learns how it went. */
  readonly run: (lane: Lane) => Promise<void>
  readonly refuse: (error: NodeError) => void
}

interface Station {
  readonly lane: Lane
  /** Done before any waiting search. */
  readonly errands: (() => Promise<void>)[]
  busy: boolean
}

/** Scoring threads behind one bounded first-in, first-out queue. */
export class SearchPool {
  readonly queueMax: number
  readonly #stations: readonly Station[]
  readonly #queue: Waiting[] = []
  #ending = false
  #onIdle: (() => void) | undefined

  constructor(lanes: readonly Lane[], queueMax: number) {
    this.queueMax = queueMax
    this.#stations = lanes.map((lane) => ({ lane, errands: [], busy: false }))
  }

  get threads(): number {
    return this.#stations.length
  }

  get queued(): number {
    return this.#queue.length
  }

  /**
   * @returns the encoded reply.
   * @throws NodeError RESOURCE_EXHAUSTED at once if the queue is full, DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE once
   * `end` was called.
   */
  async search(task: SearchTask, { deadlineMs, signal }: CallLimits): Promise<Uint8Array> {
    if (this.#ending) throw new NodeError('UNAVAILABLE', 'This search node is stopping; ask another node.')
    if (signal.aborted) throw cancelled()
    const free = this.#stations.find(({ busy }) => !busy)
    if (free === undefined && this.#queue.length >= this.queueMax)
      throw new NodeError('RESOURCE_EXHAUSTED', 'The scoring queue is full; ask another node or retry later.')
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    const waiting: Waiting = { deadlineMs, run: (lane) => lane.search(task).then(resolve, reject), refuse: reject }
    const drop = (): void => this.#drop(waiting)
    signal.addEventListener('abort', drop, { once: true })
    this.#queue.push(waiting)
    if (free !== undefined) this.#dispatch(free)
    return promise.finally(() => signal.removeEventListener('abort', drop))
  }

  /**
   * Maps an artifact on one thread after the other, ahead of waiting searches, while the other threads go on scoring.
   */
  openEverywhere(artifact: ArtifactRef): Promise<void> {
    return this.#everywhere((lane) => lane.open(artifact))
  }

  closeEverywhere(artifact: ArtifactRef): Promise<void> {
    return this.#everywhere((lane) => lane.close(artifact))
  }

  /**
   * Refuses new searches, lets all that wait or run finish, then ends the threads: one that ends during a native call
   * takes the process along.
   */
  async end(): Promise<void> {
    this.#ending = true
    if (!this.#isIdle()) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    await Promise.all(this.#stations.map(({ lane }) => lane.end()))
  }

  async #everywhere(errand: (lane: Lane) => Promise<void>): Promise<void> {
    for (const station of this.#stations) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      station.errands.push(() => errand(station.lane).then(resolve, reject))
      this.#dispatch(station)
      await promise
    }
  }

  #dispatch(station: Station): void {
    if (station.busy) return
    const task = this.#nextTask(station)
    if (task === undefined) {
      if (this.#isIdle()) this.#onIdle?.()
      return
    }
    station.busy = true
    void task().finally(() => {
      station.busy = false
      this.#dispatch(station)
    })
  }

  #nextTask(station: Station): (() => Promise<void>) | undefined {
    const errand = station.errands.shift()
    if (errand !== undefined) return errand
    for (let waiting = this.#queue.shift(); waiting !== undefined; waiting = this.#queue.shift()) {
      const { deadlineMs, run, refuse } = waiting
      if (Date.now() < deadlineMs) return () => run(station.lane)
      refuse(
        new NodeError(
          'DEADLINE_EXCEEDED',
          'The deadline passed before a scoring thread was free; send fewer searches at once or add search nodes.',
        ),
      )
    }
    return undefined
  }

  #drop(waiting: Waiting): void {
    const at = this.#queue.indexOf(waiting)
    if (at === -1) return
    this.#queue.splice(at, 1)
    waiting.refuse(cancelled())
  }

  #isIdle(): boolean {
    return this.#queue.length === 0 && this.#stations.every(({ busy }) => !busy)
  }
}

function cancelled(): NodeError {
  return new NodeError('CANCELLED', 'The caller gave up before the search started.')
}
