import { z } from 'zod'
import { getResolvedPDFJS, type getDocumentProxy } from 'unpdf'
import type { PdfText } from './pdf-columns.ts'
import type { Standing } from './standing.ts'

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>

/** Modes of text that leave no ink (ISO 32000-1, table 106). */
const INVISIBLE: ReadonlySet<unknown> = new Set([3, 7])
/** A page of which more is invisible is a scan, and its text what was recognised in it. */
const SCANNED_SHARE = 0.9

/** Annotations that strike out, and those that say something of a text, which is not read. */
const STRIKES: ReadonlySet<unknown> = new Set(['StrikeOut', 'Redact'])
const SPEAKS = /^(?:Text|Squiggly|Ink|Line|PolyLine|Polygon|Square|Circle|FreeText|Stamp|Caret|FileAttachment)$/

/**
 * Cuts the texts of a page where a part is hidden or struck by how it is drawn and what is drawn over it, and says so.
 * @param isShown whether a layer is. @param say is told what is not read.
 */
export async function markedTexts<T extends PdfText & { readonly quarters?: number | undefined }>(
  page: Page,
  texts: readonly T[],
  isShown: (layer: unknown) => boolean,
  say: (unread: string) => void,
): Promise<readonly T[]> {
  const annotations: readonly Annotation[] = await page.getAnnotations()
  for (const { subtype, contentsObj } of annotations)
    if (SPEAKS.test(String(subtype)) || (/^(?:High|Under)/.test(String(subtype)) && contentsObj?.str))
      say(`annotation ${String(subtype)}`)
  const struck = struckBoxes(annotations)
  const { next, lines, fills, shapes } = await drawingOf(page, isShown, say)
  for (const name of unreadIn(shapes, texts)) say(name)
  return texts.flatMap((text) => {
    const letters = [...text.text]
    const wide = text.width / Math.max(1, letters.length)
    const standings = letters.map((letter, index): Standing | undefined => {
      const middle = text.x + wide * (index + 0.5)
      if (!/\S/.test(letter)) return undefined
      const drawn = next(letter)
      const point = { x: middle, y: text.y + text.size * 0.3 }
      if (text.size < SIZE_MIN || drawn?.isHidden === true) return 'hidden'
      // Places of letters are known of upright text.
      if (text.quarters !== 0) return undefined
      if (drawn !== undefined && isUnseen(drawn, point, fills)) return 'hidden'
      if (drawn?.letter === letter && !holds(drawn.clip, point)) return 'hidden'
      const isCrossed = lines.some(
        ({ left, right, bottom }) =>
          left <= middle && middle <= right && bottom > text.y + text.size * 0.12 && bottom < text.y + text.size * 0.5,
      )
      const isStruck = struck.some(
        ({ left, right, bottom, top }) => left < middle && middle < right && bottom <= point.y && text.y <= top,
      )
      return isCrossed || isStruck ? 'struck' : undefined
    })
    return runsOf(letters, standings).map(({ from, to, standing }) => ({
      ...text,
      text: letters.slice(from, to).join(''),
      x: text.x + wide * from,
      width: wide * (to - from),
      ...(standing === undefined ? {} : { standing }),
    }))
  })
}

/** What is drawn and not read: pictures without a text, and lines through letters. */
function unreadIn(shapes: readonly Shape[], texts: readonly (PdfText & { readonly quarters?: number | undefined })[]) {
  const letters = texts.flatMap(({ text, x, y, width, size, quarters }) =>
    text.trim() === '' || quarters !== 0
      ? []
      : [{ left: x, right: x + width, bottom: y + size * 0.1, top: y + size * 0.5 }],
  )
  const isOver = (point: Point): boolean => letters.some((box) => holds(box, point))
  const isFree = (shape: Shape): boolean =>
    Math.min(shape.right - shape.left, shape.top - shape.bottom) > PICTURE_MIN &&
    !letters.some(({ left, right, bottom }) => holds(shape, { x: (left + right) / 2, y: bottom }))
  const isCrossing = ({ slant }: Shape): boolean => slant.filter(isOver).length > 1
  return [...(shapes.some(isFree) ? ['picture'] : []), ...(shapes.some(isCrossing) ? ['drawing over text'] : [])]
}

