import { IMPORT_BOUNDS } from '../bounds.ts'
import { segmenter } from './segmenter.ts'

const WORDS_MAX = 10
const WORDS_ENOUGH = 4

/**
 * Returns the URL of a cited part: the canonical URL plus a fragment. The fragment is the publisher's own, or else a
 * text fragment of the first words (WICG Scroll to Text Fragment, `#:~:text=`). A later part of a split passage carries
 * both, so that the link points to the part.
 * @param canonicalUrl without a fragment.
 * @param language tells words of scripts without spaces.
 */
export function sourceAnchor(
  canonicalUrl: string,
  publisherFragment: string | undefined,
  text: string,
  part: number,
  language = 'en',
): string {
  const directive = `:~:text=${shortText(firstWords(text), language)}`
  if (publisherFragment === undefined) return `${canonicalUrl}#${directive}`
  return `${canonicalUrl}#${encodedFragment(publisherFragment)}${part > 1 ? directive : ''}`
}

export function withoutFragment(url: string): { readonly base: string; readonly fragment: string | undefined } {
  const hash = url.indexOf('#')
  return hash === -1
    ? { base: url, fragment: undefined }
    : { base: url.slice(0, hash), fragment: url.slice(hash + 1) || undefined }
}

/**
 * Returns the first words of the first line that holds more than its number. A browser finds a text fragment only
 * within one block of the page.
 */
function firstWords(text: string): string {
  let longest = ''
  for (const line of text.split(/\r?\n/)) {
    const words = wordsOf(line)
    if (words.length >= WORDS_ENOUGH) return words.slice(0, WORDS_MAX).join(' ')
    const joined = words.join(' ')
    if (joined.length > longest.length) longest = joined
  }
  return longest
}

/** Returns words as a page shows them, without Markdown markup. */
function wordsOf(line: string): readonly string[] {
  const shown = withoutLinks(line.replace(/^\s*(?:[-*+>]\s+)+/, '')).replaceAll(/\*\*|__(?=\S)|`/g, '')
  return shown.split(/\s+/).filter((word) => word !== '')
}

/**
 * Replaces `[text](target)` by its text. A bracket that opens no link is passed over together with those up to the next
 * `]`, since they open none either; a search with a regular expression would try each of them.
 */
function withoutLinks(line: string): string {
  let shown = ''
  let from = 0
  for (;;) {
    const open = line.indexOf('[', from)
    const close = open === -1 ? -1 : line.indexOf(']', open + 1)
    if (close === -1) return shown + line.slice(from)
    if (close === open + 1 || line[close + 1] !== '(') {
      shown += line.slice(from, close)
      from = close
      continue
    }
    const end = line.indexOf(')', close + 2)
    if (end === -1) return shown + line.slice(from)
    shown += `${line.slice(from, open)}${line.slice(open + 1, close)}`
    from = end + 1
  }
}

/**
 * Returns the encoded text, or where it is longer than the bound a prefix of it that ends with a word: a browser matches
 * whole words. Scripts without spaces need a segmenter to tell words. A single word beyond the bound ends within it.
 */
function shortText(words: string, language: string): string {
  const whole = encodedText(words)
  if (whole.length <= IMPORT_BOUNDS.textFragmentCharactersMax) return whole
  for (const granularity of ['word', 'grapheme'] as const) {
    const prefix = prefixWithin(words.slice(0, IMPORT_BOUNDS.textFragmentCharactersMax), language, granularity)
    if (prefix !== '') return prefix
  }
  return ''
}

function prefixWithin(words: string, language: string, granularity: 'word' | 'grapheme'): string {
  let [length, end] = [0, 0]
  for (const { segment, index, isWordLike } of segmenter(language, granularity).segment(words)) {
    const encoded = encodedText(segment.toWellFormed()).length
    if (length + encoded > IMPORT_BOUNDS.textFragmentCharactersMax) break
    length += encoded
    if (granularity === 'grapheme' || isWordLike === true) end = index + segment.length
  }
  return encodedText(words.slice(0, end).toWellFormed())
}

/**
 * Percent-encodes words for a text directive. `encodeURIComponent` encodes `&` and `,` but not `-`, which separates
 * prefix and suffix in a directive.
 */
function encodedText(words: string): string {
  return encodeURIComponent(words).replaceAll('-', '%2D')
}

/** Percent-encodes characters that a fragment may not hold (RFC 3986, section 3.5). Existing encodings stay. */
function encodedFragment(fragment: string): string {
  return fragment.replaceAll(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]/gu, (character) => encodeURIComponent(character))
}
