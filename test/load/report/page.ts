import { NOTHING, html } from '#jobs/platform/page/markup.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'
import { renderDocument } from '#jobs/platform/page/document.ts'
import { tableOf } from '#jobs/platform/page/table.ts'
import type { TableRow } from '#jobs/platform/page/table.ts'
import { LINES_MAX, renderChart } from './chart.ts'
import { violationsOf } from './load-report.ts'
import type { CheckResult, LoadReport, ScenarioResult } from './load-report.ts'
import type { Series } from './series.ts'
import { SHARES } from './summary.ts'
import type { PhaseSummary } from './summary.ts'

/** A run on one self-contained page: checks, what was admitted against its cap, latencies, goodput. */
export function renderPage(report: LoadReport): string {
  const violations = violationsOf(report)
  return renderDocument(
    `Load test of ${report.at}`,
    html`<p>${headOf(report)}</p>
      <p class="verdict ${violations > 0 ? 'bad' : 'good'}">
        ${violations === 0 ? 'Every check that could be made holds.' : `${violations} violations.`}
      </p>
      ${report.left_out.map((sentence) => html`<p>${sentence}</p>`)}
      <h2>Checks</h2>
      ${checkTable(report)} ${renderGoodput(report)} ${report.scenarios.map(renderScenario)}`,
  )
}

function headOf({ mode, gateways, seconds, seed, took_seconds: took, interrupted }: LoadReport): string {
  const where = mode === 'embedded' ? `${gateways} gateway(s) on this machine` : 'a deployment seen from outside'
  const end = `${took.toFixed(0)} s in all${interrupted ? ', interrupted' : ''}`
  return `${where}, sustained phases of ${seconds} s, seed ${seed}, ${end}.`
}

function checkTable({ scenarios }: LoadReport): Markup {
  const all = scenarios.flatMap(({ checks }) => checks)
  const rows = [...Map.groupBy(all, ({ name }) => name)].map(([name, results]): TableRow => {
    const sum = (of: 'checked' | 'violations'): number => results.reduce((total, result) => total + result[of], 0)
    const style = sum('violations') > 0 ? 'bad' : sum('checked') === 0 ? 'soft' : 'good'
    const verdict = { bad: 'violated', soft: 'not checked', good: 'holds' }[style]
    return { cells: [`${name}: ${results[0]?.guarantee ?? ''}`, sum('checked'), sum('violations'), verdict], style }
  })
  return tableOf(['check', 'checked', 'violations', ''], rows)
}

/** Every phase that was offered at a rate to callers without limits. */
function renderGoodput({ scenarios }: LoadReport): Markup {
  const names = ['saturation', 'overload']
  const phases = scenarios
    .filter(({ name }) => names.includes(name))
    .flatMap((scenario) => scenario.phases)
    .filter(({ seconds }) => seconds > 0)
    .toSorted((one, other) => one.offered_per_second - other.offered_per_second)
  if (phases.length < 2) return NOTHING
  const most = Math.max(...phases.map(({ offered_per_second: perSecond }) => perSecond))
  const chart = renderChart({
    title: 'Goodput',
    explanation: 'Replies with status 200 against the offered load.',
    xLabel: 'offered a second',
    yLabel: 'a second',
    lines: [
      {
        name: 'answered with 200',
        points: phases.map((phase) => [phase.offered_per_second, phase.goodput_per_second]),
      },
      {
        name: 'as much as offered',
        points: [
          [0, 0],
          [most, most],
        ],
      },
    ],
  })
  return html`<h2>Goodput</h2>
    <div class="plots">${chart}</div>`
}

function renderScenario(scenario: ScenarioResult): Markup {
  const { name, title, seconds, phases, checks, figures, series, settled_after_ms: settled } = scenario
  const after = settled === null ? '' : `, settled ${settled.toFixed(0)} ms after the last reply`
  const measured = Object.entries(figures).map(([figure, value]) => ({ cells: [figure, value.toFixed(2)] }))
  return html`<h2>${name}</h2>
    <p>${title}. ${seconds.toFixed(0)} s${after}.</p>
    ${checks.filter(({ violations }) => violations > 0).map(renderViolations)}
    <div class="plots">${series.map(renderSeries)}${latencies(phases)}</div>
    ${phaseTable(phases)} ${measured.length === 0 ? NOTHING : tableOf(['figure', 'measured'], measured)}`
}

function renderViolations({ name, violations, examples }: CheckResult): Markup {
  return html`<div class="verdict bad">
    ${name}: ${violations}
    <ul>
      ${examples.map(({ tenant, message }) => html`<li>${tenant}: ${message}</li>`)}
    </ul>
  </div>`
}

function renderSeries({ name, cap, points }: Series): Markup {
  const end = points.at(-1)?.[0] ?? 0
  return renderChart({
    title: name,
    explanation: `Against the cap of ${cap}.`,
    xLabel: 'seconds',
    yLabel: 'at once',
    lines: [
      { name, points },
      {
        name: 'cap',
        points: [
          [0, cap],
          [end, cap],
        ],
      },
    ],
  })
}

const OUTCOME_REQUESTS_MIN = 10

function latencies(phases: readonly PhaseSummary[]): Markup {
  const lines = phases
    .flatMap(({ phase, outcomes }) =>
      outcomes
        .filter(({ requests }) => requests >= OUTCOME_REQUESTS_MIN)
        .map(({ outcome, latency_ms: latency }) => ({
          name: `${phase}: ${outcome}`,
          points: latency.map((ms, at) => [at, ms] as const),
        })),
    )
    .slice(-LINES_MAX)
  if (lines.length === 0) return NOTHING
  return renderChart({
    title: 'Latency by percentile',
    explanation: 'From the scheduled instant.',
    xLabel: 'percentile',
    yLabel: 'milliseconds',
    logarithmic: true,
    xNames: SHARES.map((share) => (share === 1 ? 'most' : `p${share * 100}`)),
    lines,
  })
}

function phaseTable(phases: readonly PhaseSummary[]): Markup {
  const rows = phases.flatMap((phase) =>
    phase.outcomes.map(({ outcome, requests, latency_ms: [p50 = 0, , , p99 = 0] }, at) => ({
      cells: [
        at === 0 ? phase.phase : '',
        outcome,
        requests,
        at === 0 && phase.seconds > 0 ? phase.offered_per_second.toFixed(0) : '',
        p50.toFixed(1),
        p99.toFixed(1),
        at === 0 ? cpuOf(phase) : '',
      ],
    })),
  )
  return tableOf(['phase', 'outcome', 'requests', 'offered/s', 'p50 ms', 'p99 ms', 'CPU ms a request'], rows)
}

function cpuOf({ cpu_ms_a_request: cpu }: PhaseSummary): string {
  if (cpu === null) return ''
  return Object.entries(cpu)
    .filter(([, ms]) => ms >= 0.05)
    .map(([part, ms]) => `${part} ${ms.toFixed(1)}`)
    .join(', ')
}
