import type { NaturalFigures } from './figures.ts'

const COLUMNS = ['questions', 'answered', 'right first', 'right in 5', 'first', 'in 5', 'words', 'vectors'] as const
const KIND_WIDTH = 16
const COLUMN_GAP = 2

/** Renders the counts by kind for a terminal. Ends with a new line. */
export function renderTable({ auroc, kinds, systems, corpora }: NaturalFigures): string {
  const kindWidth = Math.max(KIND_WIDTH, ...Object.keys(kinds).map((kind) => kind.length + COLUMN_GAP))
  const row = (name: string, cells: readonly (string | number)[]): string =>
    `${name.padEnd(kindWidth)}${cells.map((cell, at) => String(cell).padStart(widthOf(at))).join('')}`
  return [
    ...corpora.map(
      ({ corpus, passages, questions, calibration }) =>
        `${corpus}: ${passages} passages, ${questions} questions; threshold ${calibration.threshold.toFixed(3)}`,
    ),
    '',
    row('', ['', '', 'listed', 'listed', 'answered', 'answered', 'listed', 'listed']),
    row('kind', COLUMNS),
    ...Object.entries(kinds).map(([kind, counts]) =>
      row(kind, [
        counts.n,
        counts.answered,
        counts.listed_first,
        counts.listed_at5,
        counts.answered_first,
        counts.answered_at5,
        systems.lexical[kind] ?? 0,
        systems.dense[kind] ?? 0,
      ]),
    ),
    '',
    `AUROC of the observed value, kinds named and plain against all unanswerable: ${auroc?.toFixed(4) ?? '–'}`,
    '',
  ].join('\n')
}

function widthOf(column: number): number {
  return Math.max('answered'.length, COLUMNS[column]?.length ?? 0) + COLUMN_GAP
}
