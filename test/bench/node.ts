import { readFileSync } from 'node:fs'
import { credentials } from '@grpc/grpc-js'
import { RPC_BOUNDS } from '#core/rpc/bounds.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import type { LocalSearchNode } from '#operator/demo/local/stack.ts'
import type { BenchArtifact } from './artifact.ts'

/** Has a search node that holds nothing yet verify and open a version. @returns milliseconds. */
export async function openVersion(
  { address }: Pick<LocalSearchNode, 'address'>,
  { versionId, manifestDigest }: BenchArtifact,
): Promise<number> {
  using ending = new DisposableStack()
  const client = ending.adopt(openSearchNodeClient(address, credentials.createInsecure()), (it) => it.close())
  const began = performance.now()
  await client.prepareVersion({ versionId, manifestDigest }, RPC_BOUNDS.prepareTimeoutMs)
  return performance.now() - began
}

/** Resident megabytes of a process without the page cache; null where the system does not report it. */
export function ownMegabytes(pid: number): number | null {
  return megabytesOf(pid, 'status', /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm, 1_024)
}

/** What a process wrote to disks since it began; null where the system does not report it. */
export function writtenMegabytes(pid: number): number | null {
  return megabytesOf(pid, 'io', /^write_bytes: (\d+)$/gm, 1_048_576)
}

function megabytesOf(pid: number, file: string, pattern: RegExp, inOne: number): number | null {
  try {
    const found = [...readFileSync(`/proc/${pid}/${file}`, 'utf8').matchAll(pattern)]
    return found.reduce((sum, [, value]) => sum + Number(value), 0) / inOne
  } catch {
    return null
  }
}
