import { NOTHING, html } from './markup.ts'
import type { Markup } from './markup.ts'

export type Cell = Markup | string | number
/** The first cell names the row. */
export type TableRow<C extends Cell = Cell> =
  | readonly C[]
  | { readonly cells: readonly C[]; readonly style?: 'good' | 'bad' | 'soft' }

/**
 * Renders a table, whose first column names its rows.
 * @param head names of the columns; empty: the table has none. @param of numbers are flush right.
 */
export function tableOf(
  head: readonly string[],
  rows: readonly TableRow[],
  of: 'numbers' | 'words' = 'numbers',
): Markup {
  const flush = of === 'numbers' ? 'n' : ''
  const named = (name: string, at: number): Markup =>
    name === '' ? html`<td></td>` : html`<th class="${at === 0 ? '' : flush}">${name}</th>`
  return html`<div class="scroll" tabindex="0">
    <table>
      ${
        head.length === 0
          ? NOTHING
          : html`<thead>
              <tr>
                ${head.map(named)}
              </tr>
            </thead>`
      }
      <tbody>
        ${rows.map((row) => {
          const { cells, style = '' } = 'cells' in row ? row : { cells: row }
          const [name = '', ...values] = cells
          return html`<tr class="${style}">
            <th>${name}</th>
            ${values.map((value) => html`<td class="${flush}">${value}</td>`)}
          </tr>`
        })}
      </tbody>
    </table>
  </div>`
}
