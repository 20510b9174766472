import { renderDocument } from '#jobs/platform/page/document.ts'
import { html } from '#jobs/platform/page/markup.ts'
import { tableOf } from '#jobs/platform/page/table.ts'
import { corpusLines, tablesOf } from './table.ts'
import type { NaturalFigures } from './figures.ts'

/** Renders the counts by kind as one self-contained HTML page; all text is escaped. */
export function renderNaturalPage(figures: NaturalFigures): string {
  return renderDocument(
    'Natural questions of versions without a question set',
    html`<p>
        A list counts whatever the decision, an answer only where the decision is to answer. Words and vectors are the
        lists of each alone. Brackets have 95 % intervals in per cent of the questions; of right answers, in per cent of
        the lists.
      </p>
      ${tablesOf(figures).map(
        ({ half, headings, rows, auroc }) =>
          html`<h2>The ${half} half</h2>
            ${tableOf(
              ['Kind', ...headings.map(({ group, label }) => `${group} ${label}`)],
              rows.map(({ kind, columns }) => ({ cells: [kind, ...columns.map(({ cell }) => cell)] })),
            )}
            <p>${auroc}</p>`,
      )}
      <ul>
        ${corpusLines(figures).map((line) => html`<li>${line}</li>`)}
      </ul>`,
  )
}
