import { getEnvironmentData } from 'node:worker_threads'
import type { SharedParts } from '#core/index/storage/resident-parts.ts'
import type { SearchTask } from '#search-node/threads/scoring-worker.ts'
import { CLOSE, HELD, OPEN } from './held-pool.ts'

/** A scoring thread whose tasks end when the test says so (`held-pool.ts`); a search for 99 passages fails. */

const memory = getEnvironmentData(HELD)
if (!(memory instanceof SharedArrayBuffer)) throw new Error('these threads are of createHeldPool')
const cells = new Int32Array(memory)

export async function search({ input: { limit } }: SearchTask): Promise<Uint8Array> {
  hold(limit)
  if (limit === 99) throw new Error('the search failed')
  return Uint8Array.of(limit)
}

export async function open(): Promise<SharedParts> {
  hold(OPEN)
  return new Map<string, SharedArrayBuffer>()
}

export async function close(): Promise<void> {
  hold(CLOSE)
}

function hold(task: number): void {
  const at = 1 + 2 * Atomics.add(cells, 0, 1)
  Atomics.store(cells, at, task)
  Atomics.wait(cells, at + 1, 0)
}
