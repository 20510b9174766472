import { calibratedOnWords } from '#operator/evaluate/table.ts'
import type { Counts, KindCounts, NaturalFigures } from './figures.ts'

const KIND_WIDTH = 16
const COLUMN_WIDTH = 16
const COLUMN_GAP = 2

/** Renders the counts by half and kind for a terminal, with 95 % intervals of shares in per cent. Ends with a new line. */
export function renderTable(figures: NaturalFigures): string {
  const kinds = Object.keys(figures.kinds)
  const kindWidth = Math.max(KIND_WIDTH, ...kinds.map((kind) => kind.length + COLUMN_GAP))
  const row = (name: string, cells: readonly (string | number)[]): string =>
    `${name.padEnd(kindWidth)}${cells.map((cell) => String(cell).padStart(COLUMN_WIDTH)).join('')}`
  const tables = tablesOf(figures).flatMap(({ half, auroc, rows, headings }) => [
    '',
    row(
      `${half} half`,
      headings.map(({ group }) => group),
    ),
    row(
      'kind',
      headings.map(({ label }) => label),
    ),
    ...rows.map(({ kind, columns }) =>
      row(
        kind,
        columns.map(({ cell }) => cell),
      ),
    ),
    auroc,
  ])
  return [...corpusLines(figures), ...tables, ''].join('\n')
}

interface Column {
  /** What the count is of: the list, the answers, or the list of one system alone. */
  readonly group: string
  readonly label: string
  readonly cell: string | number
}

interface HalfTable {
  readonly half: string
  readonly headings: readonly Pick<Column, 'group' | 'label'>[]
  readonly rows: readonly { readonly kind: string; readonly columns: readonly Column[] }[]
  readonly auroc: string
}

/** Returns one table for each half that was asked, as the terminal and the page show it. */
export function tablesOf({ halves }: NaturalFigures): readonly HalfTable[] {
  return Object.entries(halves).map(([half, counts]) => {
    const rows = Object.entries(counts.kinds).map(([kind, ofKind]) => ({
      kind,
      columns: columnsOf(ofKind, kind, counts),
    }))
    return { half, headings: rows[0]?.columns ?? [], rows, auroc: aurocLine(counts) }
  })
}

function columnsOf({ n, answered, intervals, ...right }: KindCounts, kind: string, { systems }: Counts): Column[] {
  return [
    { group: '', label: 'questions', cell: n },
    { group: '', label: 'answered', cell: withInterval(answered, intervals.answered) },
    { group: 'listed', label: 'right first', cell: right.listed_first },
    { group: 'listed', label: 'right in 5', cell: withInterval(right.listed_at5, intervals.listed_at5) },
    { group: 'answered', label: 'right first', cell: right.answered_first },
    { group: 'answered', label: 'right in 5', cell: withInterval(right.answered_at5, intervals.answered_at5) },
    { group: 'words', label: 'right in 5', cell: systems.lexical?.[kind] ?? 0 },
    ...(systems.dense === undefined ? [] : [{ group: 'vectors', label: 'right in 5', cell: systems.dense[kind] ?? 0 }]),
  ]
}

function withInterval(count: number, interval: readonly [number, number] | null): string {
  if (interval === null) return `${count}`
  const [low, high] = interval.map((share) => Math.round(share * 100))
  return `${count} [${low}, ${high}]`
}

/** One line for each corpus: what was asked, and what its decision was calibrated on. */
export function corpusLines({ corpora }: NaturalFigures): readonly string[] {
  return corpora.map(
    ({ corpus, passages, questions, calibration: { threshold, calibrated_on: on } }) =>
      `${corpus}: ${passages} passages, ${questions} questions; threshold ${threshold.toFixed(3)}, ` +
      `calibrated on ${calibratedOnWords(on)}`,
  )
}

function aurocLine({ auroc }: Counts): string {
  return `AUROC of the observed value, kinds named and plain against all unanswerable: ${auroc?.toFixed(4) ?? '–'}`
}
