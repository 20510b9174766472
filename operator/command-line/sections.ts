import { renderDocument, tableOf, type TableRow } from '#jobs/platform/page/document.ts'
import { html } from '#jobs/platform/page/markup.ts'
import { aligned } from './table.ts'

/** A part of a report: a table, then lines. A terminal and a page show the same. */
export interface Section {
  readonly title: string
  readonly lines?: readonly string[]
  readonly head?: readonly string[]
  readonly rows?: readonly TableRow<string | number>[]
}

export function renderText(sections: readonly Section[]): string {
  return sections
    .map(({ title, lines = [], head, rows = [] }) => {
      const cells = rows.map((row) => ('cells' in row ? row.cells : row).map(String))
      const table = head === undefined ? [] : aligned([head, ...cells], (column) => column > 0)
      return [title, ...[...table, ...lines].map((line) => `  ${line}`)].join('\n')
    })
    .join('\n\n')
}

/** One self-contained page. */
export function renderPage(title: string, sections: readonly Section[]): string {
  return renderDocument(
    title,
    html`${sections.map(
      ({ title: heading, lines = [], head, rows = [] }) =>
        html`<h2>${heading}</h2>
          ${head === undefined ? '' : tableOf(head, rows)} ${lines.map((line) => html`<p>${line}</p>`)}`,
    )}`,
  )
}
