import { RANKING_METRICS } from '#jobs/evaluation/metrics/ranking.ts'
import { RANKING_MODES } from './evaluation-report.ts'
import type { EvaluationReport, Gate } from './evaluation-report.ts'
import { NOTHING, html } from '#jobs/platform/page/markup.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'
import { figure, milliseconds, percent, range, signed, whole } from './numbers.ts'
import { metricName } from './verdict.ts'

const BAR_WIDTH = 150
const BAR_HEIGHT = 18

/** Changes against the active version have a section of their own. */
export function gatesTable(all: readonly Gate[]): Markup {
  const gates = all.filter(({ group }) => group !== 'changes')
  if (gates.length === 0) return NOTHING
  const row = ({ label, value, direction, bound, passed }: Gate): Markup =>
    html`<tr>
      <td class="state">${passed ? html`<b class="good">✓ met</b>` : html`<b class="bad">✗ missed</b>`}</td>
      <th>${label}</th>
      <td class="n">${measure(value)}</td>
      <td class="n">${direction === 'at_least' ? '≥' : '≤'} ${measure(bound)}</td>
    </tr>`
  // Failed gates come first, since a reviewer needs them most.
  const ordered = [...gates.filter((gate) => !gate.passed), ...gates.filter((gate) => gate.passed)]
  return html`<h2>Gates</h2>
    <div class="scroll" tabindex="0">
      <table>
        <thead>
          <tr>
            <td></td>
            <th>Gate</th>
            <th class="n">Measured</th>
            <th class="n">Bound</th>
          </tr>
        </thead>
        <tbody>
          ${ordered.map(row)}
        </tbody>
      </table>
    </div>`
}

/** Formats shares with three decimals and larger values, such as times, with at most one. */
function measure(value: number | null): string {
  return value === null || Math.abs(value) <= 1 ? figure(value) : whole(Number(value.toFixed(1)))
}

