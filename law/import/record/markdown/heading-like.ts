import type { Comment } from '#law/readers/comments.ts'
import { isBlank } from '#law/readers/text.ts'

/** A line that a reader takes for a heading, and the parser does not. */
export interface HeadingLikeLine {
  /** From 0. */
  readonly line: number
  readonly reason: string
}

export const UNDERLINED =
  'underlined text may be a heading or a text above a rule: write # before a heading, and an empty line above a rule'

/** Marks of lists and quotes, spaces and invisible characters, then `#` in any width. */
const HASHES = /^(?:[\s\p{Z}\p{Cf}>]|[-*+](?=\s)|\d{1,9}[.)](?=\s))*[#\uFF03\uFE5F]/u
/** Signs that underline the line above, in any width and indent, and within a quote. */
const UNDERLINE = /^[\s\p{Z}\p{Cf}>]*(?:[=\uFF1D]+|[-\uFF0D]{2,})[\s\p{Z}\p{Cf}]*$/u
/** Items, quotes, and tags alone on their line: a line of hyphens below them is a rule. */
const ABOVE_RULE = /^\s*(?:[-*+>]|(?:<[^<>]*>\s*)+$)/
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
  const written = body.split(LINE_END)
  let above: number | undefined
  for (const [line, text] of withBlankComments(body, comments).split(LINE_END).entries()) {
    const isComment = isBlank(text) && !isBlank(written[line] ?? '')
    if (passed.has(line)) above = undefined
    if (passed.has(line) || isComment) continue
    const isRule = above === undefined || (/^[^=\uFF1D]*$/.test(text) && ABOVE_RULE.test(written[above] ?? ''))
    if (!isRule && UNDERLINE.test(text)) return { line: above ?? line, reason: UNDERLINED }
    above = isBlank(text) ? undefined : line
    if (HASHES.test(text))
      return { line, reason: 'a line with # that is no heading: write "# " at its start, or "\\#" if it is text' }
    if (HTML_HEADING.test(text)) return { line, reason: 'a heading in HTML: write it with # at the start of its line' }
  }
  return undefined
}

const LINE_END = /\r\n?|\n/

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
