import type { Standing } from './standing.ts'

/** A piece of text as a page places it; `x` and `y` are the start of its baseline, in points. */
export interface PdfText {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly size: number
  readonly standing?: Standing | undefined
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
  /** Right edge of the column that it stands in. */
  readonly edge: number
  /** Whether it is turned against the text of the page: a mark in the margin or across the page. */
  readonly isRotated?: true
  /** Why it is no text of the page: it is not shown, or struck through. */
  readonly standing?: Standing | undefined
  /** Left, bottom, right and top in points of the page as the file has it. */
  readonly box: readonly [number, number, number, number]
}

/** How the text of a page is turned, in quarters against the clock, and where its foot and head are once it is upright. */
export interface PageTurn {
  readonly quarters: number
  readonly bottom: number
  readonly top: number
}

type Row = readonly PdfText[]

/** A span of a line from its left to its right end, in points. */
interface Span {
  readonly from: number
  readonly to: number
}

/** Baselines that are nearer, in sizes of the text, are one row. */
const ROW_HEIGHT = 0.4
/** Size and height above the line of a text that is raised, in sizes of that line. */
const SMALL = 0.8
const RAISED_MIN = 0.12
const RAISED_MAX = 0.6
/** A gap in a row that is wider than this, in sizes of its text, parts columns or cells. */
const WIDE_GAP = 2.5
const ROWS_MIN = 10
/** Rows that may cross the gap between columns: headings and tables of the whole width. */
const CROSSING_MAX = 0.2
const COLUMN_WIDTH_MIN = 0.18
const GUTTER_POINTS_MIN = 6
/** Lines of running text fill their column; cells of a table do not. */
const FILLED_MIN = 0.7

/** Returns the lines of a page in reading order: from top to bottom, of several columns the left one first. */
export function linesOfPage(
  texts: readonly PdfText[],
  page: number,
  turn: PageTurn,
  ofOthers: readonly number[],
): readonly PdfLine[] {
  const rows = rowsOf(texts)
  const gutters = rows.length < ROWS_MIN ? ofOthers.filter((gutter) => isGutter(rows, gutter)) : guttersOf(rows)
  const lines = rows.flatMap((row) => piecesOf(row, gutters).map((piece) => lineOf(piece, page, turn)))
  return gutters.length === 0 ? withEdge(withRows(lines)) : inColumns(lines, gutters)
}

/** Returns the texts of a page that are turned against the others, hidden or struck, each as a line. */
export function rotatedLines(texts: readonly PdfText[], page: number, turn: PageTurn): readonly PdfLine[] {
  return texts.map((text) => ({ ...lineOf([text], page, turn), isRotated: true, standing: text.standing }))
}

/** The gaps between the columns of most pages that have some: a page of few rows has the same, where they are free. */
export function commonGutters(pages: readonly (readonly PdfText[])[]): readonly number[] {
  const found = new Map<string, { readonly gutters: readonly number[]; pages: number }>()
  for (const texts of pages) {
    const gutters = guttersOf(rowsOf(texts))
    const key = gutters.map((each) => Math.round(each / GUTTER_POINTS_MIN)).join(' ')
    const known = found.get(key) ?? { gutters, pages: 0 }
    if (gutters.length > 0) found.set(key, { ...known, pages: known.pages + 1 })
  }
  return [...found.values()].toSorted((a, b) => b.pages - a.pages)[0]?.gutters ?? []
}

/** Whether rows have words on both sides of a gap, and next to none across it. */
function isGutter(rows: readonly Row[], gutter: number): boolean {
  const sides = rows.map((row) => {
    const spans = spansOf(row)
    if (spans.some(({ from, to }) => from < gutter && to > gutter)) return 'across'
    return spans.some(({ to }) => to <= gutter) && spans.some(({ from }) => from >= gutter) ? 'both' : 'one'
  })
  const both = sides.filter((side) => side === 'both').length
  return both > 1 && both > sides.filter((side) => side === 'across').length
}

/**
 * Returns texts without those that are printed again over themselves, a fraction of their size apart, as programs do to
 * make them bold.
 */
