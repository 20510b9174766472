import type { Token } from 'markdown-it'
import { firstIndex } from '#core/platform/first-index.ts'
import { READER_BOUNDS } from '#law/readers/bounds.ts'
import { commentsIn, createCutter, type Comment } from '#law/readers/comments.ts'
import { looksLikeHeading, markdownBlocks } from '#law/readers/html-block.ts'
import { isBlank } from '#law/readers/text.ts'
import { UnreadableFile } from '#law/readers/tree.ts'

/** A heading that stands in no other block. */
export interface HeadingLine {
  /** Line of the heading and line after it, both from 0. */
  readonly from: number
  readonly to: number
  /** From 1. */
  readonly level: number
  /** Without marks and comments. */
  readonly written: string
}

/** A line of Markdown that is parsed otherwise than its author may expect. */
interface BlockWarning {
  /** Line of the file, from 1. */
  readonly line: number
  readonly message: string
}

/**
 * Returns the structure of a Markdown text whose first line is `firstLine` of its file.
 * @throws UnreadableFile where it is not clear where its headings are.
 */
export function blocksOf(body: string, firstLine: number) {
  // Lines end in LF, CR or CRLF (CommonMark 0.31, section 2.1).
  const starts = [0, ...Array.from(body.matchAll(/\r\n?|\n/g), (end) => end.index + end[0].length)]
  const headings: HeadingLine[] = []
  const comments: Comment[] = []
  const warnings: BlockWarning[] = []
  /** Lines that need no look: of headings and of fences. */
  const passed = new Set<number>()
  const refuse = (line: number, reason: string): never => {
    throw new UnreadableFile(reason, { line: firstLine + line })
  }
  const tokens = markdownBlocks(body)
  for (const [index, token] of tokens.entries()) {
    if (token.map === null) continue
    const [from, to] = token.map
    // At its bound the parser stops inside a block, and headings after the block could be lost.
    if (token.nesting === 1 && token.level + 1 >= READER_BOUNDS.markdownNestingMax)
      refuse(from, `blocks nested deeper than ${READER_BOUNDS.markdownNestingMax} levels`)
    const start = starts[from] ?? 0
    const source = body.slice(start, starts[to] ?? body.length)
    if (token.type === 'fence') {
      const lines = source.split(/\r\n?|\n/)
      if (token.level === 0 && !isClosed(token, lines)) refuse(from, 'code fence without an end')
      const numbered = lines.findIndex((line, row) => row > 0 && looksLikeHeading(line) && /\d/.test(line))
      if (numbered !== -1) refuse(from + numbered, NUMBERED_IN_FENCE)
      warnings.push(...headingInFence(firstLine + from, lines))
      for (let line = from; line < to; line += 1) passed.add(line)
    }
    if (token.type === 'html_block' || token.type === 'inline') {
      const found = commentsIn(source, token.type === 'inline' ? 'markdown' : 'html')
      if (found.openAt !== undefined) {
        const what = source.startsWith('<!--', found.openAt) ? 'HTML comment' : 'struck or hidden element'
        refuse(lineOf(starts, start + found.openAt), `${what} without an end`)
      }
      for (const comment of found.comments)
        comments.push(withLine(body, { ...comment, start: start + comment.start, end: start + comment.end }))
    }
    if (token.type !== 'heading_open') continue
    if (token.level > 0) refuse(from, HEADING_IN_BLOCK)
    if (!token.markup.startsWith('#')) refuse(from, UNDERLINED)
    const content = tokens[index + 1]?.content ?? ''
    const written = createCutter(content, commentsIn(content, 'markdown').comments)(0, content.length).trim()
    headings.push({ from, to, level: Number(token.tag.slice(1)), written })
    for (let line = from; line < to; line += 1) passed.add(line)
  }
  const found = headingLike(body, comments, passed)
  if (found !== undefined) refuse(found.line, found.reason)
  return { starts, headings, comments, warnings: warnings.toSorted((a, b) => a.line - b.line) }
}

const HEADING_IN_BLOCK =
  'a heading within a list or a quote cuts nothing: begin the line with # alone if it is a heading, else with \\#'
const NUMBERED_IN_FENCE = 'a numbered heading within a code fence: remove the fence, or the # if it is text'

/** A comment that stands between blank lines goes with those that follow it: what is around it is two paragraphs. */
function withLine(body: string, { start, end, rule }: Comment): Comment {
  const isAlone = start === 0 || /\n[ \t]*\r?\n$/.test(body.slice(Math.max(0, start - LINE_ENDS_MAX), start))
  BLANK_LINES.lastIndex = end
  return { start, end: isAlone && BLANK_LINES.test(body) ? BLANK_LINES.lastIndex : end, rule }
}

const LINE_ENDS_MAX = 80
const BLANK_LINES = /[ \t]*(?:\r?\n[ \t]*)*\r?\n(?=[ \t]*\S)/y

/** True if words end with a mark that ends a sentence, before brackets and quotes, or a publisher's anchor. */
export function endsLikeSentence(words: string): boolean {
  return /[.;:!?。．！？；：؟۔।…][\p{Pe}\p{Pf}"'*_]*$/u.test(words.replace(/\{#[^\s{}]*\}$/, '').trimEnd())
}

/** True if the last line of a fence is its end (CommonMark 0.31, section 4.5). */
function isClosed({ markup }: Token, lines: readonly string[]): boolean {
  const own = lines.at(-1) === '' ? lines.slice(1, -1) : lines.slice(1)
  const mark = /^ {0,3}(`+|~+)[ \t]*$/.exec(own.at(-1) ?? '')?.[1] ?? ''
  return mark.startsWith(markup)
}

function headingInFence(firstLine: number, lines: readonly string[]): readonly BlockWarning[] {
  const index = lines.findIndex((line, number) => number > 0 && looksLikeHeading(line))
  if (index === -1) return []
  const message = `this line looks like a heading, but is text of the code fence that starts on line ${firstLine}`
  return [{ line: firstLine + index, message }]
}

/** Returns the line that holds an offset, from 0. */
export function lineOf(starts: readonly number[], offset: number): number {
  return Math.max(0, firstIndex(starts.length, (line) => (starts[line] ?? 0) > offset) - 1)
}

const UNDERLINED =
  'underlined text may be a heading or a text above a rule: write # before a heading, and an empty line above a rule'

/** Marks of lists and quotes, spaces and invisible characters, then `#` in any width. */
const HASHES = /^(?:[\s\p{Z}\p{Cf}>]|[-*+](?=\s)|\d{1,9}[.)](?=\s))*[#\uFF03\uFE5F]/u
/** Signs that underline the line above, in any width and indent, and within a quote. */
const UNDERLINE = /^[\s\p{Z}\p{Cf}>]*(?:[=\uFF1D]+|[-\uFF0D]{2,})[\s\p{Z}\p{Cf}]*$/u
/** Items, quotes, and tags alone on their line: a line of hyphens below them is a rule. */
const ABOVE_RULE = /^\s*(?:[-*+>]|(?:<[^<>]*>\s*)+$)/
const HTML_HEADING = /<\/?h[1-6](?=[\s/>])/i

/**
 * Returns the first line, from 0, outside comments that looks like a heading and that the parser takes for none: its text
 * would count as part of the provision before it. Lines of headings and fences are passed.
 */
function headingLike(
  body: string,
  comments: readonly Comment[],
  passed: ReadonlySet<number>,
): { readonly line: number; readonly reason: string } | undefined {
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
