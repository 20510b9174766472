/** Scripts that write no space between words, and Hangul, whose words carry their particles. */
const UNSPACED_SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Bopomofo', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar']
/** Script extensions count, because the prolonged sound mark belongs to both kana. */
const OF_THESE_SCRIPTS = UNSPACED_SCRIPTS.map((script) => `\\p{scx=${script}}`).join('')
const UNSPACED_LETTER = String.raw`[[${OF_THESE_SCRIPTS}]&&[\p{L}\p{M}\p{Nl}]]`
const UNSPACED = new RegExp(UNSPACED_LETTER, 'v')
const PIECE = new RegExp(`(?<run>${UNSPACED_LETTER}+)|(?:(?!${UNSPACED_LETTER})[^])+`, 'gv')

/** A letter with at most seven marks, so that a pair has at most 32 units. Further marks are dropped. */
const LETTER_WITH_MARKS = /\P{M}\p{M}{0,7}/gu

/** Part of a text between two changes of script. */
export interface ScriptPiece {
  readonly text: string
  /** Whether it consists of letters between which words cannot be told apart by spaces. */
  readonly unspaced: boolean
}

/** Whether a folded text has letters of scripts without spaces between words. */
export function hasUnspaced(text: string): boolean {
  return UNSPACED.test(text)
}

/** Divides a folded text where a script without spaces begins or ends, in time linear in its length. */
export function* scriptPieces(text: string): Generator<ScriptPiece> {
  for (const { 0: piece, groups } of text.matchAll(PIECE))
    yield { text: piece, unspaced: groups?.['run'] !== undefined }
}

/**
 * Returns the pairs of neighbouring letters, each letter with its marks; a single letter gives itself. They need no
 * dictionary, so they are the same in every release of Node (decision 0006).
 */
export function letterPairs(run: string): readonly string[] {
  return neighbourPairs(run.match(LETTER_WITH_MARKS) ?? [])
}

/** Returns each letter with the next one; a single letter gives itself. */
function neighbourPairs(letters: readonly string[]): readonly string[] {
  return letters.length < 2 ? letters : letters.slice(1).map((letter, before) => `${letters[before] ?? ''}${letter}`)
}
