import { closeSync, openSync, readSync } from 'node:fs'
import { z } from 'zod'
import type { Selector } from '#core/index/passages/selector.ts'
import { parsedJson } from '#core/platform/json.ts'
import { parseDocument, readBytes } from '#law/readers/read.ts'
import { firstOffset } from '#law/readers/places.ts'
import { elementsOf, type MarkupElement, type MarkupTree } from '#law/readers/tree.ts'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { GAP, isTextWith } from './parts.ts'
import { withoutSpace } from '#law/readers/text.ts'

export type PlaceReader = ReturnType<typeof createPlaceReader>

interface Opened {
  readonly path: string
  readonly file: number
  line?: { readonly offset: number; readonly pointed: (pointer: string) => string | undefined }
  texts?: ReturnType<typeof treeTexts>
}

/** Keeps the last file open and parsed, because neighbouring passages share it. */
export function createPlaceReader() {
  let opened: Opened | undefined
  function open(path: string): Opened {
    if (opened?.path === path) return opened
    close()
    return (opened = { path, file: openSync(path, 'r') })
  }
  function close(): void {
    if (opened !== undefined) closeSync(opened.file)
    opened = undefined
  }
  return {
    /**
     * The text at a place in the captured bytes of a file; undefined where nothing stands there.
     * @throws UnreadableFile for a file whose format no reader knows.
     */
    async textAt(path: string, selector: Selector): Promise<string | undefined> {
      const held = open(path)
      switch (selector.type) {
        case 'DataPositionSelector':
          return textOf(held.file, selector)
        case 'JsonPointerSelector': {
          const { offset, pointer, start, end } = selector
          if (held.line?.offset !== offset) held.line = { offset, pointed: pointersIn(lineAt(held.file, offset)) }
          const text = held.line.pointed(pointer)
          return text === undefined ? undefined : charactersOf(text, start, end)
        }
        case 'XPathSelector':
        case 'PdfSelector':
          held.texts ??= treeTexts(await parseDocument(path, await readBytes(path)))
          return selector.type === 'PdfSelector' ? held.texts.ofLines(selector) : held.texts.ofElement(selector)
        default:
          return selector satisfies never
      }
    },
    [Symbol.dispose]: close,
  }
}

/**
 * Whether the text at a place is a passage's own, below its lead-in. What the reader has added is left out, and white
 * space counts only where nothing is added.
 */
export function isOwnText(passage: string, { adds }: Selector, found: string): boolean {
  if (adds === undefined) return isTextWith(passage, found)
  const own = passage.slice(passage.lastIndexOf(GAP) === -1 ? 0 : passage.lastIndexOf(GAP) + GAP.length)
  const points = [...own]
  for (const { start, end } of adds) points.fill('', start, end)
  return found.trim() !== '' && withoutSpace(points.join('')) === withoutSpace(found)
}

function textOf(file: number, { start, end, omits = [] }: Selector & { type: 'DataPositionSelector' }): string {
  const pieces: Buffer[] = []
  let at = start
  for (const range of [...omits, { start: end, end }]) {
    if (range.start > at) pieces.push(bytesOf(file, at, range.start - at))
    at = range.end
  }
  return Buffer.concat(pieces).toString('utf8').replaceAll('\r\n', '\n')
}

function bytesOf(file: number, start: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.min(length, IMPORT_BOUNDS.lineBytesMax))
  return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, start))
}

/** Most lines end in the first block. */
const LINE_BLOCK_BYTES = 8_192

function lineAt(file: number, offset: number): string {
  const blocks: Buffer[] = []
  for (let at = offset; at - offset <= IMPORT_BOUNDS.lineBytesMax; at += LINE_BLOCK_BYTES) {
    const block = bytesOf(file, at, LINE_BLOCK_BYTES)
    const end = block.indexOf('\n')
    blocks.push(end === -1 ? block : block.subarray(0, end))
    if (end !== -1 || block.length < LINE_BLOCK_BYTES) break
  }
  return Buffer.concat(blocks).toString('utf8')
}

/** Resolves JSON pointers (RFC 6901) to strings. */
function pointersIn(json: string): (pointer: string) => string | undefined {
  const whole = parsedJson(json)
  const containers = z.record(z.string(), z.unknown()).or(z.array(z.unknown()).transform((list) => ({ ...list })))
  return (pointer) => {
    let value = whole
    for (const token of pointer.split('/').slice(1)) {
      const container: Readonly<Record<string, unknown>> = containers.safeParse(value).data ?? {}
      value = container[token.replaceAll('~1', '/').replaceAll('~0', '~')]
    }
    return typeof value === 'string' ? value : undefined
  }
}

function charactersOf(text: string, start: number, end: number): string {
  let [unit, from, point] = [0, 0, 0]
  for (; point < end && unit < text.length; point += 1) {
    if (point === start) from = unit
    unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1
  }
  return point === end ? text.slice(from, unit) : ''
}

/** The texts of a parsed file, by places. */
function treeTexts({ root, texts }: MarkupTree) {
  const joined = texts.map(({ value }) => value).join('')
  const lines = new Map(texts.map(({ value, page, box }) => [`${page} ${box?.join(' ')}`, value]))
  return {
    /** Undefined where the tree has no such element, or its text is shorter. */
    ofElement({ value, ranges }: Extract<Selector, { type: 'XPathSelector' }>) {
      const element = elementAt(root, value)
      const first = element === undefined ? undefined : firstOffset(element)
      if (first === undefined) return undefined
      const points = pointsFrom(joined, first)
      const parts = ranges.map(({ start, end }) => joined.slice(points(start), points(end)))
      return parts.some((part) => part === '') ? undefined : parts.join(' ')
    },
    /** Undefined where no line of the page has the corners. */
    ofLines({ lines: wanted }: Extract<Selector, { type: 'PdfSelector' }>) {
      const parts = wanted.map(({ page, quad: [left, top, right, , , bottom], start, end }) => {
        const text = lines.get(`${page} ${left} ${bottom} ${right} ${top}`)?.trimEnd()
        return text === undefined || start === undefined ? text : [...text].slice(start, end).join('')
      })
      return parts.includes(undefined) ? undefined : parts.join(' ')
    },
  }
}

function elementAt(root: MarkupElement, xpath: string): MarkupElement | undefined {
  const [first, ...places] = Array.from(xpath.matchAll(/\[(\d+)\]/g), ([, place]) => Number(place))
  let element: MarkupElement | undefined = first === 1 ? root : undefined
  for (const place of places)
    element = element === undefined ? undefined : elementsOf(element).find((child) => child.place === place)
  return element
}

/** Returns a function that gives the offset of so many code points after an offset. */
function pointsFrom(text: string, first: number): (points: number) => number {
  let [offset, passed] = [first, 0]
  return (points) => {
    if (points < passed) [offset, passed] = [first, 0]
    for (; passed < points && offset < text.length; passed += 1)
      offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1
    return offset
  }
}
