import { words } from '#core/index/analysis/words.ts'
import { READING_BOUNDS } from './bounds.ts'

/** Between the beginning and the best place of a text. */
const GAP = ' […] '
/** Windows overlap by half, so that no place is cut by all of them. */
const STEPS_PER_WINDOW = 2

/**
 * Returns a text, or of a long one its beginning, which holds the lead-in, and the window that holds most words of the
 * question.
 * @returns at most `readerPassageCharactersMax` UTF-16 units, well-formed.
 */
export function excerptFor(question: string, text: string): string {
  const { readerPassageCharactersMax: max, readerLeadInCharactersMax: leadInMax } = READING_BOUNDS
  if (text.length <= max) return text
  const asked = new Set(words(question))
  const length = max - leadInMax - GAP.length
  let best = { from: 0, shared: -1 }
  const step = Math.floor(length / STEPS_PER_WINDOW)
  for (let from = 0; from < text.length; from += step) {
    const shared = sharedWords(asked, text.slice(from, from + length))
    if (shared > best.shared) best = { from: Math.min(from, text.length - length), shared }
    if (from + length >= text.length) break
  }
  if (best.from <= leadInMax) return text.slice(0, max).toWellFormed()
  return `${text.slice(0, leadInMax)}${GAP}${text.slice(best.from, best.from + length)}`.toWellFormed()
}

/** Distinct words of the question in a text. */
function sharedWords(asked: ReadonlySet<string>, text: string): number {
  return new Set(words(text).filter((word) => asked.has(word))).size
}
