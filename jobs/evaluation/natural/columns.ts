import { calibratedOnWords } from '#jobs/evaluation/page/calibrated-on.ts'
import type { KindCounts, NaturalFigures } from './figures.ts'

export interface Column {
  /** What is counted: the list, the answers, or the list of one ranking mode. */
  readonly group: string
  readonly label: string
  readonly count: number
}

/** Returns the counts of one kind, as the terminal and the page show them. */
export function columnsOf({ n, answered, ...right }: KindCounts, kind: string, { systems }: NaturalFigures): Column[] {
  return [
    { group: '', label: 'questions', count: n },
    { group: '', label: 'answered', count: answered },
    { group: 'listed', label: 'right first', count: right.listed_first },
    { group: 'listed', label: 'right in 5', count: right.listed_at5 },
    { group: 'answered', label: 'right first', count: right.answered_first },
    { group: 'answered', label: 'right in 5', count: right.answered_at5 },
    { group: 'words', label: 'right in 5', count: systems.lexical?.[kind] ?? 0 },
    ...(systems.dense === undefined
      ? []
      : [{ group: 'vectors', label: 'right in 5', count: systems.dense[kind] ?? 0 }]),
  ]
}

/** One line for each corpus: what was asked, and what its decision was calibrated on. */
export function corpusLines({ corpora }: NaturalFigures): readonly string[] {
  return corpora.map(
    ({ corpus, passages, questions, calibration: { threshold, calibrated_on: on } }) =>
      `${corpus}: ${passages} passages, ${questions} questions; threshold ${threshold.toFixed(3)}, ` +
      `calibrated on ${calibratedOnWords(on)}`,
  )
}

export function aurocLine({ auroc }: NaturalFigures): string {
  return `AUROC of the observed value, kinds named and plain against all unanswerable: ${auroc?.toFixed(4) ?? '–'}`
}
