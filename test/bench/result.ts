import type { BuildFigures } from './artifact.ts'
import type { Threshold, FoundBy } from './thresholds.ts'
import type { InsideResult } from './in-process.ts'
import type { LanceResult } from './lance.ts'
import type { LedgerState } from './ledger.ts'
import type { Cell } from './measure.ts'
import type { NodeMemory } from './memory.ts'
import type { SwapResult } from './node.ts'
import type { RebuildResult } from './rebuild.ts'
import type { RefusalResult } from './refusals.ts'

/** Everything that was measured at one size, as `--json` writes it. */
export interface BenchResult {
  /** ISO 8601 UTC. */
  readonly at: string
  readonly passages: number
  readonly dimensions: number
  readonly vectors: 'real' | 'generated'
  readonly seconds: number
  readonly seed: number
  readonly threads: number
  /** Of the machine, over a minute: what else ran meanwhile. The measurement itself adds 2 to 4. */
  readonly load_average: { readonly before: number; readonly after: number }
  /** Settings of Postgres as the server itself says them. */
  readonly durability: Readonly<Record<string, string>>
  readonly build: BuildFigures
  /** Of the artifact, of its float32 vectors alone, and the bytes of each file. */
  readonly disk: {
    readonly megabytes: number
    readonly vectors_megabytes: number
    readonly files: Readonly<Record<string, number>>
  }
  /** A fresh search node verifies and opens the version. */
  readonly open_ms: number
  /** Of the search node, beyond the page cache, after all measurements of one version; and while it held two. */
  readonly node_megabytes: number | null
  readonly node_megabytes_two_versions: number | null
  /** Of search nodes that do nothing else, by number of threads. */
  readonly memory: readonly NodeMemory[]
  readonly inside: InsideResult
  readonly swap: SwapResult
  readonly cells: readonly Cell[]
  readonly found: FoundBy
  readonly ledger: LedgerState
  /** After the last cell. */
  readonly settled_after_ms: number
  readonly lance: LanceResult | null
  /** Requests that are refused at no cost to their caller. */
  readonly refusals: readonly RefusalResult[]
  /** Limit counters of a large organization, counted anew while others are served. */
  readonly rebuild: RebuildResult
  readonly thresholds: readonly Threshold[]
}
