import { aurocLine, columnsOf, corpusLines } from './columns.ts'
import type { NaturalFigures } from './figures.ts'

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
