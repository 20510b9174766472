import { COLOURS, escape, renderChart } from './chart.ts'
import type { Line } from './chart.ts'
import { violationsOf } from './load-report.ts'
import type { CheckResult, LoadReport, ScenarioResult } from './load-report.ts'
import type { Series } from './series.ts'
import { SHARES } from './summary.ts'
import type { PhaseSummary } from './summary.ts'

/** A run on one self-contained page: checks, what was admitted against its cap, latencies, goodput. */
export function renderPage(report: LoadReport): string {
  const violations = violationsOf(report)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Load test of ${escape(report.at)}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; padding: 0 1rem; color: #1f2933 }
h2 { margin-top: 2.2rem; border-top: 1px solid #d9e0e6; padding-top: 1rem }
table { border-collapse: collapse; font-size: 13px; width: 100% }
th, td { padding: 4px 10px; text-align: right; border-bottom: 1px solid #e4e9ee; vertical-align: top }
th:first-child, td:first-child, td.words { text-align: left }
.violated { color: #b3261e; font-weight: 600 } .unchecked { color: #7b8794 }
figure { margin: 1.2rem 0 } figcaption { font-weight: 600; font-size: 14px } svg { width: 100% }
svg text { font-size: 11px; fill: #52606d } .grid { stroke: #e4e9ee } .key { margin: 0 0 0 4rem; font-size: 12px }
.key span { margin-right: 1.2rem; white-space: nowrap }
.key i { display: inline-block; width: 22px; margin-right: 6px; vertical-align: middle }
</style>
<h1>Load test</h1>
<p>${escape(headOf(report))}</p>
<p class="${violations > 0 ? 'violated' : ''}">${violations === 0 ? ALL_HOLD : `${violations} violations.`}</p>
${report.left_out.map((sentence) => `<p>${escape(sentence)}</p>`).join('\n')}
<h2>Checks</h2>
${checkTable(report)}
${renderGoodput(report)}
${report.scenarios.map(renderScenario).join('\n')}
</html>
`
}

const ALL_HOLD = 'Every check that could be made holds.'

function headOf({ at, mode, gateways, seconds, seed, took_seconds: took, interrupted }: LoadReport): string {
  const where = mode === 'embedded' ? `${gateways} gateway(s) on this machine` : 'a deployment seen from outside'
  const end = `${took.toFixed(0)} s in all${interrupted ? ', interrupted' : ''}`
  return `${at}, ${where}, sustained phases of ${seconds} s, seed ${seed}, ${end}.`
}

function row(cells: readonly string[], tag: 'th' | 'td' = 'td', kind = ''): string {
  const inner = cells.map((cell, at) => `<${tag}${at === 0 ? ' class="words"' : ''}>${escape(cell)}</${tag}>`).join('')
  return `<tr${kind === '' ? '' : ` class="${kind}"`}>${inner}</tr>`
}

function checkTable({ scenarios }: LoadReport): string {
  const all = scenarios.flatMap(({ checks }) => checks)
  const rows = [...Map.groupBy(all, ({ name }) => name)].map(([name, results]) => {
    const sum = (of: 'checked' | 'violations'): number => results.reduce((total, result) => total + result[of], 0)
    const kind = sum('violations') > 0 ? 'violated' : sum('checked') === 0 ? 'unchecked' : ''
    const verdict = { violated: 'violated', unchecked: 'not checked', '': 'holds' }[kind]
    return row(
      [`${name}: ${results[0]?.guarantee ?? ''}`, String(sum('checked')), String(sum('violations')), verdict],
      'td',
      kind,
    )
  })
  return `<table>${row(['check', 'checked', 'violations', ''], 'th')}${rows.join('')}</table>`
}

/** Every phase that was offered at a rate to callers without limits. */
function renderGoodput({ scenarios }: LoadReport): string {
  const names = ['saturation', 'overload']
  const phases = scenarios
    .filter(({ name }) => names.includes(name))
    .flatMap((scenario) => scenario.phases)
    .filter(({ seconds }) => seconds > 0)
    .toSorted((one, other) => one.offered_per_second - other.offered_per_second)
  if (phases.length < 2) return ''
  const offered = phases.map(({ offered_per_second: perSecond }) => perSecond)
  const most = Math.max(...offered)
  const lines: readonly Line[] = [
    {
      name: 'answered with 200',
      colour: COLOURS[0],
      points: phases.map((phase) => [phase.offered_per_second, phase.goodput_per_second] as const),
    },
    {
      name: 'as much as offered',
      colour: COLOURS[7],
      dashed: true,
      points: [
        [0, 0],
        [most, most],
      ],
    },
  ]
  const title = 'Replies with status 200 against offered load'
  return `<h2>Goodput</h2>
${renderChart({ title, xLabel: 'offered a second', yLabel: 'a second', lines })}`
}

function renderScenario(scenario: ScenarioResult): string {
  const { name, title, seconds, phases, checks, figures, series, settled_after_ms: settled } = scenario
  const after = settled === null ? '' : `, settled ${settled.toFixed(0)} ms after the last reply`
  const figureRows = Object.entries(figures).map(([figure, value]) => row([figure, value.toFixed(2)]))
  return `<h2>${escape(name)}</h2>
<p>${escape(title)}. ${seconds.toFixed(0)} s${after}.</p>
${checks
  .filter(({ violations }) => violations > 0)
  .map(renderViolations)
  .join('\n')}
${series.map(renderSeries).join('\n')}
${latencies(phases)}
${phaseTable(phases)}
${figureRows.length === 0 ? '' : `<table>${figureRows.join('')}</table>`}`
}

function renderViolations({ name, violations, examples }: CheckResult): string {
  const lines = examples.map(({ tenant, message }) => `<li>${escape(`${tenant}: ${message}`)}</li>`)
  return `<div class="violated">${escape(name)}: ${violations}<ul>${lines.join('')}</ul></div>`
}

function renderSeries({ name, cap, points }: Series): string {
  const end = points.at(-1)?.[0] ?? 0
  return renderChart({
    title: `${name}, against the cap of ${cap}`,
    xLabel: 'seconds',
    yLabel: 'at once',
    lines: [
      { name, colour: COLOURS[1], points },
      {
        name: 'cap',
        colour: COLOURS[0],
        dashed: true,
        points: [
          [0, cap],
          [end, cap],
        ],
      },
    ],
  })
}

const LATENCY_LINES_MAX = 8
const OUTCOME_REQUESTS_MIN = 10

function latencies(phases: readonly PhaseSummary[]): string {
  const lines = phases
    .flatMap(({ phase, outcomes }) =>
      outcomes
        .filter(({ requests }) => requests >= OUTCOME_REQUESTS_MIN)
        .map(({ outcome, latency_ms: latency }) => ({ name: `${phase}: ${outcome}`, latency })),
    )
    .slice(-LATENCY_LINES_MAX)
    .map(({ name, latency }, at) => ({
      name,
      colour: COLOURS[at % COLOURS.length] ?? COLOURS[0],
      points: latency.map((ms, place) => [place, ms] as const),
    }))
  if (lines.length === 0) return ''
  return renderChart({
    title: 'Latency by percentile, from the scheduled instant',
    xLabel: 'percentile',
    yLabel: 'milliseconds',
    logarithmic: true,
    xNames: SHARES.map((share) => (share === 1 ? 'most' : `p${share * 100}`)),
    lines,
  })
}

function phaseTable(phases: readonly PhaseSummary[]): string {
  const rows = phases.flatMap((phase) =>
    phase.outcomes.map(({ outcome, requests, latency_ms: [p50 = 0, , , p99 = 0] }, at) =>
      row([
        at === 0 ? phase.phase : '',
        outcome,
        String(requests),
        at === 0 && phase.seconds > 0 ? phase.offered_per_second.toFixed(0) : '',
        p50.toFixed(1),
        p99.toFixed(1),
        at === 0 ? cpuOf(phase) : '',
      ]),
    ),
  )
  const head = ['phase', 'outcome', 'requests', 'offered/s', 'p50 ms', 'p99 ms', 'CPU ms a request']
  return `<table>${row(head, 'th')}${rows.join('')}</table>`
}

function cpuOf({ cpu_ms_a_request: cpu }: PhaseSummary): string {
  if (cpu === null) return ''
  return Object.entries(cpu)
    .filter(([, ms]) => ms >= 0.05)
    .map(([part, ms]) => `${part} ${ms.toFixed(1)}`)
    .join(', ')
}
