import { closeSync, openSync, readSync } from 'node:fs'
import { z } from 'zod'
import type { Selector } from '#core/index/passages/selector.ts'
import { parsedJson } from '#core/platform/json.ts'
import { IMPORT_BOUNDS } from './bounds.ts'

export interface PlaceReader {
  /** The text at a place in the captured bytes of a file; undefined where nothing stands there. */
  textAt(path: string, selector: Selector): string | undefined
  close(): void
}

/** Keeps the last file open and the last line parsed, because neighbouring passages share them. */
export function createPlaceReader(): PlaceReader {
  let opened: { readonly path: string; readonly file: number } | undefined
  let line: { readonly key: string; readonly pointed: (pointer: string) => string | undefined } | undefined
  function open(path: string): number {
    if (opened?.path === path) return opened.file
    close()
    opened = { path, file: openSync(path, 'r') }
    return opened.file
  }
  function close(): void {
    if (opened !== undefined) closeSync(opened.file)
    opened = undefined
    line = undefined
  }
  return {
    textAt(path, selector) {
      const file = open(path)
      switch (selector.type) {
        case 'DataPositionSelector':
          return textOf(file, selector)
        case 'JsonPointerSelector': {
          const { offset, pointer, start, end } = selector
          const key = `${path} ${offset}`
          if (line?.key !== key) line = { key, pointed: pointersIn(lineAt(file, offset)) }
          const text = line.pointed(pointer)
          return text === undefined ? undefined : charactersOf(text, start, end)
        }
        default:
          return selector satisfies never
      }
    },
    close,
  }
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
  const bytes = Buffer.alloc(Math.min(length, IMPORT_BOUNDS.lineBytesMax))
  return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, start))
}

/** The bytes from an offset to the end of its line. */
function lineAt(file: number, offset: number): string {
  const blocks: Buffer[] = []
  for (let at = offset; at - offset <= IMPORT_BOUNDS.lineBytesMax; at += IMPORT_BOUNDS.readBlockBytes) {
    const block = bytesOf(file, at, IMPORT_BOUNDS.readBlockBytes)
    const end = block.indexOf('\n')
    blocks.push(end === -1 ? block : block.subarray(0, end))
    if (end !== -1 || block.length < IMPORT_BOUNDS.readBlockBytes) break
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
