import { contextOf, type SelectedRange, type Selector } from '#core/index/passages/selector.ts'
import { firstIndex } from '#core/platform/first-index.ts'
import { codePointsOf } from '#law/readers/text.ts'
import type { Provision } from './document.ts'
import type { ReadDocument } from './read.ts'
import type { Piece } from './text-writer.ts'
import { xpathOf, type MarkupElement, type MarkupText } from './tree.ts'

/** Gives the place of a part of a text, by its offsets in UTF-16 units. */
export type PlaceOf = (start: number, end: number) => Selector

/** A span of the file's texts, by offsets among all of them, joined. */
interface Span {
  readonly from: number
  readonly to: number
}

/** Returns a function that gives the places of the provisions of a file in its bytes. */
export function createPlaces(read: Pick<ReadDocument, 'format' | 'tree'>): (provision: Provision) => PlaceOf {
  const { texts, decoded } = read.tree
  const joined = texts.map(({ value }) => value).join('')
  const points = createPointCounter(joined)
  const bytes = createByteCounter(decoded, read.tree.bytesBefore ?? 0)
  const sourceOf = createSourceOffsets(joined)
  return ({ text = '', pieces }) =>
    (start, end) => {
      const clipped = piecesWithin(pieces, start, end).map((piece) => clippedTo(piece, sourceOf, start, end))
      const own = text.slice(start, end)
      const adds = addedIn(own, clipped, start)
      const spans = joinedSpans(clipped, joined)
      const [first, last] = [spans[0] ?? NOWHERE, spans.at(-1) ?? NOWHERE]
      const common = { ...contextOf(joined, first.from, last.to), adds }
      switch (read.format) {
        case 'pdf':
          return { type: 'PdfSelector', lines: linesOf(spans, texts), ...common }
        case 'markdown':
          return { type: 'DataPositionSelector', ...bytesOf(clipped, texts, decoded, bytes), ...common }
        default:
          return { type: 'XPathSelector', ...elementOf(spans, texts, points), ...common }
      }
    }
}

const NOWHERE: Span = { from: 0, to: 0 }

/** The pieces that reach into a range of the provision's text, in which they follow each other. */
function piecesWithin(pieces: readonly Piece[], start: number, end: number): readonly Piece[] {
  const endOf = (piece: Piece | undefined): number => (piece?.at ?? 0) + (piece?.length ?? 0)
  const first = firstIndex(pieces.length, (index) => endOf(pieces[index]) > start)
  const after = firstIndex(pieces.length, (index) => (pieces[index]?.at ?? 0) >= end)
  return pieces.slice(first, after).filter(({ length }) => length > 0)
}

/** The part of a piece within a range of the provision's text. */
function clippedTo(piece: Piece, sourceOf: SourceOffsets, start: number, end: number): Piece & Span {
  const [first, last] = [Math.max(piece.at, start), Math.min(piece.at + piece.length, end)]
  if (first === piece.at && last === piece.at + piece.length) return piece
  const from = sourceOf(piece, first - piece.at)
  return { at: first, length: last - first, from, to: sourceOf(piece, last - piece.at) }
}

/** Gives the offset among the texts of an offset in what was written of a piece. */
type SourceOffsets = (piece: Piece, written: number) => number

/** A run of white space was written as one. Offsets that rise take linear time in all. */
function createSourceOffsets(joined: string): SourceOffsets {
  const space = /\s+/y
  let [of, at, count]: [Piece | undefined, number, number] = [undefined, 0, 0]
  return (piece, written) => {
    if (piece !== of || written < count) [of, at, count] = [piece, piece.from, 0]
    for (; count < written && at < piece.to; count += 1) {
      space.lastIndex = at
      at = space.test(joined) ? Math.min(space.lastIndex, piece.to) : at + 1
    }
    return at
  }
}

/** What of a text is in no piece of the file. */
function addedIn(own: string, pieces: readonly Piece[], start: number): SelectedRange[] {
  const adds: SelectedRange[] = []
  let [at, point] = [0, 0]
  const pass = (to: number): number => {
    point += codePointsOf(own.slice(at, to))
    at = to
    return point
  }
  const add = (to: number): void => {
    const isMark = own.slice(at, to).trim() !== ''
    const from = point
    const end = pass(to)
    if (isMark) adds.push({ start: from, end })
  }
  for (const piece of pieces) {
    add(piece.at - start)
    pass(piece.at - start + piece.length)
  }
  add(own.length)
  return adds
}

