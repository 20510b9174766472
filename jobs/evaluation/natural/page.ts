import { renderDocument } from '#jobs/evaluation/page/document.ts'
import { html } from '#jobs/evaluation/page/markup.ts'
import { aurocLine, columnsOf, corpusLines } from './columns.ts'
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
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Kind</th>
              ${headings.map(({ group, label }) => html`<th class="n">${group} ${label}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${rows.map(
              ({ kind, columns }) =>
                html`<tr>
                  <th>${kind}</th>
                  ${columns.map(({ count }) => html`<td class="n">${count}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <ul>
        ${corpusLines(figures).map((line) => html`<li>${line}</li>`)}
      </ul>`,
  )
}
