import { createReadStream } from 'node:fs'
import { IMPORT_BOUNDS } from '../bounds.ts'

const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** A line without its line ending; `bytes` is undefined where it is longer than the bound. */
export interface Line {
  /** From 1. */
  readonly number: number
  /** Byte of the file at which it begins, behind a byte order mark. */
  readonly offset: number
  readonly bytes: Buffer | undefined
}

/**
 * Yields the lines of a file, which end in LF or CRLF; the last line needs no ending. A leading byte order mark is
 * removed. Holds one line in memory at a time.
 */
export async function* linesOf(path: string, lineBytesMax: number, signal?: AbortSignal): AsyncGenerator<Line> {
  let held: Buffer[] = []
  let heldBytes = 0
  let number = 0
  let next = 0
  const finish = (): Line => {
    number += 1
    const line = heldBytes > lineBytesMax + 1 ? undefined : Buffer.concat(held)
    const mark = number === 1 && line?.subarray(0, 3).equals(BYTE_ORDER_MARK) === true ? BYTE_ORDER_MARK.length : 0
    const whole = line?.subarray(mark, line.at(-1) === CARRIAGE_RETURN ? -1 : undefined)
    const offset = next + mark
    next += heldBytes + 1
    held = []
    heldBytes = 0
    return { number, offset, bytes: whole === undefined || whole.length > lineBytesMax ? undefined : whole }
  }
  const hold = (block: Buffer): void => {
    heldBytes += block.length
    if (heldBytes <= lineBytesMax + 1) held.push(block)
    else held = []
  }
  for await (const chunk of createReadStream(path, {
    highWaterMark: IMPORT_BOUNDS.readBlockBytes,
    ...(signal === undefined ? {} : { signal }),
  })) {
    const block = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk))
    let from = 0
    for (let end = block.indexOf(NEWLINE); end !== -1; end = block.indexOf(NEWLINE, from)) {
      hold(block.subarray(from, end))
      yield finish()
      from = end + 1
    }
    hold(block.subarray(from))
  }
  if (heldBytes > 0) yield finish()
}
