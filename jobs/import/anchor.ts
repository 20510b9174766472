const WORDS_MAX = 10
const WORDS_ENOUGH = 4

/**
 * Returns the URL of a cited part: the canonical URL plus a fragment. The fragment is the publisher's own, or else a
 * text fragment of the first words (WICG Scroll to Text Fragment, `#:~:text=`). A later part of a split passage carries
 * both, so that the link points to the part.
 * @param canonicalUrl without a fragment.
 */
export function sourceAnchor(
  canonicalUrl: string,
  publisherFragment: string | undefined,
  text: string,
  part: number,
): string {
  const directive = `:~:text=${encodedText(firstWords(text))}`
  if (publisherFragment === undefined) return `${canonicalUrl}#${directive}`
  return `${canonicalUrl}#${encodedFragment(publisherFragment)}${part > 1 ? directive : ''}`
}

/** Separates a URL from its fragment. */
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
  const lines = text.split(/\r?\n/).map(wordsOf)
  const enough = lines
    .find((words) => words.length >= WORDS_ENOUGH)
    ?.slice(0, WORDS_MAX)
    .join(' ')
  return (
    enough ??
    lines.map((words) => words.join(' ')).reduce((longest, line) => (line.length > longest.length ? line : longest), '')
  )
}

/** Returns words as a page shows them, without Markdown markup. */
function wordsOf(line: string): readonly string[] {
  const shown = line
    .replace(/^\s*(?:[-*+>]\s+)+/, '')
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll(/\*\*|__(?=\S)|`/g, '')
  return shown.split(/\s+/).filter((word) => word !== '')
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
