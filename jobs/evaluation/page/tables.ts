import { RANKING_METRICS } from '#jobs/evaluation/metrics/ranking.ts'
import { RANKING_MODES, type EvaluationReport } from './evaluation-report.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'
import type { Section } from '#jobs/platform/page/document.ts'
import { figure, milliseconds, percent, range, signed, whole } from './numbers.ts'
import { metricName, refusedInWords } from './verdict.ts'

/** What is measured, as tables of a page and of a terminal. */
export function reportSections(report: EvaluationReport): readonly Section[] {
  return [
    ...gatesSection(report),
    ...rankingSection(report),
    ...comparisonSection(report),
    ...decisionSections(report),
    ...filteredRecallSection(report),
  ]
}

/** Changes against the active version have a section of their own. */
function gatesSection({ gates: all }: EvaluationReport): readonly Section[] {
  const gates = all.filter(({ group }) => group !== 'changes')
  if (gates.length === 0) return []
  // Failed gates come first, since a reviewer needs them most.
  const ordered = [...gates.filter((gate) => !gate.passed), ...gates.filter((gate) => gate.passed)]
  return [
    {
      title: 'Gates',
      head: ['Gate', 'Measured', 'Bound', ''],
      rows: ordered.map(({ label, value, direction, bound, passed }) => [
        label,
        measure(value),
        `${direction === 'at_least' ? '≥' : '≤'} ${measure(bound)}`,
        passed ? html`<b class="good">✓ met</b>` : html`<b class="bad">✗ missed</b>`,
      ]),
    },
  ]
}

/** Formats shares with three decimals and larger values, such as times, with at most one. */
function measure(value: number | null): string {
  return value === null || Math.abs(value) <= 1 ? figure(value) : whole(Number(value.toFixed(1)))
}

function rankingSection(report: EvaluationReport): readonly Section[] {
  const { systems, latency_ms_by_system: latencies, answerable } = report
  const shown = RANKING_MODES.filter((name) => systems[name] !== undefined)
  if (shown.length === 0) return []
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
  return [
    {
      title: 'Ranking',
      head: ['', ...shown],
      rows: Object.keys(latencies).length === 0 ? rows : [...rows, ['time, p50', ...times]],
      lines: [
        html`Means over ${whole(answerable)} answerable questions, with 95 % bootstrap
        intervals${shown.length > 1 ? '; the best of a row is bold' : ''}. 1 is best: recall@k is the share of the
        relevant passages among the first k; nDCG, MAP and MRR fall as they stand further down.`,
        rankingParameters(report),
      ],
    },
  ]
}

function rankingParameters({ ranking, systems, long_passages: long }: EvaluationReport): Markup {
  const { dense_weight: weight, reranker } = ranking
  return html`${
    systems.hybrid === undefined
      ? 'The version has no vectors: words alone rank.'
      : `Vectors weigh ${figure(weight)} in the hybrid ranking, words ${figure(1 - weight)}.`
  }
  ${reranker === null ? '' : html`The model <code>${reranker}</code> re-ranks.`}
  ${
    long === undefined || long.passages === 0
      ? ''
      : html`${whole(long.passages)} passages are longer than the embedding model reads at once:
        ${long.windows ? 'each was embedded in windows, to its end.' : 'a search by vector does not see their end.'}`
  }`
}

function comparisonSection({ comparison }: EvaluationReport): readonly Section[] {
  if (comparison === null) return []
  const { version_id: active, questions, questions_from: from, metrics } = comparison
  const rows = RANKING_METRICS.map((metric) => {
    const { candidate, active: held, difference, ci } = metrics[metric]
    const sign = ci[1] < 0 ? 'bad' : ci[0] > 0 ? 'good' : ''
    const change = html`<b class="${sign}">${signed(difference)}</b><small>${signed(ci[0])} to ${signed(ci[1])}</small>`
    return [metricName(metric), figure(held), figure(candidate), change]
  })
  const about = html`Version <code>${active}</code>, question by question on the ${whole(questions)} that both were
    asked${from === undefined ? '' : ` (${from})`}. Worse means that the whole interval of the difference lies below
    zero.`
  const head = ['', 'active', 'this one', 'difference']
  return [{ title: 'Against the active version', head, rows, lines: [about] }]
}

const NOT_FITTED: Readonly<Record<EvaluationReport['kind'], string>> = {
  'known items': 'Field questions were not asked.',
  'question set': 'The question set has too few labels of both kinds to calibrate it.',
  'data set': 'The data set has too few labels of both kinds to calibrate it.',
}
const TOO_SMALL =
  ' The version is too small to measure what its passages hold of a question by chance: that of ten passages applies.'

