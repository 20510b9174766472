import MarkdownIt from 'markdown-it'
import { BOUNDS } from '#core/platform/bounds.ts'
import { anchorsOf } from './heading-anchors.ts'
import type { HeadingAnchor } from './heading-anchors.ts'
import { isBlank } from './text.ts'

/** A heading and the text up to the next one. */
export interface Section extends HeadingAnchor {
  /** Headings above this one, outermost first. */
  readonly parents: readonly string[]
  /** The exact text of the source, trimmed; lines end in LF. */
  readonly text: string
  /** The heading's lines as the source has them, marks included. */
  readonly source: string
}

interface HeadingPlace {
  /** Line of the heading and line after it, both from 0. */
  readonly from: number
  readonly to: number
  /** From 1; 0 for the text before the first heading. */
  readonly level: number
  /** Without marks. */
  readonly written: string
  /** Generates the anchor of a heading without words. */
  readonly slug: string
}

const LEADING_TEXT: HeadingPlace = { from: 0, to: 0, level: 0, written: '', slug: 'start' }

/**
 * Only the structure of blocks is parsed: inline content never decides where a heading is. The parser is linear where
 * the nesting of blocks is bounded.
 */
const parser = new MarkdownIt('commonmark', { maxNesting: BOUNDS.markdownNestingMax })
parser.core.ruler.enableOnly(['normalize', 'block'])

/**
 * Cuts the body of a Markdown file at its headings, ATX and setext (CommonMark 0.31, sections 4.2 and 4.3). A heading
 * within a fence, HTML, a block quote or a list does not cut. A heading with sub-headings and without text of its own
 * is structure and gives no section. Returns undefined where blocks are nested deeper than the bound.
 */
export function cutAtHeadings(body: string, firstLine: number): readonly Section[] | undefined {
  const headings = headingsOf(body)
  if (headings === undefined) return undefined
  const starts = lineStarts(body)
  const slice = (from: number, to: number): string => body.slice(starts[from], starts[to] ?? body.length)
  const places = isBlank(slice(0, headings[0]?.from ?? starts.length)) ? headings : [LEADING_TEXT, ...headings]
  const anchors = anchorsOf(places.map((place) => ({ ...place, line: firstLine + place.from })))

  const above: { readonly level: number; readonly heading: string }[] = []
  return anchors.flatMap((anchor, index) => {
    const { from, to, level } = places[index] ?? LEADING_TEXT
    const next = places[index + 1]
    const text = slice(to, next?.from ?? starts.length)
    while (above.length > 0 && (above.at(-1)?.level ?? 0) >= level) above.pop()
    const parents = above.map(({ heading }) => heading)
    above.push({ level, heading: anchor.heading })
    if (isBlank(text) && next !== undefined && next.level > level) return []
    return [{ ...anchor, parents, text: text.replaceAll('\r\n', '\n').trim(), source: slice(from, to) }]
  })
}

/** Returns the headings that stand in no other block, or undefined where blocks are nested deeper than the bound. */
function headingsOf(body: string): readonly HeadingPlace[] | undefined {
  const tokens = parser.parse(body, {})
  // At its bound the parser stops inside a block, and headings after the block could be lost.
  if (tokens.some(({ level, nesting }) => nesting === 1 && level + 1 >= BOUNDS.markdownNestingMax)) return undefined
  return tokens.flatMap((token, index) => {
    if (token.type !== 'heading_open' || token.level > 0 || token.map === null) return []
    const lines = (tokens[index + 1]?.content ?? '').split('\n').map((line) => line.trim())
    const [from, to] = token.map
    return [{ from, to, level: Number(token.tag.slice(1)), written: lines.join(' '), slug: 'section' }]
  })
}

/** Offsets at which lines start; lines end in LF, CR or CRLF (CommonMark 0.31, section 2.1). */
function lineStarts(text: string): readonly number[] {
  return [0, ...Array.from(text.matchAll(/\r\n?|\n/g), (end) => end.index + end[0].length)]
}
