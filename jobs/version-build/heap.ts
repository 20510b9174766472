import { totalmem } from 'node:os'
import { BUILD_BOUNDS } from './bounds.ts'

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
