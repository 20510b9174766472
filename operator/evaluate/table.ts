import { RANKING_MODES } from '#jobs/evaluation/ask.ts'
import type { RankingMode } from '#jobs/evaluation/ask.ts'
import { RANKING_METRICS } from '#jobs/evaluation/metrics/ranking.ts'
import type { EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'
import { metricName, refusedInWords } from '#jobs/evaluation/page/verdict.ts'

const NAME_WIDTH = 16
const COLUMN_WIDTH = 24
const NONE = '–'

/**
 * Renders the figures for a terminal: the systems side by side, each mean with its 95 % interval. Ends with a new line.
 * @param ranked number of questions in the means.
 */
export function renderTable(report: EvaluationReport, documents: number, ranked: number): string {
  const systems = RANKING_MODES.filter((system) => report.systems[system] !== undefined)
  const row = (name: string, cell: (system: RankingMode) => string): string =>
    `${name.padEnd(NAME_WIDTH)}${systems.map((system) => cell(system).padEnd(COLUMN_WIDTH)).join('')}`.trimEnd()
  return [
    `${report.dataset}: ${report.passages} passages of ${documents} documents; ${report.queries} ` +
      `questions asked, ${ranked} of them judged for ranking`,
    '',
    row('', (system) => system),
    ...RANKING_METRICS.map((metric) =>
      row(metricName(metric), (system) => {
        const figures = report.systems[system]
        return figures === undefined ? NONE : `${figures[metric].toFixed(4)} ${interval(figures.ci[metric])}`
      }),
    ),
    ...(['p50', 'p99'] as const).map((part) =>
      row(`latency ${part}`, (system) => {
        const figures = report.latency_ms_by_system[system]
        return figures === undefined ? NONE : `${figures[part].toFixed(1)} ms`
      }),
    ),
    '',
    ...abstentionLines(report),
    `  calibrated on ${calibratedOnWords(report.calibrated_on)}`,
    ...readerLines(report),
    ...filteredLines(report),
    '',
  ].join('\n')
}

function abstentionLines({ abstention }: EvaluationReport): readonly string[] {
  if (abstention === null) return ['abstention: not measured; it needs questions labelled answerable and unanswerable']
  const {
    signal,
    auroc,
    auroc_ci: ci,
    aurc,
    ece,
    target_risk: target,
    coverage_at_target: coverage,
    folds,
  } = abstention
  const answered =
    `answered: ${percent(abstention.answered_sufficient)} of the answerable, ` +
    `${percent(abstention.answered_insufficient)} of the unanswerable`
  return [
    `abstention (${signal}, ${folds} folds)`,
    `  AUROC ${figure(auroc)}${ci === null ? '' : ` ${interval(ci)}`}, AURC ${figure(aurc)}, ECE ${figure(ece)}`,
    `  at ${percent(target)} risk: coverage ${figure(coverage)}; ${answered}`,
  ]
}

function readerLines({ reader }: EvaluationReport): readonly string[] {
  if (reader === undefined) return []
  const { model, questions, answerable, answered_answerable: right, answered_unanswerable: wrong, is_fitted } = reader
  return [
    `with the reader ${model}, on ${questions} labelled questions, ` +
      (is_fitted ? 'fitted out of fold' : 'by the default of chat models'),
    `  AUROC ${figure(reader.auroc)}; answered: ${right} of ${answerable} answerable, ` +
      `${wrong} of ${questions - answerable} unanswerable`,
  ]
}

function filteredLines({
  filtered_recall_by_kind: kinds,
  filtered_recall_sample: sample,
}: EvaluationReport): readonly string[] {
  const rows = Object.entries(kinds).map(([kind, recall]) => {
    const shares = Object.keys(recall).sort((a, b) => Number(b) - Number(a))
    const figures = shares.map((share) => `${share} %: ${figure(recall[share] ?? null)}`)
    return `  ${kind.padEnd(NAME_WIDTH - 2)}${figures.join('  ')}`
  })
  return rows.length === 0
    ? []
    : [
        '',
        'recall@10 of the vectors against exact search, by the share of the passages that a filter allows',
        ...rows,
        ...(sample === undefined ? [] : sampleLines(sample)),
      ]
}

function sampleLines(sample: NonNullable<EvaluationReport['filtered_recall_sample']>): readonly string[] {
  const few = sample.fewer_than_10_passages.map((share) => `${share} %`).join(', ')
  return [
    `  asked: ${sample.questions} questions and the vectors of ${sample.sampled_rows} passages`,
    ...(few === '' ? [] : [`  fewer than 10 passages: ${few}`]),
  ]
}

function interval([low, high]: readonly [number, number]): string {
  return `[${low.toFixed(3)}, ${high.toFixed(3)}]`
}

function figure(value: number | null): string {
  return value === null ? NONE : value.toFixed(4)
}

function percent(share: number | null): string {
  return share === null ? NONE : `${Number((share * 100).toFixed(2))} %`
}

/** Returns what a decision was calibrated on, for one line of a terminal. */
export function calibratedOnWords(on: EvaluationReport['calibrated_on']): string {
  return on.source === 'question set'
    ? `${on.questions} labelled questions of the question set`
    : on.refused === undefined
      ? 'no labelled questions: the default applies'
      : `nothing: the default applies. ${refusedInWords(on.refused)}`
}
