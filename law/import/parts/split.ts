import { segmenter } from './segmenter.ts'
import { codePointsOf } from '#law/readers/text.ts'
import ABBREVIATIONS from './abbreviations.json' with { type: 'json' }

/** Finds the offsets at which a text may be cut. Each offset starts a new piece; it is never 0 or the text's end. */
type Boundaries = (text: string, language: string) => readonly number[]

/**
 * Levels of cuts, from best to worst. A text is cut at a worse level only where no better level leaves pieces short
 * enough.
 */
const LEVELS: readonly Boundaries[] = [paragraphs, clauses, sentences, lines, words, graphemes, codePoints]

/**
 * Cuts a text into parts of at most `charactersMax` code points and of about equal length. Cuts are at paragraphs, else
 * at clauses on lines of their own, else at sentences, else at lines, else at words. Joined again, the parts give the
 * text, except for white space at the cuts.
 */
export function splitText(text: string, language: string, charactersMax: number): readonly string[] {
  return packed(unitsOf(text.trim(), language, charactersMax, 0), charactersMax)
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function unitsOf(text: string, language: string, charactersMax: number, level: number): readonly string[] {
  const boundaries = LEVELS[level]
  if (codePointsOf(text) <= charactersMax || boundaries === undefined) return [text]
  return cutAt(text, boundaries(text, language)).flatMap((piece) => unitsOf(piece, language, charactersMax, level + 1))
}

function cutAt(text: string, offsets: readonly number[]): readonly string[] {
  const starts = [0, ...offsets]
  return starts.map((start, index) => text.slice(start, starts[index + 1]))
}

/**
 * Joins neighbouring units while they fit. A part ends once it has its fair share, so that the last part is not tiny.
 */
function packed(units: readonly string[], charactersMax: number): readonly string[] {
  const lengths = units.map(codePointsOf)
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const fairShare = total / Math.ceil(total / charactersMax)
  const parts: string[] = []
  let current = ''
  let characters = 0
  for (const [index, unit] of units.entries()) {
    const length = lengths[index] ?? 0
    if (characters > 0 && (characters + length > charactersMax || characters >= fairShare)) {
      parts.push(current)
      current = ''
      characters = 0
    }
    current += unit
    characters += length
  }
  return [...parts, current]
}

function paragraphs(text: string): readonly number[] {
  return linesBetween(text, /\n[^\S\n]*\n[^\S\n]*(?:\n[^\S\n]*)*/g)
    .filter(({ before }) => !announces(before))
    .map(({ start }) => start)
}

const ENUMERATOR = /^\s*(?:\(?(?:\d{1,4}|\p{L}{1,2}|[ivxlIVXL]{1,6})[).]|[-–—•*●]|§)(?:\s|$)/u
const ENUMERATOR_ALONE = /^\s*\(?(?:\d{1,4}|\p{L}{1,2}|[ivxlIVXL]{1,6}|\d{1,3}(?:\.\d{1,3})+)[).]?\s*$/u

/** True for a line that belongs to the next one: a number alone, or a text that ends in a colon. */
function announces(line: string): boolean {
  return ENUMERATOR_ALONE.test(line) || line.trimEnd().endsWith(':')
}

/** Returns the starts of lines after each separator. Each part of the text is read once. */
function linesBetween(text: string, separator: RegExp) {
  let before = ''
  let from = 0
  return endsOf(text, separator).map((start) => {
    const passed = text.slice(from, start).trimEnd()
    from = start
    if (passed !== '') before = passed.slice(Math.max(passed.lastIndexOf('\n') + 1, passed.length - 1_000))
    return { start, before }
  })
}

/**
 * Returns the starts of lines at which a clause begins. The line is numbered, or the line before ends in punctuation
 * and this one starts with a capital.
 */
function clauses(text: string): readonly number[] {
  return linesBetween(text, /\r?\n/g)
    .filter(({ start, before }) => {
      if (announces(before)) return false
      const next = text.indexOf('\n', start)
      const after = text.slice(start, next === -1 ? undefined : next)
      return (
        ENUMERATOR.test(after) ||
        ENUMERATOR_ALONE.test(after) ||
        (/[.;:!?»”"]$/u.test(before) && /^\s*[\p{Lu}‘“„«"']/u.test(after) && !ENDS_IN_ABBREVIATION.test(before))
      )
    })
    .map(({ start }) => start)
}

/**
 * Returns sentence starts (UAX #29). Lines are joined first, since UAX #29 ends a sentence at every line. Legal
 * abbreviations (`Art. 5`, `No. 3`) end no sentence.
 */
function sentences(text: string, language: string): readonly number[] {
  const joined = text.replaceAll(/[\r\n\u0085\u2028\u2029]/g, ' ')
  return [...segmenter(language, 'sentence').segment(joined)]
    .map(({ index }) => index)
    .filter(
      (index) =>
        index > 0 &&
        /^[^\d\p{Ll}]/u.test(joined.slice(index, index + 2)) &&
        !ENDS_IN_ABBREVIATION.test(joined.slice(Math.max(0, index - 12), index)),
    )
}

const ENDS_IN_ABBREVIATION = new RegExp(String.raw`(?:^|[\s(])(?:${ABBREVIATIONS.join('|')})\.\s*$`, 'u')

function lines(text: string): readonly number[] {
  return linesBetween(text, /\r?\n/g)
    .filter(({ before }) => !announces(before))
    .map(({ start }) => start)
}

function words(text: string): readonly number[] {
  return endsOf(text, /\s+/g)
}

function graphemes(text: string, language: string): readonly number[] {
  return [...segmenter(language, 'grapheme').segment(text)].map(({ index }) => index).filter((index) => index > 0)
}

function codePoints(text: string): readonly number[] {
  const starts: number[] = []
  for (let offset = 0; offset < text.length; offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1)
    if (offset > 0) starts.push(offset)
  return starts
}

function endsOf(text: string, separator: RegExp): readonly number[] {
  return [...text.matchAll(separator)]
    .map((found) => found.index + found[0].length)
    .filter((offset) => offset > 0 && offset < text.length)
}
