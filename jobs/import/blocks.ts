import type { Token } from 'markdown-it'
import { IMPORT_BOUNDS } from './bounds.ts'
import { commentsIn, createCutter } from './comments.ts'
import type { Comment } from './comments.ts'
import { htmlBlock, looksLikeHeading } from './html-block.ts'
import { isBlank } from './text.ts'

import MarkdownIt from 'markdown-it'

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

/** A passage of Markdown that is parsed otherwise than its author may expect. */
export interface BlockWarning {
  /** Line of the file, from 1. */
  readonly line: number
  readonly message: string
}

/** Why a text has no clear structure. */
export interface BlockFault {
  /** Line of the file, from 1. */
  readonly line: number
  readonly reason: string
}

export interface Blocks {
  /** Offsets at which lines start. */
  readonly starts: readonly number[]
  readonly headings: readonly HeadingLine[]
  /** HTML comments outside code, in order. */
  readonly comments: readonly Comment[]
  readonly warnings: readonly BlockWarning[]
}

/**
 * Only the structure of blocks is parsed: inline content never decides where a heading is. The parser is linear where
 * the nesting of blocks is bounded.
 */
const parser = new MarkdownIt('commonmark', { maxNesting: IMPORT_BOUNDS.markdownNestingMax })
parser.core.ruler.enableOnly(['normalize', 'block'])
parser.block.ruler.at('html_block', htmlBlock, { alt: ['paragraph', 'reference', 'blockquote'] })

/**
 * Returns the structure of a Markdown text whose first line is `firstLine` of its file, or the fault that hides where
 * its headings are.
 */
export function blocksOf(body: string, firstLine: number): Blocks | BlockFault {
  const starts = lineStarts(body)
  const headings: HeadingLine[] = []
  const comments: Comment[] = []
  const warnings: BlockWarning[] = []
  const tokens = parser.parse(body, {})
  for (const [index, token] of tokens.entries()) {
    if (token.map === null) continue
    const [from, to] = token.map
    // At its bound the parser stops inside a block, and headings after the block could be lost.
    if (token.nesting === 1 && token.level + 1 >= IMPORT_BOUNDS.markdownNestingMax)
      return { line: firstLine + from, reason: `blocks nested deeper than ${IMPORT_BOUNDS.markdownNestingMax} levels` }
    const start = starts[from] ?? 0
    const source = body.slice(start, starts[to] ?? body.length)
    if (token.type === 'fence') {
      const lines = source.split(/\r\n?|\n/)
      if (token.level === 0 && !isClosed(token, lines))
        return { line: firstLine + from, reason: 'code fence without an end' }
      warnings.push(...headingInFence(firstLine + from, lines))
    }
    if (token.type === 'html_block' || token.type === 'inline') {
      const found = commentsIn(source, token.type === 'inline' ? 'markdown' : 'html')
      if (found.openAt !== undefined)
        return { line: firstLine + lineOf(starts, start + found.openAt), reason: 'HTML comment without an end' }
      for (const comment of found.comments) comments.push({ start: start + comment.start, end: start + comment.end })
    }
    if (token.type !== 'heading_open' || token.level > 0) continue
    const written = withoutComments(tokens[index + 1]?.content ?? '')
    if (!token.markup.startsWith('#') && (written.includes('\n') || endsLikeSentence(written)))
      warnings.push({ line: firstLine + from, message: NO_SETEXT })
    else headings.push({ from, to, level: Number(token.tag.slice(1)), written })
  }
  for (const { start, end } of comments)
    if (!isBlank(body.slice(start + 4, end - 3)))
      warnings.push({ line: firstLine + lineOf(starts, start), message: COMMENT_LEFT_OUT })
  return { starts, headings, comments, warnings: warnings.toSorted((a, b) => a.line - b.line) }
}

const COMMENT_LEFT_OUT = 'an HTML comment is left out of the text: remove its marks if it belongs to the text'
const NO_SETEXT =
  'underlined text of several lines, or with the end of a sentence, is no heading: write # before it if it is one'

function withoutComments(content: string): string {
  return createCutter(content, commentsIn(content, 'markdown').comments)(0, content.length).trim()
}

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

/** Offsets at which lines start; lines end in LF, CR or CRLF (CommonMark 0.31, section 2.1). */
function lineStarts(text: string): readonly number[] {
  return [0, ...Array.from(text.matchAll(/\r\n?|\n/g), (end) => end.index + end[0].length)]
}

/** Returns the line that holds an offset, from 0. */
function lineOf(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle
  }
  return low
}
