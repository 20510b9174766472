import type { LineText, Block } from './line-tree.ts'
import { STANDING_RULES } from './standing.ts'
import { ENUMERATOR, type PdfLine } from './pdf-columns.ts'

const NAMED =
  /^(?:Section|SECTION|Sec\.|Article|ARTICLE|Artikel|§+|Chapter|CHAPTER|Part|PART|Annex|ANNEX|Appendix|APPENDIX|Anlage|Schedule|SCHEDULE)\s*[\dIVXLA-Z]+\b/u
/** A sentence that begins with the name of a provision: `Part 1 provides …`. */
const IN_SENTENCE = /^\S+\s*[\dIVXLA-Z]+(?:\(\w+\))*\s+\p{Ll}/u
const NUMBERED = /^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,5}\.|[A-Z]\.)\s+\p{Lu}[^.;:]{2,90}$/u

/** A line of a table of contents leads to a page by dots. */
const CONTENTS_LINE = /\.{5,}\s*\d{1,4}$|(?:\.\s){5,}\d{1,4}$/

/** What the lines of a whole file say of each of them. */
interface Layout {
  readonly running: ReadonlySet<PdfLine>
  readonly notes: ReadonlySet<PdfLine>
  /** Size of most text, and those that are larger, from the largest. */
  readonly body: number
  readonly sizes: readonly number[]
  readonly leading: number
}

function layoutOf(pages: readonly (readonly PdfLine[])[]): Layout {
  const upright = pages.map((page) => page.filter(({ isRotated }) => isRotated !== true))
  const lines = upright.flat()
  const running = runningLines(upright)
  const body = mostFrequent(lines.map(({ size, text }) => [roundedSize(size), text.length] as const)) ?? 10
  const sizes = [...new Set(lines.map(({ size }) => roundedSize(size)))]
    .filter((size) => size > body * 1.1)
    .toSorted((a, b) => b - a)
  const notes = new Set(upright.flatMap((page) => notesOf(page, running, body)))
  return { running, notes, body, sizes, leading: leadingOf(lines) }
}

/** A block whose lines are not all known. */
type OpenBlock = Block & { readonly texts: LineText[] }

/** Makes headings, paragraphs and omissions of the lines of all pages. */
export function blocksOf(pages: readonly (readonly PdfLine[])[]): readonly Block[] {
  const lines = pages.flat()
  const layout = layoutOf(pages)
  const joined = createHyphens(lines.map(({ text }) => text))
  const blocks: OpenBlock[] = []
  // What stands between the parts of a paragraph that goes on on the next page follows it.
  let held: OpenBlock[] = []
  let [before, note]: [PdfLine | undefined, PdfLine | undefined] = [undefined, undefined]
  for (const line of lines) {
    const base = { line: line.page, texts: [textOf(line)] }
    const rule = omissionOf(line, layout)
    const isNote = layout.notes.has(line)
    if (rule !== undefined) held.push({ ...base, is: 'omitted', rule })
    else if (isNote) {
      const last = goesOn(held.at(-1), note, line, undefined, layout) ? held.at(-1) : undefined
      if (last === undefined) held.push(begun(line, undefined))
      else joined(last.texts, textOf(line))
    } else {
      const isContents = CONTENTS_LINE.test(line.text)
      const rank = isContents ? undefined : rankOf(line, before, layout)
      const last = blocks.at(-1)
      const parts = isContents ? undefined : runIn(line, before, rank, layout)
      if (parts === undefined && last !== undefined && !isContents && goesOn(last, before, line, rank, layout))
        joined(last.texts, textOf(line))
      else {
        for (const each of held) blocks.push(each)
        held = []
        if (parts !== undefined) blocks.push(begun(parts.name, NAMED_RANK), begun(parts.text, undefined))
        else blocks.push(isContents ? { ...base, is: 'omitted', rule: 'table of contents' } : begun(line, rank))
      }
      before = line
    }
    if (isNote) note = line
  }
  return [...blocks, ...held]
}

/** Why a line is no text of the document; undefined for one that is. */
function omissionOf(line: PdfLine, { running }: Layout): string | undefined {
  if (line.standing !== undefined) return STANDING_RULES[line.standing]
  if (line.isRotated === true) return 'text across the page'
  return running.has(line) ? 'running head or page number' : undefined
}

/** A hyphen at the end of a line, after a word. */
const HYPHEN = /(\p{L}{1,40})[-\u00AD\u2010]\n$/u
/** After them a hyphen stands for what follows: `Ein- und Ausfuhr`. */
const CONJUNCTION = /^(?:und|oder|sowie|bzw\.|bis|and|or|to|et|ou|y|o|e|en|of)(?![\p{L}])/u
/** Words that join others by a hyphen of their own. */
const PREFIX = /^(?:\p{L}|[Ss]elf|[Nn]on|[Ww]ell|[Qq]uasi|[Cc]ross|[Tt]hird)$/u

