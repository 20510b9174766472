import { diffWordsWithSpace } from 'diff'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'

const ELLIPSIS = ' … '

/**
 * Shows two texts as one: deleted and inserted words are marked, and long runs of equal words are cut. Texts that
 * differ in more words than the bound are shown one after the other, so that the time stays bounded.
 */
export function wordDifference(before: string, after: string): readonly Markup[] {
  const parts = diffWordsWithSpace(before, after, { maxEditLength: EVALUATION_BOUNDS.wordDifferenceEditsMax })
  if (parts === undefined) return [marked({ removed: before, added: after })]
  const shown: Markup[] = []
  let open = { removed: '', added: '' }
  for (const [at, { value, added, removed }] of parts.entries()) {
    const last = at === parts.length - 1
    if (added) open.added += value
    else if (removed) open.removed += value
    else if (isOpen(open) && !last && value.trim() === '')
      open = { removed: open.removed + value, added: open.added + value }
    else {
      shown.push(marked(open), html`${shortened(value, at === 0, last)}`)
      open = { removed: '', added: '' }
    }
  }
  return [...shown, marked(open)]
}

interface Replaced {
  readonly removed: string
  readonly added: string
}

function isOpen({ removed, added }: Replaced): boolean {
  return removed !== '' || added !== ''
}

/** White space between two replaced words belongs to the replacement; at its end it is common to both. */
function marked({ removed, added }: Replaced): Markup {
  const common = removed.slice(removed.trimEnd().length)
  const end = removed !== '' && added !== '' && added.endsWith(common) ? common.length : 0
  const [own, other] = [removed.slice(0, removed.length - end), added.slice(0, added.length - end)]
  const [deleted, inserted] = [
    own === '' ? NOTHING : html`<del>${own}</del>`,
    other === '' ? NOTHING : html`<ins>${other}</ins>`,
  ]
  return html`${deleted}${inserted}${removed.slice(removed.length - end)}`
}

/** Keeps the words beside a difference; the first run has none before it, the last none after it. */
function shortened(text: string, first: boolean, last: boolean): string {
  const context = EVALUATION_BOUNDS.wordDifferenceContextCharactersMax
  const [head, tail] = [first ? 0 : context, last ? 0 : context]
  if (text.length <= head + tail + ELLIPSIS.length) return text
  return `${head === 0 ? '' : firstWords(text, head)}${ELLIPSIS}${tail === 0 ? '' : lastWords(text, tail)}`
}

/** A word that a cut would part is left out, unless the writing has no spaces. */
const CUT_END = /\s+\S{0,40}$/
const CUT_START = /^\S{0,40}\s+/

/** Returns at most so many characters of the beginning. */
export function firstWords(text: string, charactersMax: number): string {
  return text.slice(0, charactersMax).replace(CUT_END, '').toWellFormed()
}

/** Returns at most so many characters of the end. */
export function lastWords(text: string, charactersMax: number): string {
  return text.slice(-charactersMax).replace(CUT_START, '').toWellFormed()
}
