import { violationsOf } from './load-report.ts'
import type { LoadReport } from './load-report.ts'
import type { PhaseSummary } from './summary.ts'

/** The figures of a run as rows of Markdown, in the form of the README's table. What was not measured is left out. */
export function renderFigures(report: LoadReport): string {
  const rows = [
    ['scenarios, requests, violations', countsOf(report)],
    ['time of the run', `${report.took_seconds.toFixed(0)} s`],
    ['saturation', measured(report, 'saturation', 'saturation_per_second', (value) => `${value.toFixed(0)} a second`)],
    ['goodput at twice the saturation', measured(report, 'overload', 'goodput_at_twice_of_peak', percent)],
    ['p99 of 49 calm tenants alone, beside a flood', fairness(report)],
    ['time to refuse past the concurrency cap, p50 and p99', timeToRefuse(report)],
    ['CPU ms a request at saturation', cpuOf(phaseOf(report, 'overload', '1 × saturation'))],
  ] as const
  const known = rows.filter(([, value]) => value !== undefined)
  return ['| Figure | Measured |', '| --- | --- |', ...known.map(([name, value]) => `| ${name} | ${value} |`)].join(
    '\n',
  )
}

function countsOf(report: LoadReport): string {
  const requests = report.scenarios.flatMap(({ phases }) => phases).reduce((sum, phase) => sum + phase.requests, 0)
  return `${report.scenarios.length}, ${requests}, ${violationsOf(report)}`
}

function figureOf({ scenarios }: LoadReport, scenario: string, figure: string): number | undefined {
  return scenarios.find(({ name }) => name === scenario)?.figures[figure]
}

function measured(
  report: LoadReport,
  scenario: string,
  figure: string,
  shown: (value: number) => string,
): string | undefined {
  const value = figureOf(report, scenario, figure)
  return value === undefined ? undefined : shown(value)
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} % of the peak`
}

function fairness(report: LoadReport): string | undefined {
  const alone = figureOf(report, 'tenants', 'calm_p99_alone_ms')
  const beside = figureOf(report, 'tenants', 'calm_p99_beside_flood_ms')
  return alone === undefined || beside === undefined
    ? undefined
    : `${alone.toFixed(0)} and ${beside.toFixed(0)} ms, ratio ${(beside / alone).toFixed(2)}`
}

function phaseOf({ scenarios }: LoadReport, scenario: string, phase: string): PhaseSummary | undefined {
  return scenarios.find(({ name }) => name === scenario)?.phases.find((one) => one.phase === phase)
}

function timeToRefuse(report: LoadReport): string | undefined {
  const refused = phaseOf(report, 'concurrency', 'overlapping leases')?.outcomes.find(({ outcome }) =>
    outcome.startsWith('429'),
  )
  const [p50, , , p99] = refused?.latency_ms ?? []
  return p50 === undefined || p99 === undefined ? undefined : `${p50.toFixed(0)} and ${p99.toFixed(0)} ms`
}

function cpuOf(phase: PhaseSummary | undefined): string | undefined {
  const cpu = Object.entries(phase?.cpu_ms_a_request ?? {}).filter(([part]) => part !== 'load generator')
  return cpu.length === 0 ? undefined : cpu.map(([part, ms]) => `${part} ${ms.toFixed(1)}`).join(', ')
}
