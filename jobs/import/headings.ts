import { blocksOf, endsLikeSentence } from './blocks.ts'
import type { BlockFault, BlockWarning, HeadingLine } from './blocks.ts'
import { createCutter } from './comments.ts'
import { anchorsOf } from './heading-anchors.ts'
import type { HeadingAnchor } from './heading-anchors.ts'
import { isBlank } from './text.ts'

/** A heading and the text up to the next one. */
export interface Section extends HeadingAnchor {
  /** Headings above this one, outermost first. */
  readonly parents: readonly string[]
  /** The exact text of the source without HTML comments, trimmed; lines end in LF. */
  readonly text: string
  /** The heading's lines as the source has them, marks included. */
  readonly source: string
}

export interface CutMarkdown {
  readonly sections: readonly Section[]
  /** By line. */
  readonly warnings: readonly BlockWarning[]
}

/** The text before the first heading. */
const LEADING_TEXT: HeadingLine = { from: 0, to: 0, level: 0, written: '' }

/**
 * Cuts the body of a Markdown file at its headings, ATX and setext (CommonMark 0.31, sections 4.2 and 4.3). A setext
 * heading of several lines, or with the end of a sentence, is text. A heading within a fence, a comment, a block quote
 * or a list does not cut; one within other HTML does. HTML comments are cut out. A heading with sub-headings and
 * without text of its own is structure and gives no section. Returns a fault where the structure is not clear.
 */
export function cutAtHeadings(body: string, firstLine: number): CutMarkdown | BlockFault {
  const blocks = blocksOf(body, firstLine)
  if ('reason' in blocks) return blocks
  const { headings, starts } = blocks
  const cut = createCutter(body, blocks.comments)
  const textOf = (from: number, to: number): string => cut(starts[from] ?? body.length, starts[to] ?? body.length)
  const leading = textOf(0, headings[0]?.from ?? starts.length)
  const texts = headings.map(({ to }, index) => textOf(to, headings[index + 1]?.from ?? starts.length))
  const parts = isBlank(leading) ? headings : [LEADING_TEXT, ...headings]
  if (!isBlank(leading)) texts.unshift(leading)
  const anchors = anchorsOf(
    parts.map((part) => ({ ...part, line: firstLine + part.from, slug: part.level === 0 ? 'start' : 'section' })),
  )

  const warnings = [...blocks.warnings]
  const above: { readonly level: number; readonly heading: string }[] = []
  const sections = anchors.flatMap((anchor, index) => {
    const { from, to, level } = parts[index] ?? LEADING_TEXT
    const text = texts[index] ?? ''
    while (above.length > 0 && (above.at(-1)?.level ?? 0) >= level) above.pop()
    const parents = above.map(({ heading }) => heading)
    above.push({ level, heading: anchor.heading })
    if (isBlank(text) && (parts[index + 1]?.level ?? 0) > level) {
      if (endsLikeSentence(anchor.heading)) warnings.push({ line: anchor.line, message: RULE_IN_HEADING })
      return []
    }
    const source = body.slice(starts[from], starts[to] ?? body.length)
    return [{ ...anchor, parents, text: text.replaceAll('\r\n', '\n').trim(), source }]
  })
  return { sections, warnings: warnings.toSorted((a, b) => a.line - b.line) }
}

const RULE_IN_HEADING =
  'a heading above other headings reads like a sentence and is no passage: write it below a heading if it is a rule'
