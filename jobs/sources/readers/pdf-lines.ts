import type { Stretch } from './line-tree.ts'

/** A piece of text as a page places it; `x` and `y` are the start of its baseline, in points. */
export interface PdfText {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly size: number
}

export interface PdfLine {
  readonly text: string
  readonly page: number
  readonly x: number
  readonly right: number
  readonly y: number
  readonly size: number
  /** Height above the bottom of the page, from 0 to 1. */
  readonly height: number
}

/** Returns the lines of a page in reading order: from top to bottom, of two columns the left one first. */
export function linesOfPage(
  texts: readonly PdfText[],
  page: number,
  { bottom, top }: { readonly bottom: number; readonly top: number },
): readonly PdfLine[] {
  const sorted = texts.toSorted((a, b) => b.y - a.y || a.x - b.x)
  const rows: PdfText[][] = []
  for (const text of sorted) {
    const row = rows.at(-1)
    const first = row?.[0]
    if (row !== undefined && first !== undefined && Math.abs(first.y - text.y) <= Math.max(first.size, text.size) * 0.4)
      row.push(text)
    else rows.push([text])
  }
  const height = (y: number): number => (top > bottom ? (y - bottom) / (top - bottom) : 0.5)
  const lines = rows.flatMap((row) => piecesOf(row).map((piece) => lineOf(piece, page, height)))
  return inColumns(lines)
}

/** Cuts a row where a gap is wider than words leave: between columns. */
function piecesOf(row: readonly PdfText[]): readonly (readonly PdfText[])[] {
  const pieces: PdfText[][] = []
  let right = -Infinity
  for (const text of row.toSorted((a, b) => a.x - b.x)) {
    if (text.x - right > text.size * 2.5) pieces.push([text])
    else pieces.at(-1)?.push(text)
    right = Math.max(right, text.x + text.width)
  }
  return pieces
}

function lineOf(row: readonly PdfText[], page: number, height: (y: number) => number): PdfLine {
  let [text, right] = ['', 0]
  for (const each of row) {
    const isApart = text !== '' && each.x - right > each.size * 0.15
    text += isApart && !/\s$/.test(text) && !/^\s/.test(each.text) ? ` ${each.text}` : each.text
    right = Math.max(right, each.x + each.width)
  }
  const [first] = row
  const size = row.reduce((most, each) => Math.max(most, each.size), 0)
  const y = first?.y ?? 0
  return { text: text.replaceAll(/\s+/g, ' ').trim(), page, x: first?.x ?? 0, right, y, size, height: height(y) }
}

/** Two columns are read one after the other, where most lines keep to one side; else pieces of a row stay together. */
function inColumns(lines: readonly PdfLine[]): readonly PdfLine[] {
  const left = lines.reduce((least, { x }) => Math.min(least, x), Number.POSITIVE_INFINITY)
  const right = lines.reduce((most, line) => Math.max(most, line.right), Number.NEGATIVE_INFINITY)
  const middle = (left + right) / 2
  const isLeft = (line: PdfLine): boolean => line.right <= middle + 6
  const isRight = (line: PdfLine): boolean => line.x >= middle - 6
  const counts = { left: lines.filter(isLeft).length, right: lines.filter(isRight).length }
  const isTwo = lines.length > 20 && counts.left > lines.length * 0.35 && counts.right > lines.length * 0.35
  if (!isTwo) return withRows(lines)
  const ordered: PdfLine[] = []
  let columns: { left: PdfLine[]; right: PdfLine[] } = { left: [], right: [] }
  const flush = (): void => {
    for (const line of columns.left.concat(columns.right)) ordered.push(line)
    columns = { left: [], right: [] }
  }
  for (const line of lines) {
    if (isRight(line)) columns.right.push(line)
    else if (isLeft(line)) columns.left.push(line)
    else {
      flush()
      ordered.push(line)
    }
  }
  flush()
  return ordered
}

/** Pieces of one row are the cells of a table, or a number and its text. */
function withRows(lines: readonly PdfLine[]): readonly PdfLine[] {
  const rows: PdfLine[] = []
  for (const line of lines) {
    const last = rows.at(-1)
    if (last === undefined || Math.abs(last.y - line.y) > last.size * 0.4 || line.x < last.right) {
      rows.push(line)
      continue
    }
    const joint = ENUMERATOR.test(`${last.text} `) && last.text.length <= 6 ? ' ' : ' | '
    rows[rows.length - 1] = { ...last, text: `${last.text}${joint}${line.text}`, right: line.right }
  }
  return rows
}

const ENUMERATOR = /^(?:\(?(?:\d{1,3}|[a-z]{1,2}|[ivxIVX]{1,5}|[A-Z])[.)]|[•●▪–—-]|§+\s*\d+\w?|\d+(?:\.\d+)+\.?)\s/u
const NAMED =
  /^(?:Section|SECTION|Sec\.|Article|ARTICLE|Artikel|§+|Chapter|CHAPTER|Part|PART|Annex|ANNEX|Appendix|APPENDIX|Anlage|Schedule|SCHEDULE)\s*[\dIVXLA-Z]+\b/u
const NUMBERED = /^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,5}\.|[A-Z]\.)\s+\p{Lu}[^.;:]{2,90}$/u