/**
 * Returns a function that adds a line to those of a paragraph. A word that the lines part is one word again: without its
 * hyphen, unless the document has the word with a hyphen within a line.
 */
function createHyphens(lines: readonly string[]): (texts: LineText[], next: LineText) => void {
  const hyphened = new Set(lines.flatMap((line) => line.match(/\p{L}{1,40}-\p{L}{1,40}/gu) ?? []))
  return (texts, next) => {
    const last = texts.at(-1)
    const [found, first = ''] = HYPHEN.exec(last?.value ?? '') ?? []
    if (last !== undefined && found !== undefined && !CONJUNCTION.test(next.value)) {
      const second = /^\p{L}+/u.exec(next.value)?.[0] ?? ''
      const isPart = /^\p{Ll}/u.test(second) || /^\p{Lu}{2,} \p{Lu}{2,}$/u.test(`${first} ${second}`)
      const isOneWord = isPart && !PREFIX.test(first) && !hyphened.has(`${first}-${second}`)
      const value = last.value.slice(0, isOneWord || last.value.endsWith('\u00AD\n') ? -2 : -1)
      texts[texts.length - 1] = { ...last, value }
    }
    texts.push(next)
  }
}

/** Whether a line belongs to the heading or paragraph of the line before it. */
function goesOn(
  last: Block | undefined,
  before: PdfLine | undefined,
  line: PdfLine,
  rank: number | undefined,
  { leading }: Layout,
): boolean {
  if (last === undefined || before === undefined) return false
  if (rank === undefined) return last.is === 'paragraph' && continues(before, line, leading)
  const isNamed = NAMED.test(line.text) || NUMBERED.test(line.text)
  const isClose = before.page === line.page && before.y - line.y < line.size * Math.max(1.7, leading * 1.25)
  return last.is === 'heading' && last.rank === rank && isClose && !isNamed
}

/** The heading or paragraph that a line begins. */
function begun(line: PdfLine, rank: number | undefined): OpenBlock {
  const base = { line: line.page, texts: [textOf(line)] }
  if (rank === undefined) return { ...base, is: 'paragraph' }
  const kind = /^(?:§|Art|Sec|SEC)/.test(line.text) && NAMED.test(line.text) ? 'section' : 'heading'
  return { ...base, is: 'heading', rank, kind, anchor: `page=${line.page}` }
}

function textOf(line: PdfLine): LineText {
  return { value: `${line.text}\n`, line: 1, source: { from: 0, to: 0 }, page: line.page, box: line.box }
}

function roundedSize(size: number): number {
  return Math.round(size * 2) / 2
}

/** The lines of smaller text at the foot of a page, below text of the size of the body. */
function notesOf(page: readonly PdfLine[], running: ReadonlySet<PdfLine>, body: number): readonly PdfLine[] {
  const own = page.filter((line) => !running.has(line))
  const last = own.findLastIndex(({ size }) => roundedSize(size) >= body * 0.95)
  const notes = own.slice(last + 1)
  const [first] = notes
  const isFoot = first !== undefined && last !== -1 && first.height < 0.5 && first.y < (own[last]?.y ?? 0)
  return isFoot && notes.every(({ size }) => size < body * 0.93) ? notes : []
}

const SINGLE_SPACED = 1.2
const GAPS_MIN = 8

/** Distance of lines within paragraphs, in sizes of their text: 2 and more where they are double-spaced. */
function leadingOf(lines: readonly PdfLine[]): number {
  const gaps = lines.flatMap((line, index) => {
    const before = lines[index - 1]
    if (before === undefined || before.page !== line.page || before.size !== line.size) return []
    const gap = (before.y - line.y) / line.size
    const reaches = before.edge - before.right < before.size * 5 && !SENTENCE_END.test(before.text)
    return reaches && gap > 0.8 && gap < 3 ? [[Math.round(gap * 20) / 20, 1] as const] : []
  })
  return (gaps.length < GAPS_MIN ? undefined : mostFrequent(gaps)) ?? SINGLE_SPACED
}