/** Spans in the order of the text; those with only white space between them are one. */
function joinedSpans(pieces: readonly Span[], joined: string): readonly Span[] {
  const spans: { from: number; to: number }[] = []
  for (const { from, to } of pieces) {
    const last = spans.at(-1)
    if (last !== undefined && last.to <= from && joined.slice(last.to, from).trim() === '') last.to = to
    else spans.push({ from, to })
  }
  return spans
}

export function textAt(texts: readonly MarkupText[], offset: number): number {
  return Math.max(0, firstIndex(texts.length, (index) => (texts[index]?.start ?? 0) > offset) - 1)
}

function elementOf(spans: readonly Span[], texts: readonly MarkupText[], points: (offset: number) => number) {
  const held = spans.flatMap(({ from, to }) => [texts[textAt(texts, from)], texts[textAt(texts, to - 1)]])
  const element = held.flatMap((text) => text?.parent ?? []).reduce(commonAncestor)
  const base = points(firstOffset(element) ?? 0)
  const ranges = spans.map(({ from, to }) => ({ start: points(from) - base, end: points(to) - base }))
  return { value: xpathOf(element), ranges }
}

function commonAncestor(one: MarkupElement, other: MarkupElement): MarkupElement {
  const above = new Set<MarkupElement>()
  for (let next: MarkupElement | undefined = one; next !== undefined; next = next.parent) above.add(next)
  for (let next: MarkupElement | undefined = other; next !== undefined; next = next.parent)
    if (above.has(next)) return next
  return one
}

export function firstOffset(element: MarkupElement): number | undefined {
  for (const child of element.children) {
    const found = child.kind === 'text' ? child.start : firstOffset(child)
    if (found !== undefined) return found
  }
  return undefined
}

function linesOf(
  spans: readonly Span[],
  texts: readonly MarkupText[],
): Extract<Selector, { type: 'PdfSelector' }>['lines'] {
  return spans.flatMap(({ from, to }) =>
    texts.slice(textAt(texts, from), textAt(texts, to - 1) + 1).map(({ value, start, page = 1, box }) => {
      const [left, bottom, right, top] = box ?? [0, 0, 0, 0]
      const line = { page, quad: [left, top, right, top, left, bottom, right, bottom] }
      const [first, last] = [Math.max(0, from - start), Math.min(value.trimEnd().length, to - start)]
      if (first === 0 && last === value.trimEnd().length) return line
      return { ...line, start: codePointsOf(value.slice(0, first)), end: codePointsOf(value.slice(0, last)) }
    }),
  )
}

/** Markdown has its texts as they stand in the file; marks between them are omitted. */
function bytesOf(
  pieces: readonly Span[],
  texts: readonly MarkupText[],
  decoded: string,
  bytes: (offset: number) => number,
): { readonly start: number; readonly end: number; readonly omits?: SelectedRange[] } {
  const sourceOf = (offset: number): number => {
    const text = texts[textAt(texts, offset)]
    return (text?.source.from ?? 0) + offset - (text?.start ?? 0)
  }
  const inFile = pieces.map(({ from, to }) => ({ from: sourceOf(from), to: sourceOf(to - 1) + 1 }))
  const ranges = joinedSpans(inFile, decoded).map(({ from, to }) => ({ start: bytes(from), end: bytes(to) }))
  const omits = ranges.slice(1).map(({ start }, index) => ({ start: ranges[index]?.end ?? 0, end: start }))
  const whole = { start: ranges[0]?.start ?? 0, end: ranges.at(-1)?.end ?? 0 }
  return omits.length === 0 ? whole : { ...whole, omits }
}

/** Returns a function that gives the code points before an offset. */
function createPointCounter(text: string): (offset: number) => number {
  const lows = Array.from(text.matchAll(/[\uDC00-\uDFFF]/g), ({ index }) => index)
  return (offset) => offset - firstIndex(lows.length, (index) => (lows[index] ?? 0) >= offset)
}

/** Returns a function that gives the byte of an offset; offsets that rise take linear time in all. */
export function createByteCounter(decoded: string, bytesBefore: number): (offset: number) => number {
  let [at, bytes] = [0, bytesBefore]
  return (offset) => {
    if (offset < at) [at, bytes] = [0, bytesBefore]
    bytes += Buffer.byteLength(decoded.slice(at, offset))
    at = offset
    return bytes
  }
}