/** A line of a table of contents leads to a page by dots. */
const CONTENTS_LINE = /\.{5,}\s*\d{1,4}$|(?:\.\s){5,}\d{1,4}$/

/** Makes headings, paragraphs and omissions of the lines of all pages. */
export function stretchesOf(pages: readonly (readonly PdfLine[])[]): readonly Stretch[] {
  const lines = pages.flat()
  const running = runningLines(pages)
  const body = mostFrequent(lines.map(({ size, text }) => [Math.round(size * 2) / 2, text.length] as const))
  const sizes = [...new Set(lines.map(({ size }) => Math.round(size * 2) / 2))]
    .filter((size) => size > body * 1.1)
    .toSorted((a, b) => b - a)
  const stretches: Stretch[] = []
  let before: PdfLine | undefined
  for (const line of lines) {
    const text = {
      value: `${line.text}\n`,
      line: 1,
      source: { from: 0, to: 0 },
      page: line.page,
      box: boxOf(line),
    } as const
    const base = { line: line.page, texts: [text] }
    if (running.has(line)) {
      stretches.push({ ...base, is: 'omitted', rule: 'running head or page number' })
      continue
    }
    if (CONTENTS_LINE.test(line.text)) {
      stretches.push({ ...base, is: 'omitted', rule: 'table of contents' })
      before = line
      continue
    }
    const rank = rankOf(line, before, sizes, body)
    const last = stretches.at(-1)
    if (rank !== undefined) {
      const isSame =
        last?.is === 'heading' &&
        last.rank === rank &&
        before !== undefined &&
        isClose(before, line) &&
        !NAMED.test(line.text) &&
        !NUMBERED.test(line.text)
      if (isSame) stretches[stretches.length - 1] = { ...last, texts: [...last.texts, text] }
      else
        stretches.push({
          ...base,
          is: 'heading',
          rank,
          kind: /^(?:§|Art|Sec|SEC)/.test(line.text) && NAMED.test(line.text) ? 'section' : 'heading',
          anchor: `page=${line.page}`,
        })
    } else if (last?.is === 'paragraph' && before !== undefined && continues(before, line))
      stretches[stretches.length - 1] = { ...last, texts: [...last.texts, text] }
    else stretches.push({ ...base, is: 'paragraph' })
    before = line
  }
  return stretches
}

function boxOf({ x, y, right, size }: PdfLine): readonly [number, number, number, number] {
  const rounded = (value: number): number => Math.round(value * 10) / 10
  return [rounded(x), rounded(y - size * 0.25), rounded(right), rounded(y + size * 0.8)]
}

/** A heading by its size, or by a number with a gap before it. */
function rankOf(
  line: PdfLine,
  before: PdfLine | undefined,
  sizes: readonly number[],
  body: number,
): number | undefined {
  if (line.text.length > 160 || !/\p{L}/u.test(line.text)) return undefined
  const size = Math.round(line.size * 2) / 2
  if (size > body * 1.1) return sizes.indexOf(size) + 1
  const isApart = before === undefined || before.page !== line.page || before.y - line.y > line.size * 1.6
  if (!isApart || /[.,;:]$/.test(line.text)) return undefined
  if (NAMED.test(line.text) && line.text.length <= 100) return 50
  if (!NUMBERED.test(line.text)) return undefined
  return (
    60 +
    (line.text
      .split(/\s/, 1)[0]
      ?.split('.')
      .filter((part) => part !== '').length ?? 1)
  )
}

function isClose(before: PdfLine, line: PdfLine): boolean {
  return before.page === line.page && before.y - line.y < line.size * 1.7
}

/** Whether a line goes on with the paragraph of the line before it. */
function continues(before: PdfLine, line: PdfLine): boolean {
  if (ENUMERATOR.test(line.text) || line.text.includes(' | ') || before.text.includes(' | ')) return false
  if (before.page !== line.page) return !/[.:;!?]$/.test(before.text)
  const gap = before.y - line.y
  return gap < line.size * 1.55 && gap > -line.size * 0.5 ? true : gap < 0 && !/[.:;!?]$/.test(before.text)
}

/** Lines at the edge of a page that come back on half of the pages, and numbers of pages. */
function runningLines(pages: readonly (readonly PdfLine[])[]): ReadonlySet<PdfLine> {
  const edges = pages.flat().filter(({ height }) => height > 0.92 || height < 0.08)
  const counts = new Map<string, Set<number>>()
  for (const line of edges) {
    const key = keyOf(line)
    counts.set(key, (counts.get(key) ?? new Set()).add(line.page))
  }
  const enough = Math.max(2, pages.length / 2)
  return new Set(edges.filter((line) => (counts.get(keyOf(line))?.size ?? 0) >= enough || PAGE_NUMBER.test(line.text)))
}

const PAGE_NUMBER = /^(?:page\s+)?(?:\d{1,4}|[ivxl]{1,6})(?:\s*(?:of|\/|von)\s*\d{1,4})?$/i

function keyOf({ text, height }: PdfLine): string {
  return `${height > 0.5 ? 'top' : 'bottom'} ${text.replaceAll(/\d+/g, '#')}`
}

function mostFrequent(weighted: readonly (readonly [number, number])[]): number {
  const counts = new Map<number, number>()
  for (const [size, weight] of weighted) counts.set(size, (counts.get(size) ?? 0) + weight)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? 10
}
