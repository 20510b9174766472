import { readFileSync } from 'node:fs'
import { credentials } from '@grpc/grpc-js'
import { RPC_BOUNDS } from '#core/rpc/bounds.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import type { LocalSearchNode } from '#operator/demo/local/stack.ts'
import type { BenchArtifact } from './artifact.ts'
import { SELECTIVITIES } from './corpus.ts'
import type { Installation } from './installation.ts'
import { drive, percentile } from './load.ts'
import type { Base } from './publish.ts'
import { publishArtifact } from './publish.ts'
import type { Query } from './source.ts'
import type { MeasuredPath } from './paths.ts'

/** Has a search node that holds nothing yet verify and open a version. @returns milliseconds. */
export async function openVersion(
  { address }: LocalSearchNode,
  { versionId, manifestDigest }: BenchArtifact,
): Promise<number> {
  const client = openSearchNodeClient(address, credentials.createInsecure())
  try {
    const began = performance.now()
    await client.prepareVersion({ versionId, manifestDigest }, RPC_BOUNDS.prepareTimeoutMs)
    return performance.now() - began
  } finally {
    client.close()
  }
}

/** Resident megabytes of a process without the page cache; null where the system does not report it. */
export function ownMegabytes(pid: number): number | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const kilobytes = ['RssAnon', 'RssShmem'].map((name) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]),
    )
    return kilobytes.reduce((sum, value) => sum + value, 0) / 1_024
  } catch {
    return null
  }
}

export interface SwapResult {
  /** From the operator's request until the other version served. */
  readonly activation_ms: number
  readonly answered: number
  readonly failed: number
  readonly failure: string | null
  readonly p50_ms: number
  readonly p99_ms: number
}

const SWAP_CLIENTS = 8
/** Load goes on for so long after the change. */
const AFTERWARDS_MS = 500

/** Activates another version while clients ask without a pause. */
export async function swapUnderLoad(
  installation: Installation,
  base: Base,
  {
    full,
    queries,
    to,
  }: { readonly full: MeasuredPath; readonly queries: readonly Query[]; readonly to: BenchArtifact },
): Promise<SwapResult> {
  const [selectivity] = SELECTIVITIES
  if (selectivity === undefined) throw new Error('no such selectivity')
  let activationMs = 0
  let endsAt = Infinity
  const change = async (): Promise<void> => {
    const began = performance.now()
    await publishArtifact(installation, base, to)
    activationMs = performance.now() - began
    endsAt = performance.now() + AFTERWARDS_MS
  }
  const [load] = await Promise.all([
    drive(full, { queries, selectivity, clients: SWAP_CLIENTS, from: 0, goesOn: () => performance.now() < endsAt }),
    change().catch((error: unknown) => {
      endsAt = 0
      throw error
    }),
  ])
  return {
    activation_ms: activationMs,
    answered: load.answered,
    failed: load.failed,
    failure: load.failure ?? null,
    p50_ms: percentile(load.latenciesMs, 0.5),
    p99_ms: percentile(load.latenciesMs, 0.99),
  }
}
