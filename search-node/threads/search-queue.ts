import { queueOptionsSymbol, type TaskQueue } from 'piscina'

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
export class SearchQueue implements TaskQueue {
  readonly #searches: Task[] = []
  readonly #shares: Task[] = []
  /** Those of the last call of `threadFor`. */
  #threads: readonly Thread[] = []

  get size(): number {
    return this.#searches.length + Number(this.#dueShare() !== undefined)
  }

  /** Searches that wait. */
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