/** Runs of letters that are marked alike; white space goes with what is before it. */
function runsOf(letters: readonly string[], standings: readonly (Standing | undefined)[]) {
  const runs: { readonly from: number; to: number; readonly standing: Standing | undefined }[] = []
  for (const [index, letter] of letters.entries()) {
    const last = runs.at(-1)
    if (last !== undefined && (last.standing === standings[index] || /\s/.test(letter))) last.to = index + 1
    else runs.push({ from: index, to: index + 1, standing: standings[index] })
  }
  return runs
}

interface Box {
  readonly left: number
  readonly right: number
  readonly bottom: number
  readonly top: number
}

interface Annotation {
  readonly subtype?: unknown
  readonly contentsObj?: { readonly str?: unknown }
  readonly quadPoints?: unknown
  readonly rect?: unknown
}

function struckBoxes(annotations: readonly Annotation[]): readonly Box[] {
  return annotations
    .filter(({ subtype }) => STRIKES.has(subtype))
    .flatMap(({ quadPoints, rect }) => {
      const points = numbersOf(quadPoints)
      const starts = Array.from({ length: Math.floor(points.length / 8) }, (_, index) => index * 8)
      const boxes = starts.map((start) => points.slice(start, start + 8))
      return (boxes.length > 0 ? boxes : [numbersOf(rect)]).map(boxAround)
    })
}

function numbersOf(written: unknown): readonly number[] {
  return ArrayBuffer.isView(written) || Array.isArray(written) ? Array.from(Object.values(written), Number) : []
}

function boxAround(points: readonly number[]): Box {
  const [xs, ys] = [points.filter((_, index) => index % 2 === 0), points.filter((_, index) => index % 2 === 1)]
  return { left: Math.min(...xs), right: Math.max(...xs), bottom: Math.min(...ys), top: Math.max(...ys) }
}

/** In points: smaller letters are not seen; a line is thinner than the second, longer than the third; of pictures. */
const [SIZE_MIN, THIN_MAX, LINE_MIN, PICTURE_MIN, STEP] = [1, 2, 4, 8, 3] as const
const [BOXES_MAX, SHAPES_MAX, POINTS_MAX] = [5_000, 500, 20_000] as const
const OPAQUE_MIN = 0.5
const CONTRAST_MIN = 24

/** A letter as it is drawn, or a ground: its place in the order of drawing, and its colour where it has one. */
interface Drawn {
  readonly order: number
  readonly colour: string | undefined
}
interface Letter extends Drawn {
  readonly letter: string
  readonly isHidden: boolean
  /** Nothing of it is seen beyond. */
  readonly clip: Box
}
type Fill = Drawn & Box
/** With points along its lines that are neither level nor upright. */
type Shape = Box & { readonly slant: readonly Point[] }

type Point = Pick<PdfText, 'x' | 'y'>

function holds({ left, right, bottom, top }: Box, { x, y }: Point): boolean {
  return left <= x && x <= right && bottom <= y && y <= top
}

/** Whether a letter is in the colour of its ground, or below what covers it. */
function isUnseen(letter: Letter, point: Point, fills: readonly Fill[]): boolean {
  const around = fills.filter((each) => holds(each, point))
  if (around.some(({ order, colour }) => order > letter.order && colour !== undefined)) return true
  const ground = around.findLast(({ order }) => order < letter.order)
  const colour = ground === undefined ? '#ffffff' : ground.colour
  return colour !== undefined && letter.colour !== undefined && contrast(colour, letter.colour) < CONTRAST_MIN
}

function contrast(a: string, b: string): number {
  const parts = (colour: string) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
  return parts(a).reduce((sum, value, index) => sum + Math.abs(value - (parts(b)[index] ?? 0)), 0)
}

/** The graphics state as far as it decides what is seen (ISO 32000-1, section 8.4). */
interface Graphics {
  readonly mode: unknown
  readonly colour: string | undefined
  readonly alpha: number
  readonly scale: number
  readonly matrix: readonly number[]
  readonly clip: Box
}
const EVERYWHERE: Box = { left: -Infinity, right: Infinity, bottom: -Infinity, top: Infinity }
const PLAIN: Graphics = { mode: 0, colour: '#000000', alpha: 1, scale: 1, matrix: [1, 0, 0, 1, 0, 0], clip: EVERYWHERE }