export function rankingTable({ systems, latency_ms_by_system: latencies, answerable }: EvaluationReport): Markup {
  const shown = RANKING_MODES.filter((name) => systems[name] !== undefined)
  if (shown.length === 0) return NOTHING
  const rows = RANKING_METRICS.map((metric) => {
    const values = shown.map((name) => systems[name]?.[metric] ?? 0)
    const best = new Set(values).size > 1 ? Math.max(...values) : Number.NaN
    const cells = shown.map((name) => {
      const value = systems[name]?.[metric] ?? 0
      const ci = systems[name]?.ci[metric]
      return html`<td class="n${value === best ? ' best' : ''}">
        <b>${figure(value)}</b><small>${ci === undefined ? '' : range(ci)}</small>
      </td>`
    })
    return html`<tr>
      <th>${metricName(metric)}</th>
      ${cells}
    </tr>`
  })
  const times = Object.keys(latencies).length === 0 ? NOTHING : latencyRow(shown.map((name) => latencies[name]))
  return html`<h2>Ranking</h2>
    <p>
      Means over ${whole(answerable)} answerable questions, with 95 % bootstrap intervals
      below${shown.length > 1 ? '; the best of a row is bold' : ''}. 1 is best: recall@k is the share of the relevant
      passages among the first k; nDCG, MAP and MRR fall as they stand further down.
    </p>
    <div class="scroll" tabindex="0">
      <table>
        <thead>
          <tr>
            <td></td>
            ${shown.map((name) => html`<th class="n">${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows}${times}
        </tbody>
      </table>
    </div>`
}

function latencyRow(times: readonly (EvaluationReport['latency_ms'] | undefined)[]): Markup {
  const cell = (time: EvaluationReport['latency_ms'] | undefined): Markup =>
    time === undefined
      ? html`<td class="n">–</td>`
      : html`<td class="n">${milliseconds(time.p50)}<small>p99 ${milliseconds(time.p99)}</small></td>`
  return html`<tr>
    <th>time, p50</th>
    ${times.map(cell)}
  </tr>`
}

export function comparisonTable({ comparison }: EvaluationReport): Markup {
  if (comparison === null) return NOTHING
  const all = RANKING_METRICS.map((metric) => ({ metric, ...comparison.metrics[metric] }))
  const reach = Math.max(0.01, ...all.flatMap(({ ci, difference }) => [...ci, difference].map(Math.abs)))
  const rows = all.map(({ metric, candidate, active, difference, ci }) => {
    const sign = ci[1] < 0 ? 'bad' : ci[0] > 0 ? 'good' : ''
    return html`<tr>
      <th>${metricName(metric)}</th>
      <td class="n">${figure(active)}</td>
      <td class="n">${figure(candidate)}</td>
      <td class="n"><b class="${sign}">${signed(difference)}</b><small>${signed(ci[0])} to ${signed(ci[1])}</small></td>
      <td>${intervalBar(difference, ci, reach)}</td>
    </tr>`
  })
  return html`<h2>Against the active version</h2>
    <p>
      Version <code>${comparison.version_id}</code>, question by question on the ${whole(comparison.questions)} that
      both were asked${questionsFrom(comparison)}. Worse means that the whole interval of the difference lies below
      zero.
    </p>
    <div class="scroll" tabindex="0">
      <table>
        <thead>
          <tr>
            <td></td>
            <th class="n">active</th>
            <th class="n">this one</th>
            <th class="n">difference</th>
            <th class="bar">worse | better</th>
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>`
}

function questionsFrom({ questions_from: from }: NonNullable<EvaluationReport['comparison']>): string {
  return from === undefined ? '' : ` (${from})`
}

function intervalBar(difference: number, [low, high]: readonly [number, number], reach: number): Markup {
  const x = (value: number): string => ((value / reach + 1) * (BAR_WIDTH / 2 - 6) + 6).toFixed(1)
  const middle = BAR_HEIGHT / 2
  const [line, dot] = high < 0 ? ['l2', 'f2'] : ['l1', 'f1']
  return html`<svg viewBox="0 0 ${BAR_WIDTH} ${BAR_HEIGHT}" class="bar" aria-hidden="true">
    <line class="axis" x1="${x(0)}" x2="${x(0)}" y1="0" y2="${BAR_HEIGHT}" />
    <line class="line solid ${line}" x1="${x(low)}" x2="${x(high)}" y1="${middle}" y2="${middle}" />
    <circle class="${dot}" cx="${x(difference)}" cy="${middle}" r="4" />
  </svg>`
}

export function decisionTable({ abstention }: EvaluationReport): Markup {
  if (abstention === null) return NOTHING
  return html`<div class="scroll" tabindex="0">
    <table class="decision">
      <tbody>
        ${decisionRows(abstention).map(
          ([name, value, meaning]) =>
            html`<tr>
              <th>${name}</th>
              <td>${value}</td>
              <td class="soft small meaning">${meaning}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

/** Returns name, value and meaning of each row. */
function decisionRows(
  abstention: NonNullable<EvaluationReport['abstention']>,
): readonly (readonly [string, string, string])[] {
  const fitted = abstention.folds > 0
  return [
    [
      'Signal',
      abstention.signal,
      fitted
        ? `fitted on these questions, measured with ${abstention.folds}-fold cross-validation`
        : 'default coefficients, not fitted on these questions',
    ],
    [
      'Threshold',
      figure(abstention.threshold),
      `target: at most ${percent(abstention.target_risk)} of the answers without evidence`,
    ],
    [
      'Coverage at target',
      percent(abstention.coverage_at_target),
      abstention.coverage_at_target === 0
        ? 'no threshold keeps the target: only questions that score above all without evidence are answered'
        : 'of all questions are answered while the target is kept',
    ],
    [
      'Answered, with evidence',
      percent(abstention.answered_sufficient),
      'share of the questions with evidence; higher is better',
    ],
    [
      'Answered, without evidence',
      percent(abstention.answered_insufficient),
      'share of the questions without evidence; lower is better',
    ],
    [
      'AUROC',
      abstention.auroc_ci === null
        ? figure(abstention.auroc)
        : `${figure(abstention.auroc)} (${range(abstention.auroc_ci)})`,
      'probability that a question with evidence scores above one without; 0.5 is random',
    ],
    ['AURC', figure(abstention.aurc), 'mean risk over all coverages; lower is better'],
    [
      'Calibration error',
      figure(abstention.ece),
      'mean distance between predicted and observed, fifteen bins of equal width',
    ],
  ]
}
