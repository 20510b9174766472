import { renderDocument } from '#jobs/platform/page/document.ts'
import { html } from '#jobs/platform/page/markup.ts'
import { tableOf } from '#jobs/platform/page/table.ts'
import type { TableRow as Row } from '#jobs/platform/page/table.ts'

type TableRow = Row<string | number>

/** A part of a report. A terminal and a page show the same. */
export interface Section {
  readonly title: string
  readonly lines?: readonly string[]
  readonly head?: readonly string[]
  readonly rows?: readonly TableRow[]
}

export function renderText(sections: readonly Section[]): string {
  return sections
    .map(({ title, lines = [], head, rows = [] }) =>
      [
        title,
        ...(head === undefined ? [] : [aligned([head, ...rows.map((row) => ('cells' in row ? row.cells : row))])]),
        ...lines,
      ].join('\n'),
    )
    .join('\n\n')
}

function aligned(rows: readonly (readonly (string | number)[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => String(row[at] ?? '').length)))
  return rows
    .map((row) => `  ${row.map((cell, at) => String(cell).padEnd(widths[at] ?? 0)).join('  ')}`.trimEnd())
    .join('\n')
}

/** One self-contained page. */
export function renderPage(title: string, sections: readonly Section[]): string {
  return renderDocument(
    title,
    html`${sections.map(
      (section) =>
        html`<h2>${section.title}</h2>
          ${section.head === undefined ? '' : tableOf(section.head, section.rows ?? [])}
          ${(section.lines ?? []).map((line) => html`<p>${line}</p>`)}`,
    )}`,
  )
}
