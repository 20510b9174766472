import { cpuOfEach, partsOf, type CpuTimes } from '#test/bench/cpu.ts'
import { percentile, sumOf } from '#test/bench/load.ts'
import type { Section } from '#operator/command-line/sections.ts'
import { INTERRUPTED } from '#test/support/long-run.ts'
import type { Violation } from './checks/check.ts'
import type { RequestRecord } from './record.ts'
import { goodput, type LoadSettings } from './scenarios/scenario.ts'

export interface CheckResult {
  readonly name: string
  readonly guarantee: string
  readonly checked: number
  readonly violations: number
  /** The first ones. */
  readonly examples: readonly Violation[]
}

export interface ScenarioResult {
  readonly name: string
  readonly title: string
  readonly seconds: number
  /** Until everything was settled after the last reply; null: it never was. */
  readonly settled_after_ms: number | null
  readonly phases: readonly PhaseSummary[]
  readonly checks: readonly CheckResult[]
  readonly figures: Readonly<Record<string, number>>
}

/** Everything about one run, as `--json` writes it. */
export interface LoadReport extends LoadSettings {
  readonly at: string
  readonly took_seconds: number
  readonly interrupted: boolean
  readonly scenarios: readonly ScenarioResult[]
}

const SHARES = [0.5, 0.9, 0.95, 0.99, 1] as const

export type PhaseSummary = ReturnType<typeof summarize>

/** Status and code, or what became of the request without a reply. */
export function outcomeOf(record: RequestRecord): string {
  if (record.outcome !== 'replied') return record.outcome
  if (record.status === 200) return '200'
  const limit = record.code === 'RATE_LIMITED' ? (record.minuteLeft === 0 ? ' rate' : ' concurrency or exposure') : ''
  return `${record.status} ${record.code ?? 'without a code'}${limit}`
}

/** What one phase showed; nothing here is checked. */
export function summarize(
  phase: string,
  records: readonly RequestRecord[],
  { lastsMs, cpu }: { readonly lastsMs: number; readonly cpu: CpuTimes },
) {
  const outcomes = [...Map.groupBy(records, outcomeOf)].map(([outcome, of]) => {
    const latencies = of.map(({ latencyMs }) => latencyMs)
    return { outcome, requests: of.length, latency_ms: SHARES.map((share) => percentile(latencies, share)) }
  })
  const seconds = lastsMs / 1_000
  const late = records.map(({ lateMs }) => lateMs)
  return {
    phase,
    seconds,
    requests: records.length,
    offered_per_second: seconds === 0 ? 0 : records.length / seconds,
    goodput_per_second: goodput(records, lastsMs),
    /** Latencies in milliseconds from the scheduled instant, by the shares of `SHARES`. */
    outcomes: outcomes.sort((one, other) => one.outcome.localeCompare(other.outcome)),
    /** By how much the generator sent too late. */
    generator_late_p99_ms: percentile(late, 0.99),
    cpu_ms_a_request: cpuOfEach([cpu], records.length),
  }
}

function violationsOf({ scenarios }: Pick<LoadReport, 'scenarios'>): number {
  return sumOf(scenarios, ({ checks }) => sumOf(checks, ({ violations }) => violations))
}

export function exitCodeOf(report: Pick<LoadReport, 'scenarios' | 'interrupted'>): number {
  return violationsOf(report) > 0 ? 1 : report.interrupted ? INTERRUPTED : 0
}

export function sectionsOf(report: LoadReport): readonly Section[] {
  return [checkSection(report), ...report.scenarios.map(scenarioSection)]
}

/** Rows of check, verdict, facts that were checked, and the guarantee. */
export function verdictRows(results: readonly Omit<CheckResult, 'examples'>[]) {
  return results.map(({ name, guarantee, checked, violations }) => {
    const style = violations > 0 ? 'bad' : checked === 0 ? 'soft' : 'good'
    const verdict = { bad: `VIOLATED ${violations}×`, soft: 'not checked', good: 'holds' }[style]
    return { cells: [name, verdict, checked, guarantee], style } as const
  })
}

/** What was checked how often in the whole run, and what is violated. */
export function checkSection(report: LoadReport): Section {
  const { scenarios, seed, seconds, gateways, took_seconds: took, interrupted } = report
  const byName = Map.groupBy(
    scenarios.flatMap(({ checks }) => checks),
    ({ name }) => name,
  )
  const rows = verdictRows(
    [...byName].map(([name, results]) => ({
      name,
      guarantee: results[0]?.guarantee ?? '',
      checked: sumOf(results, (one) => one.checked),
      violations: sumOf(results, (one) => one.violations),
    })),
  )
  const requests = sumOf(scenarios, ({ phases }) => sumOf(phases, (phase) => phase.requests))
  const violations = violationsOf(report)
  return {
    title: 'Checks',
    head: ['check', 'verdict', 'checked', 'guarantee'],
    rows,
    lines: [
      `Seed ${seed}, ${gateways} gateway(s), sustained phases of ${seconds} s, ${requests} requests in ` +
        `${took.toFixed(0)} s${interrupted ? ', interrupted' : ''}.`,
      violations === 0 ? 'Every check that could be made holds.' : `${violations} violation(s).`,
    ],
  }
}

export function scenarioSection(scenario: ScenarioResult): Section {
  const { name, title, seconds, phases, checks, figures, settled_after_ms: settled } = scenario
  const violated = checks.flatMap((check) =>
    check.examples.map(({ tenant, message }) => `VIOLATED ${check.name} (${check.violations}×), ${tenant}: ${message}`),
  )
  return {
    title: name,
    head: ['phase', 'outcome', 'requests', 'offered/s', 'p50 ms', 'p99 ms', 'most ms', 'CPU ms a request'],
    rows: phases.flatMap((phase) =>
      phase.outcomes.map(({ outcome, requests, latency_ms: [p50 = 0, , , p99 = 0, most = 0] }, at) => [
        at === 0 ? phase.phase : '',
        outcome,
        requests,
        at === 0 && phase.seconds > 0 ? phase.offered_per_second.toFixed(0) : '',
        ...[p50, p99, most].map((ms) => ms.toFixed(1)),
        at === 0 ? cpuOf(phase) : '',
      ]),
    ),
    lines: [
      `${title}. ${seconds.toFixed(0)} s${settled === null ? '' : `, settled ${settled.toFixed(0)} ms after the last reply`}.`,
      ...Object.entries(figures).map(([figure, value]) => `${figure}: ${value.toFixed(2)}`),
      ...violated,
    ],
  }
}

function cpuOf({ cpu_ms_a_request: cpu }: PhaseSummary): string {
  const shown = partsOf(cpu).filter(([part, ms]) => part !== 'others' && ms >= 0.05)
  return shown.map(([part, ms]) => `${part} ${ms.toFixed(1)}`).join(', ')
}
