import type { Comment } from './comments.ts'

/** A line that a reader takes for a heading, and the parser does not. */
export interface HeadingLikeLine {
  /** From 0. */
  readonly line: number
  readonly reason: string
}

/** Marks of lists and quotes, spaces and invisible characters, then `#` in any width. */
const HASHES = /^(?:[\s\p{Z}\p{Cf}>]|[-*+](?=\s)|\d{1,9}[.)](?=\s))*[#\uFF03\uFE5F]/u
const HTML_HEADING = /<\/?h[1-6](?=[\s/>])/i

/**
 * Returns the first line outside comments that looks like a heading, where `passed` holds neither headings nor fences
 * to look at: its text would count as part of the provision before it.
 */
export function headingLike(
  body: string,
  comments: readonly Comment[],
  passed: ReadonlySet<number>,
): HeadingLikeLine | undefined {
  const lines = withBlankComments(body, comments).split(/\r\n?|\n/)
  for (const [line, text] of lines.entries()) {
    if (passed.has(line)) continue
    if (HASHES.test(text))
      return { line, reason: 'a line with # that is no heading: write "# " at its start, or "\\#" if it is text' }
    if (HTML_HEADING.test(text)) return { line, reason: 'a heading in HTML: write it with # at the start of its line' }
  }
  return undefined
}

/** Replaces comments by spaces; line ends stay. */
function withBlankComments(body: string, comments: readonly Comment[]): string {
  const pieces: string[] = []
  let at = 0
  for (const { start, end } of comments) {
    pieces.push(body.slice(at, start), body.slice(start, end).replaceAll(/[^\r\n]/g, ' '))
    at = end
  }
  return [...pieces, body.slice(at)].join('')
}
