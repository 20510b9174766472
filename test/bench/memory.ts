import { credentials } from '@grpc/grpc-js'
import { RPC_BOUNDS } from '#core/rpc/bounds.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import { startSearchNode } from '#operator/demo/local/stack.ts'
import type { StackSettings } from '#operator/demo/local/stack.ts'
import type { BenchArtifact } from './artifact.ts'
import { SELECTIVITIES } from './corpus.ts'
import { drive } from './load.ts'
import { ownMegabytes } from './node.ts'
import { openGrpc } from './paths.ts'
import type { Query } from './source.ts'
import { aligned } from './table.ts'
import { atMost } from './thresholds.ts'
import type { Threshold } from './thresholds.ts'

/** Megabytes of a search node without the page cache, with so many scoring threads. */
export interface NodeMemory {
  readonly threads: number
  readonly without_version: number
  readonly one_version: number
  readonly two_versions: number
}

const THREADS = [2, 3] as const
/** Questions under each filter and to each version, so that every thread has answered. */
const QUESTIONS = 100

/**
 * Starts a search node for each number of threads, which loads a version and its predecessor and answers questions on
 * both. @returns nothing where the system does not report memory.
 */
export async function measureMemory(
  settings: StackSettings,
  versions: readonly [BenchArtifact, BenchArtifact],
  queries: readonly Query[],
): Promise<readonly NodeMemory[]> {
  const measured: NodeMemory[] = []
  for (const threads of THREADS) {
    const environment = { ...settings.environment, SEARCH_THREADS: String(threads) }
    const node = await startSearchNode({ ...settings, environment }, `search-node-${threads}`)
    try {
      const megabytes = [ownMegabytes(node.pid)]
      for (const version of versions) {
        await loadAndAsk(node.address, version, queries, 2 * threads)
        megabytes.push(ownMegabytes(node.pid))
      }
      const [without = null, one = null, two = null] = megabytes
      if (without === null || one === null || two === null) return []
      measured.push({ threads, without_version: without, one_version: one, two_versions: two })
    } finally {
      await node.stop()
    }
  }
  return measured
}

/** Has a search node load a version and answer questions under each filter. */
export async function loadAndAsk(
  address: string,
  version: BenchArtifact,
  queries: readonly Query[],
  clients: number,
): Promise<void> {
  const { versionId, manifestDigest } = version
  const client = openSearchNodeClient(address, credentials.createInsecure())
  const path = openGrpc(address, version)
  try {
    await client.prepareVersion({ versionId, manifestDigest }, RPC_BOUNDS.prepareTimeoutMs)
    for (const selectivity of SELECTIVITIES) {
      let left = QUESTIONS
      await drive(path, { queries, selectivity, clients, from: 0, goesOn: () => left-- > 0 })
    }
  } finally {
    client.close()
    await path.close()
  }
}

/** The bounds are those of a million passages. Small versions keep files in memory on purpose (decision 0030). */
const BOUNDED_FROM_PASSAGES = 1_000_000
const TWO_VERSIONS_MEGABYTES_MAX = 450
const FURTHER_THREAD_MEGABYTES_MAX = 150

export function judgeMemory([two, three]: readonly NodeMemory[], passages: number): readonly Threshold[] {
  if (two === undefined || three === undefined || passages < BOUNDED_FROM_PASSAGES) return []
  return [
    atMost(
      'memory of a node beyond the page cache, two versions and two threads',
      TWO_VERSIONS_MEGABYTES_MAX,
      two.two_versions,
      'MB',
      0,
    ),
    {
      name: 'memory of a further thread, two versions',
      wanted: `≤ ${FURTHER_THREAD_MEGABYTES_MAX} MB`,
      measured: `${(three.two_versions - two.two_versions).toFixed(0)} MB`,
      met: three.two_versions - two.two_versions <= FURTHER_THREAD_MEGABYTES_MAX,
    },
  ]
}

export function renderMemory(memory: readonly NodeMemory[]): string {
  if (memory.length === 0) return 'The system does not report the memory of a search node.'
  const rows = memory.map(({ threads, without_version, one_version, two_versions }) =>
    [threads, without_version, one_version, two_versions].map((value, at) =>
      at === 0 ? String(value) : `${value.toFixed(0)} MB`,
    ),
  )
  return aligned([['threads of a node', 'no version', 'one version', 'and its predecessor'], ...rows])
}

/** Bytes of each file of an artifact, and of a row. */
export function renderFiles(files: Readonly<Record<string, number>>, passages: number): string {
  const rows = Object.entries(files)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, bytes]) => [name, `${(bytes / 1_048_576).toFixed(1)} MB`, `${(bytes / passages).toFixed(1)} B`])
  return aligned([['file', 'size', 'a row'], ...rows])
}
