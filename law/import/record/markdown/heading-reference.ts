import { foldKey } from '#core/identity/fold.ts'
/** What a heading says about the provision that its text belongs to. */
export type HeadingReference =
  /** The heading names none. */
  | { readonly kind: 'none' }
  | { readonly kind: 'reference'; readonly reference: string }
  /** The heading begins as a provision does, and its number is not understood. */
  | { readonly kind: 'fault'; readonly reason: string }

/**
 * The number of a provision after the prefix: `2.1`, `§ 12a`, `3 (2)`, `4 bis`, `5-1(a)`. A group in brackets has at
 * most 5 characters, and letters after a point at most 3, so that a word is no part of a number.
 */
const NUMBER =
  /^[\s.]*(?:§+\s*)?\d[\p{L}\p{N}^]*(?:[.\-‐‑–/]+(?:\d[\p{L}\p{N}]*|\p{L}{1,3}(?!\p{L}))|\s?\([\p{L}\p{N}.]{1,5}\)|(?<=\))[\p{L}\p{N}]{1,5}|\s(?:bis|ter|quater|quinquies|sexies|septies|octies|nonies|novies|decies)(?![\p{L}\p{N}]))*/iu

/** What may follow a number: nothing, or words that no reader takes for more of it. */
const AFTER_NUMBER = /^(?:[.:,;]?\s*$|\s*[:—]\s*\S|[.,;]?\s+(?:[-–|]\s+)?(?:[^\p{N}\s([\\.,;/\-‐‑–—]|\([^)]{4,}))/u

/** Units of a heading beyond its prefix that are read; a long heading stands above many. */
const READ_MAX = 200

/** Returns the reference of a heading, whose escapes are resolved, under the prefix of its document's citations. */
export function headingReference(written: string, prefix: string | undefined): HeadingReference {
  if (prefix === undefined) return { kind: 'none' }
  const heading = written.slice(0, 2 * prefix.length + READ_MAX)
  const number = heading.startsWith(prefix) ? NUMBER.exec(heading.slice(prefix.length))?.[0] : undefined
  if (number !== undefined)
    return AFTER_NUMBER.test(heading.slice(prefix.length + number.length))
      ? { kind: 'reference', reference: `${prefix}${number}` }
      : { kind: 'fault', reason: UNCLEAR_NUMBER }
  const [whole, start] = [folded(heading), folded(prefix)]
  const looksNumbered = start !== '' && whole.startsWith(start) && /^[.§]*\d/.test(whole.slice(start.length))
  return looksNumbered ? { kind: 'fault', reason: UNCLEAR_PREFIX } : { kind: 'none' }
}

const UNCLEAR_NUMBER =
  'the number of the heading is not understood: write it as in "2.1(a)", and ": " between it and words that begin with a digit'
const UNCLEAR_PREFIX = 'the heading begins like "citation_prefix", but is written otherwise: write both the same'

/** A key without markup and white space. */
function folded(text: string): string {
  return foldKey(text).replaceAll(/[\s*_'~[\]\\]/gu, '')
}

/** True for a line of text that is a numbered heading in bold. */
export function isBoldHeading(line: string, prefix: string): boolean {
  const marks = /^\s*(?:\*\*|__)/.exec(line)
  return (
    marks !== null &&
    /(?:\*\*|__)\s*$/.test(line) &&
    headingReference(line.replaceAll(/[*_]/g, '').trim(), prefix).kind !== 'none'
  )
}
