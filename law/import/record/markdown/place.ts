import { contextOf } from '#core/index/passages/selector.ts'
import type { TextRange } from '#law/readers/comments.ts'
import { createByteCounter, type PlaceOf } from '#law/readers/places.ts'

/**
 * Returns a function that gives the places of sections in the bytes of their file. Sections are asked for in order.
 * @param file the decoded text, without a byte order mark. @param bodyStart where the body begins in it.
 * @param bytesBefore bytes of the byte order mark.
 */
export function createMarkdownPlaces(
  file: string,
  bodyStart: number,
  bytesBefore: number,
): (kept: readonly TextRange[]) => PlaceOf {
  const byteOf = createByteCounter(file, bytesBefore)
  return (kept) => {
    let offsets: ((index: number) => number) | undefined
    return (start, end) => {
      offsets ??= offsetsOf(file, bodyStart, kept)
      const [first, last] = [offsets(start), offsets(end - 1) + 1]
      const range = { type: 'DataPositionSelector' as const, start: byteOf(first) }
      const omits = kept.slice(1).flatMap((next, index) => {
        const gap = { start: bodyStart + (kept[index]?.end ?? 0), end: bodyStart + next.start }
        const isWithin = gap.start < gap.end && gap.start >= first && gap.end <= last
        return isWithin ? [{ start: byteOf(gap.start), end: byteOf(gap.end) }] : []
      })
      const context = contextOf(file, first, last)
      return { ...range, end: byteOf(last), ...(omits.length === 0 ? {} : { omits }), ...context }
    }
  }
}

/** Returns a function that gives the offset in the file of each unit of a section's text, CRLF read as LF, trimmed. */
function offsetsOf(file: string, bodyStart: number, kept: readonly TextRange[]): (index: number) => number {
  const joined = kept.map(({ start, end }) => file.slice(bodyStart + start, bodyStart + end)).join('')
  const offsets = new Uint32Array(joined.length)
  let [count, at] = [0, 0]
  for (const { start, end } of kept)
    for (let offset = start; offset < end; offset += 1, at += 1)
      if (joined[at] !== '\r' || joined[at + 1] !== '\n') offsets[count++] = bodyStart + offset
  const text = joined.replaceAll('\r\n', '\n')
  const trimmed = text.length - text.trimStart().length
  return (index) => offsets[trimmed + index] ?? 0
}