function decisionSections(report: EvaluationReport): readonly Section[] {
  const { abstention } = report
  const title = 'The decision'
  const lines = [calibratedOn(report), ...modelDecisions(report)]
  if (abstention === null) {
    const none = 'Not measured: the questions do not say which of them cannot be answered.'
    return [{ title, lines: [none, ...lines] }]
  }
  return [{ title, of: 'words', head: [], rows: decisionRows(abstention), lines }, ...operatingSections(abstention)]
}

/** What the decision was calibrated on, and how far that carries. */
function calibratedOn({ calibrated_on: on, kind, chance_questions: chance }: EvaluationReport): string {
  if (on.source === 'question set')
    return (
      `Calibrated on the question set: threshold and figures come from ${whole(on.questions)} labelled questions, each ` +
      'scored by a model that was fitted without it.'
    )
  const why = on.refused === undefined ? NOT_FITTED[kind] : refusedInWords(on.refused)
  return `The default decision applies. ${why}${chance === 0 ? TOO_SMALL : ''}`
}

/** How the decision changes where the rewriter writes queries, and where the reader reads. */
function modelDecisions({ rewriter, reader, systems }: EvaluationReport): readonly Markup[] {
  const measured = systems.hybrid === undefined ? '' : ', which was measured by words alone'
  return [
    ...modelDecision('rewriter', rewriter, `decides by the default${measured}; no labelled question was rewritten.`),
    ...modelDecision('reader', reader, 'decides by the default of chat models; no labelled question was read.'),
  ]
}

function modelDecision(name: string, figures: EvaluationReport['reader'], byDefault: string): readonly Markup[] {
  if (figures === undefined) return []
  const { model, questions, answerable, answered_answerable: right, answered_unanswerable: wrong, is_fitted } = figures
  if (questions === 0) return [html`The ${name} <code>${model}</code> ${byDefault}`]
  return [
    html`With the ${name} <code>${model}</code>, ${whole(right)} of ${whole(answerable)} answerable questions are
      answered and ${whole(wrong)} of ${whole(questions - answerable)} others, AUROC ${figure(figures.auroc)};
      ${is_fitted ? 'each was scored by a model that was fitted without it' : 'the default decided'}.`,
  ]
}

type Abstention = NonNullable<EvaluationReport['abstention']>

function decisionRows(abstention: Abstention) {
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
  return rows.map(([name, value, meaning]) => [name, value, html`<span class="soft small">${meaning}</span>`])
}

const COVERAGES_PERCENT = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100] as const

/** What another threshold would give, and how far the predicted probability is to be believed. */
function operatingSections({ curve, reliability }: Abstention): readonly Section[] {
  return [
    {
      title: 'Risk and coverage',
      head: ['Questions answered', 'Answers without evidence'],
      rows: COVERAGES_PERCENT.map((coverage) => [`${coverage} %`, percent(riskAt(curve, coverage / 100))]),
      lines: [
        'Share of the answers without evidence where the highest-scored questions are answered first. Lower is better.',
      ],
    },
    {
      title: 'Calibration',
      head: ['Probability of evidence', 'Predicted', 'Observed', 'Questions'],
      rows: reliability
        .filter(({ questions }) => questions > 0)
        .map(({ from, to, predicted, observed, questions }) => [
          range([from, to]),
          figure(predicted),
          figure(observed),
          whole(questions),
        ]),
      lines: ['Where less is observed than predicted, the service is overconfident.'],
    },
  ]
}

/** Interpolates the risk between the points of the curve; null where it has none. */
function riskAt(curve: Abstention['curve'], coverage: number): number | null {
  const after = curve.findIndex(([at]) => at >= coverage)
  const [to, from] = [curve[after] ?? curve.at(-1), curve[after - 1]]
  if (to === undefined) return null
  if (from === undefined || to[0] === from[0]) return to[1]
  return from[1] + ((to[1] - from[1]) * (coverage - from[0])) / (to[0] - from[0])
}

/** The recall under filters by kind of filter and share of the passages allowed, and what was asked. */
function filteredRecallSection({
  filtered_recall: lowest,
  filtered_recall_by_kind: byKind,
  filtered_recall_sample: { questions, sampled_rows: sampled, fewer_than_10_passages: few },
}: EvaluationReport): readonly Section[] {
  const selectivities = Object.keys(lowest).toSorted((a, b) => Number(b) - Number(a))
  if (selectivities.length === 0) return []
  const columns = Object.entries({ ...byKind, lowest })
  return [
    {
      title: 'Recall under filters',
      head: ['Allowed', ...columns.map(([kind]) => kind)],
      rows: selectivities.map((share) => [
        html`${share} %${few.includes(share) ? html`<small>fewer than 10 passages</small>` : NOTHING}`,
        ...columns.map(([, recall]) => figure(recall[share] ?? null)),
      ]),
      lines: [
        'Of the ten nearest passages that a filter allows, the share that the search returns, against exact search over ' +
          `all of them. Asked: ${whole(questions)} questions and the vectors of ${whole(sampled)} passages.`,
      ],
    },
  ]
}