export function printedOnce<T extends PdfText>(texts: readonly T[]): readonly T[] {
  const byText = new Map<string, T[]>()
  return texts.filter((each) => {
    const same = byText.get(each.text) ?? []
    const near = each.size * OVERPRINT
    const isAgain = same.some(
      ({ x, y, width }) => Math.abs(x - each.x) < Math.min(near, width / 2) && Math.abs(y - each.y) < near,
    )
    if (!isAgain) same.push(each)
    byText.set(each.text, same)
    return !isAgain
  })
}

/** Of the size of a text: a letter is some 0.5 wide. */
const OVERPRINT = 0.15

function rowsOf(texts: readonly PdfText[]): readonly Row[] {
  const rows: PdfText[][] = []
  for (const text of texts.toSorted((a, b) => b.y - a.y || a.x - b.x)) {
    const row = rows.at(-1)
    const isSame = [row?.[0], row?.at(-1)].some(
      (each) => each !== undefined && Math.abs(each.y - text.y) <= Math.max(each.size, text.size) * ROW_HEIGHT,
    )
    // Small text that is raised above the line of another one, such as the mark of a note.
    const isAbove = row?.every((each) => each.size <= text.size * SMALL && each.y - text.y < text.size * RAISED_MAX)
    if (row !== undefined && (isSame || isAbove === true)) row.push(text)
    else rows.push([text])
  }
  return rows.map((row) => row.toSorted((a, b) => a.x - b.x))
}

/** Cuts a row where a gap is wider than words leave, and where it spans the gap between columns. */
function piecesOf(row: Row, gutters: readonly number[]): readonly Row[] {
  const pieces: PdfText[][] = []
  let right = -Infinity
  for (const text of row) {
    const [end, gap] = [right, text.x - right]
    const isBetween = gap > text.size * 0.4 && gutters.some((gutter) => end <= gutter && gutter <= text.x)
    if (gap > text.size * WIDE_GAP || isBetween) pieces.push([text])
    else pieces.at(-1)?.push(text)
    right = Math.max(right, text.x + text.width)
  }
  return pieces
}

function lineOf(row: Row, page: number, turn: PageTurn): PdfLine {
  const size = row.reduce((most, each) => Math.max(most, each.size), 0)
  const y = row.find((each) => each.size === size)?.y ?? 0
  let [text, right] = ['', 0]
  for (const each of row) {
    const isApart = text !== '' && each.x - right > each.size * 0.15
    const isRaised = text !== '' && each.size <= size * SMALL && each.y - y > size * RAISED_MIN
    // The number of a note, or an exponent, would be read as digits of the number before it.
    if (isRaised && /^\s*\d/.test(each.text)) text += `^${each.text.trimStart()}`
    else text += isApart && !/\s$/.test(text) && !/^\s/.test(each.text) ? ` ${each.text}` : each.text
    right = Math.max(right, each.x + each.width)
  }
  const x = row[0]?.x ?? 0
  const shown = text.replaceAll(/\s+/g, ' ').trim()
  const { bottom, top } = turn
  const height = top > bottom ? (y - bottom) / (top - bottom) : 0.5
  return { text: shown, page, x, right, y, size, height, edge: right, box: boxOf(x, y, right, size, turn) }
}

function boxOf(x: number, y: number, right: number, size: number, { quarters }: PageTurn): PdfLine['box'] {
  const rounded = (value: number): number => Math.round(value * 10) / 10
  const corners = [turned(x, y - size * 0.25, -quarters), turned(right, y + size * 0.8, -quarters)]
  const [xs, ys] = [corners.map((each) => each.x), corners.map((each) => each.y)]
  return [rounded(Math.min(...xs)), rounded(Math.min(...ys)), rounded(Math.max(...xs)), rounded(Math.max(...ys))]
}

/** A point after the page is turned with the clock by quarters, so that text which they turned is upright. */
export function turned(x: number, y: number, quarters: number): Pick<PdfText, 'x' | 'y'> {
  const [right = x, up = y] = [[], [y, -x], [-x, -y], [-y, x]][((quarters % 4) + 4) % 4] ?? []
  return { x: right, y: up }
}

/**
 * Returns the middles of the gaps between columns of running text. Such a gap is crossed by few rows, and the lines
 * beside it fill their columns, which those of a table do not.
 */
