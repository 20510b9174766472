/** A heading and the text up to the next one. */
export interface Section {
  /** Line of the heading, from 1. */
  readonly line: number
  /** Without `#` marks and anchor; empty for text before the first heading. */
  readonly heading: string
  readonly anchor: string
  /** True if the anchor is written after the heading; otherwise it is derived from the heading's words. */
  readonly publisherAnchor: boolean
  /** Headings above this one, outermost first. */
  readonly parents: readonly string[]
  readonly text: string
}

interface Open {
  readonly line: number
  readonly level: number
  readonly heading: string
  readonly anchor: string
  readonly publisherAnchor: boolean
}

/** ATX heading (CommonMark 4.2): up to three spaces, one to six marks, white space or the end of the line. */
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/
const ANCHOR = /\s*\{#([^\s{}]+)\}\s*$/
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/

/** Cuts the body of a Markdown file at its headings; a line inside a code fence is not a heading. */
export function* cutAtHeadings(lines: readonly string[], firstLine: number): Generator<Section> {
  const above: Open[] = []
  const taken = new Set<string>()
  let open: Open = { line: firstLine, level: 0, heading: '', anchor: 'start', publisherAnchor: false }
  let body: string[] = []
  let fence: string | undefined
  const section = (): Section => ({
    ...open,
    parents: above.filter(({ level }) => level < open.level).map(({ heading }) => heading),
    text: body.join('\n').trim(),
  })

  for (const [index, line] of lines.entries()) {
    fence = fenceAfter(line, fence)
    const found = fence === undefined ? HEADING.exec(line) : null
    if (found === null) {
      body.push(line)
      continue
    }
    if (open.level > 0 || body.some((each) => each.trim() !== '')) yield section()
    const level = (found[1] ?? '').length
    while ((above.at(-1)?.level ?? 0) >= level) above.pop()
    open = { line: firstLine + index, level, ...namesOf(found[2] ?? '', taken) }
    above.push(open)
    body = []
  }
  if (open.level > 0 || body.some((each) => each.trim() !== '')) yield section()
}

/**
 * Returns the marks of the fence that is open after the line. A line of at least as many of the same mark, and nothing
 * else, closes a fence.
 */
function fenceAfter(line: string, open: string | undefined): string | undefined {
  const [, marks = '', info = ''] = FENCE.exec(line) ?? []
  if (open === undefined) return marks === '' || (marks.startsWith('`') && info.includes('`')) ? undefined : marks
  return marks.startsWith(open) && info.trim() === '' ? undefined : open
}

function namesOf(written: string, taken: Set<string>): Pick<Open, 'heading' | 'anchor' | 'publisherAnchor'> {
  const own = ANCHOR.exec(written)?.[1]
  const heading = written.replace(ANCHOR, '').trim()
  const anchor = own ?? freeAnchor(slugOf(heading), taken)
  taken.add(anchor)
  return { heading, anchor, publisherAnchor: own !== undefined }
}

function slugOf(heading: string): string {
  return (
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, '') || 'section'
  )
}

function freeAnchor(slug: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const anchor = number === 1 ? slug : `${slug}-${number}`
    if (!taken.has(anchor)) return anchor
  }
}
