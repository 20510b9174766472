import { getResolvedPDFJS, type getDocumentProxy } from 'unpdf'
import type { PdfText } from './pdf-columns.ts'
import type { Standing } from './standing.ts'

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>

/** Modes of text that leave no ink (ISO 32000-1, table 106). */
const INVISIBLE: ReadonlySet<unknown> = new Set([3, 7])
/** A page of which more is invisible is a scan, and its text what was recognised in it. */
const SCANNED_SHARE = 0.9

/** Cuts a text where one part of it is hidden or struck, and says so of each part. */
type Marks = <T extends PdfText>(text: T) => readonly T[]

/** Returns a function that marks the texts of a page in their order, by modes of text and by annotations that strike. */
export async function marksOf(page: Page): Promise<Marks> {
  const struck = await struckBoxes(page)
  const isHidden = await hiddenLetters(page)
  return (text) => {
    const letters = [...text.text]
    const wide = text.width / Math.max(1, letters.length)
    const standings = letters.map((letter, index): Standing | undefined => {
      const middle = text.x + wide * (index + 0.5)
      if (/\S/.test(letter) && isHidden(letter)) return 'hidden'
      return struck.some(
        ({ left, right, bottom, top }) =>
          left < middle && middle < right && bottom <= text.y + text.size * 0.3 && text.y <= top,
      )
        ? 'struck'
        : undefined
    })
    return runsOf(letters, standings).map(({ from, to, standing }) => ({
      ...text,
      text: letters.slice(from, to).join(''),
      x: text.x + wide * from,
      width: wide * (to - from),
      ...(standing === undefined ? {} : { standing }),
    }))
  }
}

interface Run {
  readonly from: number
  to: number
  readonly standing: Standing | undefined
}

/** Runs of letters that are marked alike; white space goes with what is before it. */
function runsOf(letters: readonly string[], standings: readonly (Standing | undefined)[]): readonly Run[] {
  const runs: Run[] = []
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

async function struckBoxes(page: Page): Promise<readonly Box[]> {
  const annotations: readonly { subtype?: unknown; quadPoints?: unknown; rect?: unknown }[] =
    await page.getAnnotations()
  return annotations
    .filter(({ subtype }) => subtype === 'StrikeOut')
    .flatMap(({ quadPoints, rect }) => {
      const points = numbersOf(quadPoints)
      const boxes = Array.from({ length: Math.floor(points.length / 8) }, (_, index) =>
        points.slice(index * 8, index * 8 + 8),
      )
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

/** Returns a function that says of the letters of a page, in their order, whether they are not shown. */
async function hiddenLetters(page: Page): Promise<(letter: string) => boolean> {
  const { OPS } = await getResolvedPDFJS()
  const { fnArray, argsArray } = await page.getOperatorList()
  if (!fnArray.includes(OPS.setTextRenderingMode)) return () => false
  const letters: { readonly letter: string; readonly isHidden: boolean }[] = []
  const modes: unknown[] = []
  let mode: unknown = 0
  for (const [index, operator] of fnArray.entries()) {
    const stated: unknown = argsArray[index]
    const args: readonly unknown[] = Array.isArray(stated) ? stated : []
    if (operator === OPS.save) modes.push(mode)
    else if (operator === OPS.restore) mode = modes.pop() ?? 0
    else if (operator === OPS.setTextRenderingMode) [mode] = args
    else if (operator === OPS.showText)
      for (const letter of glyphsOf(args[0])) letters.push({ letter, isHidden: INVISIBLE.has(mode) })
  }
  const hidden = letters.filter(({ isHidden }) => isHidden).length
  if (hidden === 0 || hidden > letters.length * SCANNED_SHARE) return () => false
  let at = 0
  return (letter) => {
    const found = letters.findIndex((each, index) => index >= at && index < at + AHEAD_MAX && each.letter === letter)
    if (found === -1) return letters[at]?.isHidden === true
    at = found + 1
    return letters[found]?.isHidden === true
  }
}

/** Letters by which the text of a page and what it shows may be apart. */
const AHEAD_MAX = 40

function glyphsOf(shown: unknown): readonly string[] {
  if (!Array.isArray(shown)) return []
  return shown.flatMap((glyph: unknown) => {
    const text = typeof glyph === 'object' && glyph !== null && 'unicode' in glyph ? glyph.unicode : ''
    return typeof text === 'string' ? [...text].filter((letter) => /\S/.test(letter)) : []
  })
}
