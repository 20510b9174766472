import type { Bar, Recall } from './bars.ts'
import type { Exact } from './exact.ts'
import type { LedgerState } from './ledger.ts'
import type { Cell } from './measure.ts'

/** Everything that was measured, as `--json` writes it. */
export interface BenchResult {
  /** ISO 8601 UTC. */
  readonly at: string
  readonly passages: number
  readonly dimensions: number
  readonly seconds: number
  readonly seed: number
  readonly threads: number
  /** Settings of Postgres as the server itself says them. */
  readonly durability: Readonly<Record<string, string>>
  /** Passages that each selectivity allows. */
  readonly allowed: Exact['allowed']
  readonly cells: readonly Cell[]
  readonly recall_at_5: Recall
  readonly ledger: LedgerState
  /** After the last cell. */
  readonly settled_after_ms: number
  readonly bars: readonly Bar[]
}
