import { calibratedOnWords } from '#jobs/evaluation/command/table.ts'
import type { KindCounts, NaturalFigures } from './figures.ts'

const KIND_WIDTH = 16
const COLUMN_WIDTH = 13
const COLUMN_GAP = 2

/** Renders the counts by kind for a terminal. Ends with a new line. */
export function renderTable(figures: NaturalFigures): string {
  const kinds = Object.entries(figures.kinds)
  const kindWidth = Math.max(KIND_WIDTH, ...kinds.map(([kind]) => kind.length + COLUMN_GAP))
  const row = (name: string, cells: readonly (string | number)[]): string =>
    `${name.padEnd(kindWidth)}${cells.map((cell) => String(cell).padStart(COLUMN_WIDTH)).join('')}`
  const rows = kinds.map(([kind, counts]) => ({ kind, columns: columnsOf(counts, kind, figures) }))
  const [{ columns: headings } = { columns: [] }] = rows
  return [
    ...corpusLines(figures),
    '',
    row(
      '',
      headings.map(({ group }) => group),
    ),
    row(
      'kind',
      headings.map(({ label }) => label),
    ),
    ...rows.map(({ kind, columns }) =>
      row(
        kind,
        columns.map(({ count }) => count),
      ),
    ),
    '',
    aurocLine(figures),
    '',
  ].join('\n')
}

interface Column {
  /** What the count is of: the list, the answers, or the list of one system alone. */
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
