import { digestFile } from '#core/platform/hashed-file.ts'
import type { PlaceOf } from '#law/readers/places.ts'
import { UnreadableFile } from '#law/readers/tree.ts'
import type { SourceSnapshot } from './record.ts'

/** The end of the name of a corrected draft: it stands beside `guidance.pdf` as `guidance.pdf.draft.md`. */
export const DRAFT_ENDING = '.draft.md'

/** Returns the name of the file that a draft was made from; undefined for the name of no draft. */
export function originalName(sourceName: string): string | undefined {
  return sourceName.endsWith(DRAFT_ENDING) ? sourceName.slice(0, -DRAFT_ENDING.length) : undefined
}

/**
 * Returns a function that adds the place in the original to the places of a draft; it adds nothing for any other file.
 * @throws UnreadableFile where the original is not among the sources, or is another file than the one that was drafted.
 */
export async function originalOf(
  sourceName: string,
  bytes: Uint8Array,
  snapshots: readonly SourceSnapshot[],
): Promise<(place: PlaceOf) => PlaceOf> {
  const name = originalName(sourceName)
  if (name === undefined) return (place) => place
  const text = Buffer.from(bytes).toString('latin1')
  const stated = /^original_sha256: "?([0-9a-f]{64})"?\s*$/m.exec(text)?.[1]
  const original = snapshots.find((snapshot) => snapshot.sourceName === name)
  if (original === undefined)
    throw new UnreadableFile(`the original ${name} of the draft is not beside it: put it there, or rename the draft`)
  const { sha256 } = await digestFile(original.path)
  if (stated !== sha256)
    throw new UnreadableFile(`${name} is not the file that was drafted: draft it again, and correct that draft`)
  const marks = Array.from(text.matchAll(/<!-- page (\d{1,5}) -->/g), (mark) => [mark.index, Number(mark[1])] as const)
  return (place) => (start, end) => {
    const selector = place(start, end)
    const at = selector.type === 'DataPositionSelector' ? selector.start : 0
    const page = marks.findLast(([index]) => index <= at)?.[1]
    return { ...selector, original: { sha256, ...(page === undefined ? {} : { page }) } }
  }
}
