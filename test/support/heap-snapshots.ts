import { createWriteStream, renameSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { getHeapSnapshot } from 'node:v8'
import { isMainThread, type Worker } from 'node:worker_threads'

/**
 * Loaded before the program of a process: at SIGUSR2 it writes the heaps of all of its threads into one file, named by
 * HEAP_SNAPSHOT and the id of the process. V8 collects all garbage before each.
 */
if (isMainThread) {
  const workers = new Set<Worker>()
  process.on('worker', (worker) => {
    workers.add(worker)
    worker.once('exit', () => workers.delete(worker))
  })
  process.on('SIGUSR2', () => void write(`${process.env['HEAP_SNAPSHOT']}.${process.pid}`, workers))
}

async function write(file: string, workers: ReadonlySet<Worker>): Promise<void> {
  for (const worker of [undefined, ...workers]) {
    const heap = worker === undefined ? getHeapSnapshot() : await worker.getHeapSnapshot()
    await pipeline(heap, createWriteStream(`${file}.part`, { flags: 'a' }))
  }
  renameSync(`${file}.part`, file)
}
