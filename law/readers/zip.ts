import { inflateRawSync } from 'node:zlib'
import { READER_BOUNDS } from './bounds.ts'
import { UnreadableFile } from './tree.ts'

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY = 0x02014b50

/**
 * Unpacks the parts of a ZIP file that are wanted (APPNOTE 6.3, sections 4.3.12 and 4.3.16), after it has shown that
 * all of them together stay within their bound.
 * @throws UnreadableFile for a broken file and for one that unpacks to more than its bound.
 */
export function unpacked(bytes: Uint8Array, wanted: (name: string) => boolean): ReadonlyMap<string, Buffer> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts = new Map<string, Buffer>()
  try {
    let left: number = READER_BOUNDS.unpackedBytesMax
    for (const entry of entriesOf(file)) {
      const part = inflated(file, entry, left)
      left -= part.length
      if (wanted(entry.name)) parts.set(entry.name, part)
    }
  } catch (error) {
    if (error instanceof UnreadableFile) throw error
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge()
    throw new UnreadableFile('a broken ZIP file: its parts cannot be unpacked')
  }
  return parts
}

interface Entry {
  readonly name: string
  readonly method: number
  readonly compressed: number
  readonly offset: number
}

function entriesOf(file: Buffer): readonly Entry[] {
  let end = file.length - 22
  while (end >= 0 && file.length - end < 65_600 && file.readUInt32LE(end) !== END_OF_DIRECTORY) end -= 1
  if (end < 0 || file.readUInt32LE(end) !== END_OF_DIRECTORY)
    throw new UnreadableFile('a broken ZIP file: no directory')
  const count = file.readUInt16LE(end + 10)
  if (count > READER_BOUNDS.unpackedPartsMax)
    throw new UnreadableFile(`a ZIP file of more than ${READER_BOUNDS.unpackedPartsMax} parts`)
  let at = file.readUInt32LE(end + 16)
  return Array.from({ length: count }, () => {
    if (file.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new UnreadableFile('a broken ZIP file: no entry')
    const [names, extra, comment] = [file.readUInt16LE(at + 28), file.readUInt16LE(at + 30), file.readUInt16LE(at + 32)]
    if ((file.readUInt16LE(at + 8) & 1) === 1) throw new UnreadableFile('an encrypted file: save it without a password')
    const entry = {
      name: file.toString('utf8', at + 46, at + 46 + names),
      method: file.readUInt16LE(at + 10),
      compressed: file.readUInt32LE(at + 20),
      offset: file.readUInt32LE(at + 42),
    }
    at += 46 + names + extra + comment
    return entry
  })
}

function inflated(file: Buffer, { method, compressed, offset }: Entry, left: number): Buffer {
  const start = offset + 30 + file.readUInt16LE(offset + 26) + file.readUInt16LE(offset + 28)
  const data = file.subarray(start, start + compressed)
  if (method === 0) {
    if (data.length > left) throw tooLarge()
    return data
  }
  return inflateRawSync(data, { maxOutputLength: Math.max(1, left) })
}

function tooLarge(): UnreadableFile {
  return new UnreadableFile(`its parts unpack to more than ${READER_BOUNDS.unpackedBytesMax} bytes`)
}
