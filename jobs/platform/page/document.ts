import { readFileSync } from 'node:fs'
import { NOTHING, html, scriptElement, styleSheet, type Markup } from './markup.ts'

/** The policy stops browsers from loading anything, and from running anything else, even if a text contains markup. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'"

const REVIEW_SCRIPT = scriptElement(readFileSync(new URL('./review.mjs', import.meta.url), 'utf8'))

export const STYLE_SHEET = readFileSync(new URL('./style.css', import.meta.url), 'utf8')
const STYLE = styleSheet(STYLE_SHEET)

/**
 * Renders a self-contained HTML page without external resources. Its heading is the title.
 * @param reviewOf version whose review the page is for: it searches, and keeps ticks. Undefined: a page without scripts.
 */
export function renderDocument(title: string, body: Markup, reviewOf?: string): string {
  const policy = reviewOf === undefined ? POLICY : `${POLICY}; script-src 'sha256-${REVIEW_SCRIPT.sha256}'`
  return html`<!doctype html>
    <html lang="en" data-version="${reviewOf ?? ''}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <meta name="referrer" content="no-referrer" />
        <title>${title}</title>
        ${STYLE}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
        ${reviewOf === undefined ? NOTHING : REVIEW_SCRIPT.element}
      </body>
    </html> `.source
}

/**
 * Renders search, kinds and ticks above the cards of a review; `review.mjs` shows them where scripts run.
 * @param kinds value without spaces, and name.
 */
export function reviewTools(kinds: readonly (readonly [value: string, name: string])[]): Markup {
  return html`<div id="tools" role="search" hidden>
    <label>Find <input id="find" type="search" placeholder="words, a label, a document" /></label>
    <label
      >Kind
      <select id="kind">
        <option value="">all</option>
        ${kinds.map(([value, name]) => html`<option value="${value}">${name}</option>`)}
      </select></label
    >
    <label><input id="open" type="checkbox" /> without those ticked</label>
    <output id="found" class="soft"></output>
  </div>`
}

export type Cell = Markup | string | number
/** The first cell names the row. */
export type TableRow<C extends Cell = Cell> =
  | readonly C[]
  | { readonly cells: readonly C[]; readonly style?: 'good' | 'bad' | 'soft' }

/**
 * Renders a table, whose first column names its rows.
 * @param head names of the columns; empty: the table has none. @param of numbers are flush right.
 */
export function tableOf(head: readonly string[], rows: readonly TableRow[], of: 'numbers' | 'words' = 'numbers') {
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

/** A part of a report: a table, then lines. A terminal and a page show the same. */
export interface Section {
  readonly title: string
  readonly lines?: readonly (Markup | string)[]
  readonly head?: readonly string[]
  readonly rows?: readonly TableRow[]
  /** Default: numbers, which are flush right. */
  readonly of?: 'words'
}

export function sectionMarkup({ title, lines = [], head, rows = [], of }: Section): Markup {
  return html`<h2>${title}</h2>
    ${head === undefined ? NOTHING : tableOf(head, rows, of)} ${lines.map((line) => html`<p>${line}</p>`)}`
}
