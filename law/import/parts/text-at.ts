import { closeSync, openSync, readSync } from 'node:fs'
import { z } from 'zod'
import type { Selector } from '#core/index/passages/selector.ts'
import { parsedJson } from '#core/platform/json.ts'
import { parseDocument, readBytes } from '#law/readers/read.ts'
import { treeTexts, type TreeTexts } from '#law/readers/tree-texts.ts'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { GAP, isTextWith } from './parts.ts'
import { withoutSpace } from '#law/readers/text.ts'

export interface PlaceReader {
  /**
   * The text at a place in the captured bytes of a file; undefined where nothing stands there.
   * @throws UnreadableFile for a file whose format no reader knows.
   */
  textAt(path: string, selector: Selector): Promise<string | undefined>
  close(): void
}

interface Opened {
  readonly path: string
  readonly file: number
  line?: { readonly offset: number; readonly pointed: (pointer: string) => string | undefined }
  texts?: TreeTexts
}

/** Keeps the last file open and parsed, because neighbouring passages share it. */
export function createPlaceReader(): PlaceReader {
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
    async textAt(path, selector) {
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
    close,
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

/** The bytes from an offset to the end of its line. */
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
