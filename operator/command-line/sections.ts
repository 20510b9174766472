import { renderDocument, sectionMarkup, type Section } from '#jobs/platform/page/document.ts'
import { html, textOf } from '#jobs/platform/page/markup.ts'
import { aligned } from './table.ts'

export type { Section }

export function renderText(sections: readonly Section[]): string {
  return sections
    .map(({ title, lines = [], head, rows = [], of }) => {
      const cells = rows.map((row) => ('cells' in row ? row.cells : row).map(textOf))
      const named = head === undefined || head.length === 0 ? cells : [head, ...cells]
      const table = aligned(named, (column) => column > 0 && of !== 'words')
      return [title, ...[...table, ...lines.map(textOf)].map((line) => `  ${line}`)].join('\n')
    })
    .join('\n\n')
}

/** One self-contained page. */
export function renderPage(title: string, sections: readonly Section[]): string {
  return renderDocument(title, html`${sections.map(sectionMarkup)}`)
}
