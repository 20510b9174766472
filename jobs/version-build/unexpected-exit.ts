import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { totalmem } from 'node:os'
import { BUILD_BOUNDS } from './bounds.ts'

/** How a process ended that reported no outcome. */
interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly standardError: string
  readonly heapMb: number | undefined
  /** Kills by the kernel for memory in this container or service meanwhile; undefined where it does not say. */
  readonly kernelKills: number | undefined
}

/** V8 at its heap limit, C++ and the allocator of array buffers. */
const OUT_OF_MEMORY = /heap out of memory|std::bad_alloc|Array buffer allocation failed|Cannot allocate memory/
const ABORTED_CODE = 134

/**
 * Recognises a process that ran out of memory. V8 aborts at its heap limit. The kernel sends SIGKILL where the memory
 * of the machine or container runs out; so do killers outside the kernel and people. Where the kernel's counter did not
 * rise, the sentence does not name the kernel.
 * @returns `reason`: a clause that follows "because".
 */
export function explainExit({ code, signal, standardError, heapMb, kernelKills }: ProcessEnd) {
  if ((signal === 'SIGABRT' || code === ABORTED_CODE) && OUT_OF_MEMORY.test(standardError)) {
    const limit = heapMb === undefined ? 'its heap limit' : `its heap limit of ${heapMb} MB`
    return { outOfMemory: true, reason: `its process reached ${limit}` }
  }
  if (signal === 'SIGKILL') return { outOfMemory: true, reason: reasonOfKill(kernelKills) }
  if (signal === 'SIGXCPU') return { outOfMemory: false, reason: 'it took too much processor time' }
  return {
    outOfMemory: false,
    reason: signal === null ? `its process ended with exit code ${code}` : `its process ended with ${signal}`,
  }
}

function reasonOfKill(kernelKills: number | undefined): string {
  if (kernelKills === undefined) return 'its process was ended with SIGKILL, as the kernel does for lack of memory'
  return kernelKills > 0
    ? 'the kernel ended its process for lack of memory'
    : 'its process was killed from outside (SIGKILL), most often for lack of memory'
}

/** Files of cgroup 2 and 1 that count the kernel's kills for memory, in a container and for a service of a host. */
async function killCountFiles(): Promise<readonly string[]> {
  const groups = await readFile('/proc/self/cgroup', 'utf8').catch(() => '')
  const own = /^0::(\/.*)$/m.exec(groups)?.[1] ?? '/'
  const ownMemory = /^\d+:(?:\w+,)*memory(?:,\w+)*:(\/.*)$/m.exec(groups)?.[1] ?? '/'
  return [
    join('/sys/fs/cgroup', own, 'memory.events'),
    '/sys/fs/cgroup/memory.events',
    join('/sys/fs/cgroup/memory', ownMemory, 'memory.oom_control'),
    '/sys/fs/cgroup/memory/memory.oom_control',
  ]
}

/** @returns how often the kernel ended a process of this container or service for memory, if it can be read. */
export async function oomKillCount(): Promise<number | undefined> {
  for (const path of await killCountFiles()) {
    const found = /^oom_kill (\d+)$/m.exec(await readFile(path, 'utf8').catch(() => ''))
    if (found !== null) return Number(found[1])
  }
  return undefined
}

const BYTES_PER_MB = 1_048_576

/**
 * Returns the heap limit of a build's process in MiB: half of what the machine or container has, for all builds side by
 * side. The other half is for the worker, for arrays outside of the heap, and for the page cache.
 * @param constrainedBytes the limit of the container; greater than `totalBytes`, or 0, where there is none.
 */
export function defaultBuildHeapMb(
  concurrency: number,
  totalBytes: number = totalmem(),
  constrainedBytes: number = process.constrainedMemory(),
): number {
  const available = constrainedBytes > 0 ? Math.min(totalBytes, constrainedBytes) : totalBytes
  const share = Math.floor(available / BYTES_PER_MB / 2 / concurrency)
  return Math.min(Math.max(share, BUILD_BOUNDS.buildHeapDefaultMbMin), BUILD_BOUNDS.buildHeapDefaultMbMax)
}