/** The name of a provision before the text that begins in its line: `Sec. 2. Every hive is counted …`. */
const RUN_IN =
  /^((?:Section|SECTION|Sec\.|SEC\.|Article|ARTICLE|Artikel|§+)\s*\d+[\w-]*(?:\.\d+[\w-]*)*[.:—–]*)\s+(?=["“‘(]?(?:\p{Lu}|\(?\d))/u
/** A heading of its own is shorter, or does not fill its column. */
const HEADING_CHARACTERS_MAX = 60
/** Of a heading that names a provision. Smaller ranks are those of sizes, from the largest; greater ones of numbers. */
export const NAMED_RANK = 50

/** Sizes of its text that a line of running text leaves free at most, beside a number or the name of a provision. */
const FULL_NUMBERED = 6
const FULL_NAMED = 3

/** Whether a line is as long as one of running text, which goes on in the next one. */
function isFull(line: PdfLine, free: number): boolean {
  const isLong = line.text.length > HEADING_CHARACTERS_MAX && !SENTENCE_END.test(line.text)
  return isLong && line.edge - line.right < line.size * free
}

/** Initial and name: `M. SMITH`. */
const SIGNATURE = /^\p{Lu}\.\s+\p{Lu}{2,}$/u

/** Cuts a line in which a provision and its text begin; undefined for any other. */
function runIn(
  line: PdfLine,
  before: PdfLine | undefined,
  rank: number | undefined,
  { leading }: Layout,
): { readonly name: PdfLine; readonly text: PdfLine } | undefined {
  const [all, name] = RUN_IN.exec(line.text) ?? []
  const isHeading = rank === NAMED_RANK ? !isFull(line, FULL_NAMED) : rank !== undefined
  if (all === undefined || name === undefined || isHeading) return undefined
  const isNew = before !== undefined && SENTENCE_END.test(before.text) && isIndented(before, line)
  if (!isNew && !isApart(line, before, leading)) return undefined
  const [left, bottom, right, top] = line.box
  const middle = Math.round((left + ((right - left) * all.length) / line.text.length) * 10) / 10
  return {
    name: { ...line, text: name, box: [left, bottom, middle, top] },
    text: { ...line, text: line.text.slice(all.length), box: [middle, bottom, right, top] },
  }
}

function isApart(line: PdfLine, before: PdfLine | undefined, leading: number): boolean {
  const gap = line.size * Math.max(1.6, leading * 1.25)
  return before === undefined || before.page !== line.page || before.y - line.y > gap
}

/** A heading by its size, or by a number with a gap before it. */
function rankOf(line: PdfLine, before: PdfLine | undefined, { sizes, body, leading }: Layout): number | undefined {
  if (line.text.length > 160 || !/\p{L}/u.test(line.text)) return undefined
  const size = roundedSize(line.size)
  if (size > body * 1.1) return sizes.indexOf(size) + 1
  if (!isApart(line, before, leading) || /[.,;:]$/.test(line.text)) return undefined
  if (NAMED.test(line.text) && line.text.length <= 100) return IN_SENTENCE.test(line.text) ? undefined : NAMED_RANK
  if (!NUMBERED.test(line.text) || SIGNATURE.test(line.text) || isFull(line, FULL_NUMBERED)) return undefined
  return 60 + (/^\S*/.exec(line.text)?.[0].match(/[^.]+/g)?.length ?? 1)
}

const SENTENCE_END = /[.:;!?]["'”’)\]]*$/u

function continues(before: PdfLine, line: PdfLine, leading: number): boolean {
  if (ENUMERATOR.test(line.text) || line.text.includes(' | ') || before.text.includes(' | ')) return false
  const isEnd = SENTENCE_END.test(before.text)
  const gap = before.y - line.y
  if (before.page !== line.page || gap < -line.size * 0.5) return !isEnd
  return gap < line.size * Math.max(1.55, leading * 1.2) && !(isEnd && isIndented(before, line))
}

/** Whether the first line of a paragraph is set in, against the line before it or as that is. */
function isIndented(before: PdfLine, line: PdfLine): boolean {
  const indent = line.x - before.x
  const isShort = before.edge - before.right > before.size * 4
  return !ENUMERATOR.test(before.text) && indent > line.size * 0.9 && (indent < line.size * 6 || isShort)
}

/** Lines at the edge of a page that come back on half of the pages, and numbers of pages. */
function runningLines(pages: readonly (readonly PdfLine[])[]): ReadonlySet<PdfLine> {
  const edges = pages.flat().filter(({ height }) => height > 0.92 || height < 0.08)
  const counts = new Map<string, Set<number>>()
  for (const line of edges) {
    const key = keyOf(line)
    counts.set(key, (counts.get(key) ?? new Set()).add(line.page))
  }
  const enough = Math.max(2, pages.length * RUNNING_SHARE)
  return new Set(edges.filter((line) => (counts.get(keyOf(line))?.size ?? 0) >= enough || PAGE_NUMBER.test(line.text)))
}

/** Left and right pages may have heads of their own. */
const RUNNING_SHARE = 0.4
const PAGE_NUMBER = /^(?:page\s+)?(?:\d{1,4}|[ivxl]{1,6})(?:\s*(?:of|\/|von)\s*\d{1,4})?$/i

function keyOf({ text, height }: PdfLine): string {
  return `${height > 0.5 ? 'top' : 'bottom'} ${text.replaceAll(/\d+/g, '#')}`
}

function mostFrequent(weighted: readonly (readonly [number, number])[]): number | undefined {
  const counts = new Map<number, number>()
  for (const [size, weight] of weighted) counts.set(size, (counts.get(size) ?? 0) + weight)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0]
}
