import { html } from './markup.ts'
import type { Markup } from './markup.ts'

/**
 * Search, kinds and ticks above the cards of a review; `review.mjs` shows them where scripts run.
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
