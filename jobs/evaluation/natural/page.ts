import { renderDocument } from '#jobs/page/document.ts'
import { html } from '#jobs/page/markup.ts'
import { tableOf } from '#jobs/page/table.ts'
import { aurocLine, columnsOf, corpusLines } from './table.ts'
import type { NaturalFigures } from './figures.ts'

/** Renders the counts by kind as one self-contained HTML page; all text is escaped. */
export function renderNaturalPage(figures: NaturalFigures): string {
  const rows = Object.entries(figures.kinds).map(([kind, counts]) => ({
    kind,
    columns: columnsOf(counts, kind, figures),
  }))
  const [{ columns: headings } = { columns: [] }] = rows
  return renderDocument(
    'Natural questions of versions without a question set',
    html`<p>${aurocLine(figures)}</p>
      <p>
        A list counts whatever the decision, an answer only where the decision is to answer. Words and vectors are the
        lists of each alone.
      </p>
      ${tableOf(
        ['Kind', ...headings.map(({ group, label }) => `${group} ${label}`)],
        rows.map(({ kind, columns }) => ({ cells: [kind, ...columns.map(({ count }) => count)] })),
      )}
      <ul>
        ${corpusLines(figures).map((line) => html`<li>${line}</li>`)}
      </ul>`,
  )
}