/**
 * Follows the operators of a page: letters in their order, thin boxes, which strike what they cross, grounds, and shapes:
 * pictures, and paths that are no boxes or lines of tables.
 */
async function drawingOf(page: Page, isShown: (layer: unknown) => boolean, say: (unread: string) => void) {
  const { OPS } = await getResolvedPDFJS()
  const { fnArray, argsArray } = await page.getOperatorList()
  const [letters, lines, fills, saved, layers]: [Letter[], Box[], Fill[], Graphics[], boolean[]] = [[], [], [], [], []]
  const shapes: Shape[] = []
  const paints = new Set<unknown>([OPS.fill, OPS.eoFill, OPS.fillStroke, OPS.eoFillStroke, OPS.closeFillStroke])
  const images = new Set<unknown>([OPS.paintImageXObject, OPS.paintInlineImageXObject, OPS.paintImageMaskXObject])
  let [state, isNote, clips, slanted] = [PLAIN, false, false, 0]
  const isDrawn = () => state.alpha >= OPAQUE_MIN && !layers.includes(true) && !isNote
  for (const [order, operator] of fnArray.entries()) {
    const stated: unknown = argsArray[order]
    const args: readonly unknown[] = Array.isArray(stated) ? stated : []
    if (operator === OPS.save) saved.push(state)
    else if (operator === OPS.restore || operator === OPS.paintFormXObjectEnd) state = saved.pop() ?? PLAIN
    else if (operator === OPS.paintFormXObjectBegin) {
      saved.push(state)
      state = { ...state, matrix: product(state.matrix, numbersOf(args[0])) }
    } else if (operator === OPS.transform) state = { ...state, matrix: product(state.matrix, args.map(Number)) }
    else if (operator === OPS.setFillRGBColor) state = { ...state, colour: hexOf(args[0]) }
    else if (operator === OPS.setFillColorN) state = { ...state, colour: undefined }
    else if (operator === OPS.setGState) state = { ...state, alpha: alphaOf(args[0]) ?? state.alpha }
    else if (operator === OPS.setTextRenderingMode) state = { ...state, mode: args[0] }
    else if (operator === OPS.setHScale) state = { ...state, scale: Number(args[0]) }
    else if (operator === OPS.beginMarkedContent) layers.push(false)
    else if (operator === OPS.beginMarkedContentProps) layers.push(args[0] === 'OC' && !isShown(args[1]))
    else if (operator === OPS.endMarkedContent) layers.pop()
    else if (operator === OPS.beginAnnotation || operator === OPS.endAnnotation)
      isNote = operator === OPS.beginAnnotation
    else if (operator === OPS.clip || operator === OPS.eoClip) clips = true
    else if (images.has(operator) && fills.length < BOXES_MAX) {
      const box = boxIn(state.matrix, [0, 0, 1, 1])
      fills.push({ ...box, order, colour: undefined })
      if (isDrawn()) shapes.push({ ...common(box, state.clip), slant: [] })
    } else if (operator === OPS.shadingFill) fills.push({ ...EVERYWHERE, order, colour: undefined })
    else if (operator === OPS.constructPath) {
      const corners = numbersOf(args[2])
      const box = boxIn(state.matrix, corners)
      const isLine = box.top - box.bottom <= THIN_MAX && box.right - box.left >= LINE_MIN
      if (clips && corners.length > 0 && Number.isFinite(box.left)) state = { ...state, clip: common(box, state.clip) }
      clips = false
      const left = shapes.length < SHAPES_MAX ? POINTS_MAX - slanted : 0
      const slant = args[0] === OPS.endPath ? [] : slantOf(state.matrix, args[1], left)
      slanted += slant.length
      if (slant.length > 0 && isDrawn()) shapes.push({ ...common(box, state.clip), slant })
      if (!isDrawn() || lines.length + fills.length >= BOXES_MAX) continue
      if (isLine && args[0] !== OPS.endPath) lines.push(box)
      else if (paints.has(args[0])) fills.push({ ...box, order, colour: state.colour })
    } else if (operator === OPS.showText) {
      const { mode, scale, colour, clip } = state
      const isHidden = INVISIBLE.has(mode) || Math.abs(scale) < 0.05 || state.alpha < 0.05 || layers.includes(true)
      for (const letter of glyphsOf(args[0])) letters.push({ letter, order, isHidden, colour, clip })
    }
  }
  // A drawing of more lines is a picture.
  if (slanted >= POINTS_MAX || shapes.length >= SHAPES_MAX) say('picture')
  return { next: createNext(letters), lines, fills, shapes }
}

