import { RANKING_METRICS } from '#jobs/evaluation/metrics/ranking.ts'
import { RANKING_MODES, type EvaluationReport, type Gate } from './evaluation-report.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'
import { tableOf } from '#jobs/platform/page/document.ts'
import { figure, milliseconds, percent, range, signed, whole } from './numbers.ts'
import { metricName } from './verdict.ts'

/** Changes against the active version have a section of their own. */
export function gatesTable(all: readonly Gate[]): Markup {
  const gates = all.filter(({ group }) => group !== 'changes')
  if (gates.length === 0) return NOTHING
  // Failed gates come first, since a reviewer needs them most.
  const ordered = [...gates.filter((gate) => !gate.passed), ...gates.filter((gate) => gate.passed)]
  return html`<h2>Gates</h2>
    ${tableOf(
      ['Gate', 'Measured', 'Bound', ''],
      ordered.map(({ label, value, direction, bound, passed }) => [
        label,
        measure(value),
        `${direction === 'at_least' ? '≥' : '≤'} ${measure(bound)}`,
        passed ? html`<b class="good">✓ met</b>` : html`<b class="bad">✗ missed</b>`,
      ]),
    )}`
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
    return [
      metricName(metric),
      ...shown.map((name, at) => {
        const ci = systems[name]?.ci[metric]
        return html`<b class="${values[at] === best ? 'best' : ''}">${figure(values[at] ?? 0)}</b
          ><small>${ci === undefined ? '' : range(ci)}</small>`
      }),
    ]
  })
  const times = shown.map((name) => {
    const time = latencies[name]
    return time === undefined ? '–' : html`${milliseconds(time.p50)}<small>p99 ${milliseconds(time.p99)}</small>`
  })
  return html`<h2>Ranking</h2>
    <p>
      Means over ${whole(answerable)} answerable questions, with 95 % bootstrap intervals
      below${shown.length > 1 ? '; the best of a row is bold' : ''}. 1 is best: recall@k is the share of the relevant
      passages among the first k; nDCG, MAP and MRR fall as they stand further down.
    </p>
    ${tableOf(['', ...shown], Object.keys(latencies).length === 0 ? rows : [...rows, ['time, p50', ...times]])}`
}

export function comparisonTable({ comparison }: EvaluationReport): Markup {
  if (comparison === null) return NOTHING
  const { version_id: active, questions, questions_from: from, metrics } = comparison
  const rows = RANKING_METRICS.map((metric) => {
    const { candidate, active: held, difference, ci } = metrics[metric]
    const sign = ci[1] < 0 ? 'bad' : ci[0] > 0 ? 'good' : ''
    const change = html`<b class="${sign}">${signed(difference)}</b><small>${signed(ci[0])} to ${signed(ci[1])}</small>`
    return [metricName(metric), figure(held), figure(candidate), change]
  })
  return html`<h2>Against the active version</h2>
    <p>
      Version <code>${active}</code>, question by question on the ${whole(questions)} that both were
      asked${from === undefined ? '' : ` (${from})`}. Worse means that the whole interval of the difference lies below
      zero.
    </p>
    ${tableOf(['', 'active', 'this one', 'difference'], rows)}`
}

type Abstention = NonNullable<EvaluationReport['abstention']>

export function decisionTable(abstention: Abstention): Markup {
  const { folds, threshold, target_risk, coverage_at_target: coverage, auroc, auroc_ci, aurc, ece } = abstention
  const rows: readonly (readonly [name: string, value: string, meaning: string])[] = [
    [
      'Signal',
      abstention.signal,
      folds > 0
        ? `fitted on these questions, measured with ${folds}-fold cross-validation`
        : 'default coefficients, not fitted on these questions',
    ],
    ['Threshold', figure(threshold), `target: at most ${percent(target_risk)} of the answers without evidence`],
    [
      'Coverage at target',
      percent(coverage),
      coverage === 0
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
      auroc_ci === null ? figure(auroc) : `${figure(auroc)} (${range(auroc_ci)})`,
      'probability that a question with evidence scores above one without; 0.5 is random',
    ],
    ['AURC', figure(aurc), 'mean risk over all coverages; lower is better'],
    ['Calibration error', figure(ece), 'mean distance between predicted and observed, fifteen bins of equal width'],
  ]
  return tableOf(
    [],
    rows.map(([name, value, meaning]) => [name, value, html`<span class="soft small">${meaning}</span>`]),
    'words',
  )
}

const COVERAGES_PERCENT = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100] as const

/** Shows what another threshold would give, and how far the predicted probability is to be believed. */
export function operatingTables({ curve, reliability }: Abstention): Markup {
  const bins = reliability.filter(({ questions }) => questions > 0)
  return html`<h3>Risk and coverage</h3>
    <p>Share of the answers without evidence where the highest-scored questions are answered first. Lower is better.</p>
    ${tableOf(
      ['Questions answered', 'Answers without evidence'],
      COVERAGES_PERCENT.map((coverage) => [`${coverage} %`, percent(riskAt(curve, coverage / 100))]),
    )}
    <h3>Calibration</h3>
    <p>Where less is observed than predicted, the service is overconfident.</p>
    ${tableOf(
      ['Probability of evidence', 'Predicted', 'Observed', 'Questions'],
      bins.map(({ from, to, predicted, observed, questions }) => [
        range([from, to]),
        figure(predicted),
        figure(observed),
        whole(questions),
      ]),
    )}`
}

/** Interpolates the risk between the points of the curve; null where it has none. */
function riskAt(curve: Abstention['curve'], coverage: number): number | null {
  const after = curve.findIndex(([at]) => at >= coverage)
  const [to, from] = [curve[after] ?? curve.at(-1), curve[after - 1]]
  if (to === undefined) return null
  if (from === undefined || to[0] === from[0]) return to[1]
  return from[1] + ((to[1] - from[1]) * (coverage - from[0])) / (to[0] - from[0])
}

/** Shows the recall under filters by kind of filter and share of the passages allowed, and what was asked. */
export function filteredRecallTable({
  filtered_recall: lowest,
  filtered_recall_by_kind: byKind,
  filtered_recall_sample: { questions, sampled_rows: rows, fewer_than_10_passages: few },
}: EvaluationReport): Markup {
  const selectivities = Object.keys(lowest).toSorted((a, b) => Number(b) - Number(a))
  if (selectivities.length === 0) return NOTHING
  const columns = Object.entries({ ...byKind, lowest })
  return html`<h2>Recall under filters</h2>
    <p>
      Of the ten nearest passages that a filter allows, the share that the search returns, against exact search over all
      of them. Asked: ${whole(questions)} questions and the vectors of ${whole(rows)} passages.
    </p>
    ${tableOf(
      ['Allowed', ...columns.map(([kind]) => kind)],
      selectivities.map((share) => [
        html`${share} %${few.includes(share) ? html`<small>fewer than 10 passages</small>` : NOTHING}`,
        ...columns.map(([, recall]) => figure(recall[share] ?? null)),
      ]),
    )}`
}