function guttersOf(rows: readonly Row[]): readonly number[] {
  const spans = rows.map(spansOf)
  const all = spans.flat()
  const left = all.reduce((least, { from }) => Math.min(least, from), Number.POSITIVE_INFINITY)
  const right = all.reduce((most, { to }) => Math.max(most, to), Number.NEGATIVE_INFINITY)
  const width = right - left
  if (rows.length < ROWS_MIN || width <= 0 || width > POINTS_MAX) return []
  const crossing = new Uint32Array(Math.ceil(width) + 1)
  for (const { from, to } of all)
    for (let point = Math.floor(from - left); point < to - left; point += 1)
      crossing[point] = (crossing[point] ?? 0) + 1
  const gutters: number[] = []
  let [start, last] = [-1, 0]
  for (let point = Math.floor(width * COLUMN_WIDTH_MIN); point <= width * (1 - COLUMN_WIDTH_MIN); point += 1) {
    const isFree = (crossing[point] ?? 0) <= rows.length * CROSSING_MAX
    if (isFree && start === -1) start = point
    if (isFree || start === -1) continue
    const middle = (start + point) / 2
    if (point - start >= GUTTER_POINTS_MIN && middle - last >= width * COLUMN_WIDTH_MIN) {
      gutters.push(left + middle)
      last = middle
    }
    start = -1
  }
  return gutters.length > 0 && isRunningText(rows, gutters, { from: left, to: right }) ? gutters : []
}

/** No page of a publication is wider. */
const POINTS_MAX = 20_000

function spansOf(row: Row): readonly Span[] {
  const spans: { from: number; to: number }[] = []
  for (const { x, width, size, text } of row) {
    const last = spans.at(-1)
    const to = x + (/\s$/.test(text) ? width - size * 0.25 : width)
    if (last !== undefined && x - last.to <= size * 0.55) last.to = Math.max(last.to, to)
    else spans.push({ from: x, to })
  }
  return spans
}

function isRunningText(rows: readonly Row[], gutters: readonly number[], page: Span): boolean {
  const bounds = [page.from, ...gutters, page.to]
  return bounds.slice(1).every((to, index) => {
    const from = bounds[index] ?? 0
    const fills = rows
      .flatMap((row) => piecesOf(row, gutters))
      .map((piece) => ({ from: piece[0]?.x ?? 0, to: Math.max(0, ...piece.map(({ x, width }) => x + width)) }))
      .filter((line) => line.from >= from - 1 && line.to <= to + 1)
      .map((line) => (line.to - line.from) / (to - from))
      .toSorted((a, b) => a - b)
    return fills.length >= rows.length * 0.25 && (fills[Math.floor(fills.length / 2)] ?? 0) >= FILLED_MIN
  })
}

/** Columns are read one after the other between the lines of the whole width. */
function inColumns(lines: readonly PdfLine[], gutters: readonly number[]): readonly PdfLine[] {
  const ordered: PdfLine[] = []
  let columns: PdfLine[][] = []
  const flush = (): void => {
    for (const column of columns) for (const line of withEdge(withRows(column ?? []))) ordered.push(line)
    columns = []
  }
  for (const line of lines) {
    const column = gutters.filter((gutter) => gutter <= line.x).length
    if (line.right > (gutters[column] ?? Number.POSITIVE_INFINITY)) {
      flush()
      ordered.push(line)
    } else (columns[column] ??= []).push(line)
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
    const [a, b] = [last.box, line.box]
    const box = [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])] as const
    rows[rows.length - 1] = { ...last, text: `${last.text}${joint}${line.text}`, right: line.right, box }
  }
  return rows
}

function withEdge(lines: readonly PdfLine[]): readonly PdfLine[] {
  const edge = lines.reduce((most, { right }) => Math.max(most, right), 0)
  return lines.map((line) => ({ ...line, edge }))
}

export const ENUMERATOR =
  /^(?:\(?(?:\d{1,3}|[a-z]{1,2}|[ivxIVX]{1,5}|[A-Z])[.)]|[•●▪–—-]|§+\s*\d+\w?|\d+(?:\.\d+)+\.?)\s/u
