import { isAscii, isUtf8 } from 'node:buffer'
import { firstIndex } from '#core/platform/first-index.ts'
import { UnreadableFile } from './tree.ts'

const BYTE_ORDER_MARKS: readonly (readonly [readonly number[], string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
]

/**
 * Decodes a file by its byte order mark, else by the encoding that it declares, else as UTF-8. The mark is no text.
 * @throws UnreadableFile with the line of the first byte that is not in the encoding.
 */
export function decode(bytes: Uint8Array, declared: string | undefined): string {
  const mark = BYTE_ORDER_MARKS.find(([start]) => start.every((byte, index) => bytes[index] === byte))
  const encoding = mark?.[1] ?? declared ?? 'utf-8'
  const decoder = decoderOf(encoding)
  if (ONE_BYTE.test(decoder.encoding) && isUtf8(bytes) && !isAscii(bytes))
    throw new UnreadableFile(
      `it states the encoding ${encoding}, and its bytes are UTF-8: its letters would be read wrong; correct what it states`,
      { line: 1 },
    )
  try {
    return decoder.decode(bytes.subarray(mark?.[0].length ?? 0))
  } catch {
    throw new UnreadableFile(`the bytes are not in its encoding ${encoding}`, { line: lineOfFault(bytes, encoding) })
  }
}

/** Encodings in which every byte is a letter. A text in one of them that is UTF-8 by chance is next to impossible. */
const ONE_BYTE = /^(?:windows-125|iso-8859-|koi8|macintosh|x-mac|ibm866|x-user-defined)/

function decoderOf(encoding: string): { readonly encoding: string; decode(bytes: Uint8Array): string } {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
  } catch {
    throw new UnreadableFile(`the encoding "${encoding.slice(0, 40)}" is not known`, { line: 1 })
  }
}

/** The line of the first byte that is not in the encoding: the bytes before it can be decoded. */
function lineOfFault(bytes: Uint8Array, encoding: string): number {
  const decoded = (length: number): string | undefined => {
    try {
      return new TextDecoder(encoding, { fatal: true }).decode(bytes.subarray(0, length), { stream: true })
    } catch {
      return undefined
    }
  }
  const whole = firstIndex(bytes.length, (index) => decoded(index + 1) === undefined)
  return (decoded(whole) ?? '').split('\n').length
}

/** Returns the encoding that an XML declaration states (XML 1.0, section 4.3.3). */
export function declaredInXml(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 200)).toString('latin1')
  return /^(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']/.exec(head)?.[1]
}

/** Returns the encoding that a page states in its first kilobytes (HTML, section 13.2.3.2). */
export function declaredInHtml(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 4_096)).toString('latin1')
  return /<meta[^>]+charset\s*=\s*["']?\s*([A-Za-z][\w:.-]*)/i.exec(head)?.[1]
}
