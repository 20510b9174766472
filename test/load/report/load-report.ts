import type { Check, Violation } from '../checks/check.ts'
import type { PhaseSummary } from './summary.ts'
import type { Series } from './series.ts'

export interface CheckResult {
  readonly name: string
  readonly guarantee: string
  readonly outside: Check['outside']
  readonly checked: number
  readonly violations: number
  /** The first ones. */
  readonly examples: readonly (Violation & { readonly check: string })[]
}

export interface ScenarioResult {
  readonly name: string
  readonly title: string
  readonly seconds: number
  /** Until everything was settled after the last reply; null: never, or not known. */
  readonly settled_after_ms: number | null
  readonly phases: readonly PhaseSummary[]
  readonly checks: readonly CheckResult[]
  readonly figures: Readonly<Record<string, number>>
  readonly series: readonly Series[]
}

/** Everything about one run; the page and the tables are drawn from it. */
export interface LoadReport {
  readonly at: string
  readonly mode: 'embedded' | 'url'
  readonly seed: number
  readonly seconds: number
  readonly gateways: number
  readonly took_seconds: number
  readonly interrupted: boolean
  readonly scenarios: readonly ScenarioResult[]
  /** What was left out, and why; one sentence each. */
  readonly left_out: readonly string[]
}

export function violationsOf({ scenarios }: LoadReport): number {
  return scenarios.reduce((sum, { checks }) => sum + checks.reduce((all, one) => all + one.violations, 0), 0)
}
