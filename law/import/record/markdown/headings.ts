import { blocksOf, endsLikeSentence, lineOf, type HeadingLine } from './blocks.ts'
import { createCutter, createKeeper, textIn, type TextRange } from '#law/readers/comments.ts'
import { anchorsOf, type HeadingAnchor } from '#law/readers/heading-anchors.ts'
import { isBlank, withoutSpace } from '#law/readers/text.ts'
import { UnreadableFile } from '#law/readers/tree.ts'

/** A heading and the text up to the next one. */
export interface Section extends HeadingAnchor {
  /** Headings above this one, outermost first. */
  readonly parents: readonly string[]
  /** The exact text of the source without HTML comments, trimmed; lines end in LF. */
  readonly text: string
  /** The heading's lines as the source has them, marks included. */
  readonly source: string
  /** The lines below the heading as the source has them, comments included. */
  readonly below: string
  /** Offsets in the body of what the text was trimmed from. */
  readonly kept: readonly TextRange[]
}

/** The text before the first heading. */
const LEADING_TEXT: HeadingLine = { from: 0, to: 0, level: 0, written: '' }

/**
 * Cuts the body of a Markdown file at its ATX headings (CommonMark 0.31, section 4.2). HTML comments are cut out and
 * listed as omissions. A heading with sub-headings and without text of its own is structure and gives no section: the
 * sections below it show it. Headings, texts and omissions together are the body.
 * @throws UnreadableFile where the structure is not clear, as with underlined text or a line that only looks like a
 * heading.
 */
export function cutAtHeadings(body: string, firstLine: number) {
  const blocks = blocksOf(body, firstLine)
  const { headings, starts } = blocks
  const keep = createKeeper(blocks.comments)
  const keptIn = (from: number, to: number): readonly TextRange[] =>
    keep(starts[from] ?? body.length, starts[to] ?? body.length)
  const leading = keptIn(0, headings[0]?.from ?? starts.length)
  const texts = headings.map(({ to }, index) => keptIn(to, headings[index + 1]?.from ?? starts.length))
  const hasLeading = !isBlank(textIn(body, leading))
  const parts = hasLeading ? [LEADING_TEXT, ...headings] : headings
  if (hasLeading) texts.unshift(leading)
  const anchors = anchorsOf(
    parts.map((part) => ({ ...part, line: firstLine + part.from, slug: part.level === 0 ? 'start' : 'section' })),
  )

  const taken: string[] = []
  const headingOf = createCutter(body, blocks.comments)
  const sentences: number[] = []
  const above: { readonly level: number; readonly heading: string }[] = []
  const sections = anchors.flatMap((anchor, index) => {
    const { from, to, level } = parts[index] ?? LEADING_TEXT
    const kept = texts[index] ?? []
    const text = textIn(body, kept)
    while (above.length > 0 && (above.at(-1)?.level ?? 0) >= level) above.pop()
    const parents = above.map(({ heading }) => heading)
    above.push({ level, heading: anchor.heading })
    taken.push(headingOf(starts[from] ?? body.length, starts[to] ?? body.length))
    const isStructure = isBlank(text) && (parts[index + 1]?.level ?? 0) > level
    if (isStructure && endsLikeSentence(anchor.heading)) sentences.push(anchor.line)
    if (isStructure) return []
    const section = { ...anchor, parents, text: text.replaceAll('\r\n', '\n').trim() }
    taken.push(section.text)
    const next = starts[parts[index + 1]?.from ?? starts.length] ?? body.length
    const [start, end] = [starts[from], starts[to] ?? body.length]
    return [{ ...section, source: body.slice(start, end), below: body.slice(end, next), kept }]
  })
  if (sentences[0] !== undefined) throw new UnreadableFile(RULE_IN_HEADING, { line: sentences[0] })
  const omitted = blocks.comments.map(({ start, end }) => body.slice(start, end))
  if (!isWhole(body, taken, omitted, blocks.comments)) throw new UnreadableFile(NOT_WHOLE, { line: firstLine })
  const omissions = blocks.comments.map(({ start }, index) => ({
    line: firstLine + lineOf(starts, start),
    rule: blocks.comments[index]?.rule ?? '',
    text: omitted[index] ?? '',
  }))
  return { sections, omissions, warnings: blocks.warnings }
}

const RULE_IN_HEADING =
  'a heading above other headings reads like a sentence and is no passage: write it below a heading if it is a rule'
const NOT_WHOLE = 'the text is not whole in its headings, texts and comments'

/** Whether what is taken, with what is omitted put back in its places, is the body, apart from white space. */
function isWhole(
  body: string,
  taken: readonly string[],
  omitted: readonly string[],
  places: readonly { readonly start: number; readonly end: number }[],
): boolean {
  let at = 0
  const rest = places.map(({ start, end }, index) => {
    const [before, found] = [body.slice(at, start), body.slice(start, end)]
    at = end
    return found === omitted[index] ? before : undefined
  })
  return !rest.includes(undefined) && withoutSpace([...rest, body.slice(at)].join('')) === withoutSpace(taken.join(''))
}