/** Returns a function that finds the next letter of the text of the page. Where most are in no ink, the page is a scan. */
function createNext(letters: readonly Letter[]): (letter: string) => Letter | undefined {
  const isScan = letters.filter(({ isHidden }) => isHidden).length > letters.length * SCANNED_SHARE
  let at = 0
  return (letter) => {
    const found = letters.findIndex((each, index) => index >= at && index < at + AHEAD_MAX && each.letter === letter)
    if (isScan) return undefined
    if (found === -1) return letters[at]
    at = found + 1
    return letters[found]
  }
}

function common(a: Box, b: Box): Box {
  const [left, bottom] = [Math.max(a.left, b.left), Math.max(a.bottom, b.bottom)]
  return { left, bottom, right: Math.min(a.right, b.right), top: Math.min(a.top, b.top) }
}

/** Numbers after each sign of a path: a move, a line, curves and its end. */
const [MOVE, NUMBERS] = [0, [2, 2, 6, 4, 0]] as const

function slantOf(matrix: readonly number[], paths: unknown, most: number): readonly Point[] {
  const path = numbersOf(Array.isArray(paths) ? paths[0] : [])
  const points: Point[] = []
  let [from, count] = [boxIn(matrix, []), 0]
  for (let at = 0; at < path.length; at += count + 1) {
    count = NUMBERS[path[at] ?? 0] ?? 0
    for (let next = at + 1; next < at + count && points.length < most; next += 2) {
      const to = boxIn(matrix, [...path.slice(next, next + 2), ...path.slice(next, next + 2)])
      const [wide, high] = [to.left - from.left, to.top - from.top]
      const isSlant = path[at] !== MOVE && Math.min(Math.abs(wide), Math.abs(high)) > THIN_MAX
      const steps = isSlant ? Math.min(Math.hypot(wide, high) / STEP, most - points.length + 1) : 0
      for (let step = 1; step < steps; step += 1)
        points.push({ x: from.left + (wide * step) / steps, y: from.top + (high * step) / steps })
      from = to
    }
  }
  return points
}

function product(m: readonly number[], n: readonly number[]): readonly number[] {
  const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = m
  const [g = 1, h = 0, i = 0, j = 1, k = 0, l = 0] = n
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f]
}

/** @param corners of a box: left, bottom, right and top. */
function boxIn(matrix: readonly number[], [left = 0, bottom = 0, right = 0, top = 0]: readonly number[]): Box {
  const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = matrix
  const points = [left, right].flatMap((x) => [bottom, top].flatMap((y) => [a * x + c * y + e, b * x + d * y + f]))
  return boxAround(points)
}

function hexOf(colour: unknown): string | undefined {
  return typeof colour === 'string' && /^#[\da-f]{6}$/i.test(colour) ? colour : undefined
}

/** The opacity of what is filled, as a dictionary of the graphics state says it. */
function alphaOf(entries: unknown): number | undefined {
  const found = z.array(z.tuple([z.string(), z.unknown()])).safeParse(entries).data
  const alpha = found?.find(([name]) => name === 'ca')
  return alpha === undefined ? undefined : Number(alpha[1])
}

/** Letters by which the text of a page and what it shows may be apart. */
const AHEAD_MAX = 40

const LIGATURES: Readonly<Record<string, string>> = { ﬀ: 'ff', ﬁ: 'fi', ﬂ: 'fl', ﬃ: 'ffi', ﬄ: 'ffl' }

function glyphsOf(shown: unknown): readonly string[] {
  if (!Array.isArray(shown)) return []
  return shown.flatMap((glyph: unknown) => {
    const text = typeof glyph === 'object' && glyph !== null && 'unicode' in glyph ? glyph.unicode : ''
    return typeof text === 'string'
      ? [...text.replaceAll(/[ﬀ-ﬄ]/gu, (sign) => LIGATURES[sign] ?? sign)].filter((letter) => /\S/.test(letter))
      : []
  })
}
