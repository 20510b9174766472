import { RANKING_METRICS } from '#jobs/evaluation/metrics/ranking.ts'
import { RANKING_MODES, type EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'
import { metricName, refusedInWords } from '#jobs/evaluation/page/verdict.ts'
import type { Section } from '#operator/command-line/sections.ts'

const NONE = '–'

/**
 * Returns the figures for a terminal: the systems side by side, each mean with its 95 % interval.
 * @param ranked number of questions in the means.
 */
export function dataSetSections(report: EvaluationReport, documents: number, ranked: number): readonly Section[] {
  const systems = RANKING_MODES.filter((system) => report.systems[system] !== undefined)
  return [
    {
      title:
        `${report.dataset}: ${report.passages} passages of ${documents} documents; ${report.queries} ` +
        `questions asked, ${ranked} of them judged for ranking`,
      head: ['', ...systems],
      rows: [
        ...RANKING_METRICS.map((metric) => [
          metricName(metric),
          ...systems.map((system) => {
            const figures = report.systems[system]
            return figures === undefined ? NONE : `${figures[metric].toFixed(4)} ${interval(figures.ci[metric])}`
          }),
        ]),
        ...(['p50', 'p99'] as const).map((part) => [
          `latency ${part}`,
          ...systems.map((system) => {
            const figures = report.latency_ms_by_system[system]
            return figures === undefined ? NONE : `${figures[part].toFixed(1)} ms`
          }),
        ]),
      ],
    },
    abstentionSection(report),
    ...readerSections(report),
    ...filteredSections(report),
  ]
}

function abstentionSection({ abstention, calibrated_on: on }: EvaluationReport): Section {
  const calibrated = `calibrated on ${calibratedOnWords(on)}`
  if (abstention === null)
    return {
      title: 'abstention: not measured; it needs questions labelled answerable and unanswerable',
      lines: [calibrated],
    }
  const { signal, auroc, auroc_ci: ci, aurc, ece, target_risk: target, folds } = abstention
  const { coverage_at_target: coverage, answered_sufficient: right, answered_insufficient: wrong } = abstention
  return {
    title: `abstention (${signal}, ${folds} folds)`,
    lines: [
      `AUROC ${figure(auroc)}${ci === null ? '' : ` ${interval(ci)}`}, AURC ${figure(aurc)}, ECE ${figure(ece)}`,
      `at ${percent(target)} risk: coverage ${figure(coverage)}; answered: ${percent(right)} of the answerable, ` +
        `${percent(wrong)} of the unanswerable`,
      calibrated,
    ],
  }
}

function readerSections({ reader }: EvaluationReport): readonly Section[] {
  if (reader === undefined) return []
  const { model, questions, answerable, answered_answerable: right, answered_unanswerable: wrong, is_fitted } = reader
  return [
    {
      title:
        `with the reader ${model}, on ${questions} labelled questions, ` +
        (is_fitted ? 'fitted out of fold' : 'by the default of chat models'),
      lines: [
        `AUROC ${figure(reader.auroc)}; answered: ${right} of ${answerable} answerable, ` +
          `${wrong} of ${questions - answerable} unanswerable`,
      ],
    },
  ]
}

function filteredSections({
  filtered_recall_by_kind: kinds,
  filtered_recall_sample: { questions, sampled_rows: rows, fewer_than_10_passages: few },
}: EvaluationReport): readonly Section[] {
  const shares = [...new Set(Object.values(kinds).flatMap(Object.keys))].sort((a, b) => Number(b) - Number(a))
  if (shares.length === 0) return []
  return [
    {
      title: 'recall@10 of the vectors against exact search, by the share of the passages that a filter allows',
      head: ['', ...shares.map((share) => `${share} %`)],
      rows: Object.entries(kinds).map(([kind, recall]) => [
        kind,
        ...shares.map((share) => figure(recall[share] ?? null)),
      ]),
      lines: [
        `asked: ${questions} questions and the vectors of ${rows} passages`,
        ...(few.length === 0 ? [] : [`fewer than 10 passages: ${few.map((share) => `${share} %`).join(', ')}`]),
      ],
    },
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
