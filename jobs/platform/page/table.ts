import { html } from './markup.ts'
import type { Markup } from './markup.ts'

export interface TableRow {
  /** The first names the row. */
  readonly cells: readonly (string | number)[]
  readonly style?: 'good' | 'bad' | 'soft'
}

/** Renders a table of numbers: the first column names its rows, the others are flush right. */
export function tableOf(head: readonly string[], rows: readonly TableRow[]): Markup {
  return html`<div class="scroll" tabindex="0">
    <table>
      <thead>
        <tr>
          ${head.map((name, at) => (name === '' ? html`<td></td>` : html`<th class="${at === 0 ? '' : 'n'}">${name}</th>`))}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ cells: [name = '', ...values], style = '' }) =>
            html`<tr class="${style}">
              <th>${name}</th>
              ${values.map((value) => html`<td class="n">${value}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}
