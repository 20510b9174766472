import { setEnvironmentData } from 'node:worker_threads'
import { SearchPool } from '#search-node/threads/pool.ts'
import { until } from '#test/support/until.ts'

/** A pool whose threads run each task until the test ends it. */
export type HeldPool = ReturnType<typeof createHeldPool>

/** The name of the memory: the number of tasks that began, then for each of them what it is and whether it may end. */
export const HELD = 'tasks of held threads'
export const OPEN = 1_001
export const CLOSE = 1_002
const TASKS_MAX = 64

export function createHeldPool(options: { readonly threads: number; readonly queueMax: number }) {
  const cells = new Int32Array(new SharedArrayBuffer((1 + 2 * TASKS_MAX) * Int32Array.BYTES_PER_ELEMENT))
  setEnvironmentData(HELD, cells.buffer)
  const started = (): string[] => {
    const tasks = Array.from({ length: TASKS_MAX }, (_, task) => Atomics.load(cells, 1 + 2 * task))
    return tasks.filter((task) => task !== 0).map(nameOf)
  }
  const release = (task: number): void => {
    Atomics.store(cells, 2 + 2 * task, 1)
    Atomics.notify(cells, 2 + 2 * task)
  }
  const pool = new SearchPool({ ...options, worker: new URL('./held-worker.ts', import.meta.url) })
  return {
    pool,
    /** The tasks that a thread has begun, in order: `search 5` for one of five passages, `open` or `close`. */
    started,
    /** Ends tasks one after the other, each once it runs; of several with one name, the one that began first. */
    async finish(...tasks: readonly string[]) {
      for (const task of tasks) {
        const isHeld = (name: string, at: number): boolean => name === task && Atomics.load(cells, 2 + 2 * at) === 0
        const at = await until(`${task} runs`, () => {
          const found = started().findIndex(isHeld)
          return found === -1 ? undefined : found
        })
        release(at)
      }
    },
    /** Ends what runs or waits, then the threads. */
    end() {
      for (let task = 0; task < TASKS_MAX; task++) release(task)
      return pool.end()
    },
  }
}

function nameOf(task: number): string {
  if (task === OPEN) return 'open'
  return task === CLOSE ? 'close' : `search ${task}`
}
