import { digestFile } from '#core/platform/hashed-file.ts'
import type { PlaceOf } from '#law/readers/places.ts'
import { labelledHeading } from '#law/readers/document.ts'
import { readBytes, readDocument } from '#law/readers/read.ts'
import { UnreadableFile } from '#law/readers/tree.ts'
import { withoutSpace } from '#law/readers/text.ts'
import type { SourceSnapshot } from './record.ts'

/** The end of the name of a corrected draft: it stands beside `guidance.pdf` as `guidance.pdf.draft.md`. */
export const DRAFT_ENDING = '.draft.md'

/** Returns the name of the file that a draft was made from; undefined for the name of no draft. */
export function originalName(sourceName: string): string | undefined {
  return sourceName.endsWith(DRAFT_ENDING) ? sourceName.slice(0, -DRAFT_ENDING.length) : undefined
}

/**
 * Returns what adds the place in the original to the places of a draft, and whether the original holds a text. Of any
 * other file it adds nothing, and all text is its own.
 * @throws UnreadableFile where the original is not among the sources, or is another file than the one that was drafted.
 */
export async function originalOf(
  sourceName: string,
  bytes: Uint8Array,
  snapshots: readonly SourceSnapshot[],
): Promise<{ readonly place: (place: PlaceOf) => PlaceOf; readonly holds: (text: string) => boolean }> {
  const name = originalName(sourceName)
  if (name === undefined) return { place: (place) => place, holds: () => true }
  const text = Buffer.from(bytes).toString('latin1')
  const stated = /^original_sha256: "?([0-9a-f]{64})"?\s*$/m.exec(text)?.[1]
  const original = snapshots.find((snapshot) => snapshot.sourceName === name)
  if (original === undefined)
    throw new UnreadableFile(`the original ${name} of the draft is not beside it: put it there, or rename the draft`)
  const { sha256 } = await digestFile(original.path)
  if (stated !== sha256)
    throw new UnreadableFile(`${name} is not the file that was drafted: draft it again, and correct that draft`)
  const marks = Array.from(text.matchAll(/<!-- page (\d{1,5}) -->/g), (mark) => [mark.index, Number(mark[1])] as const)
  const place =
    (ofDraft: PlaceOf): PlaceOf =>
    (start, end) => {
      const selector = ofDraft(start, end)
      const at = selector.type === 'DataPositionSelector' ? selector.start : 0
      const page = marks.findLast(([index]) => index <= at)?.[1]
      return { ...selector, original: { sha256, ...(page === undefined ? {} : { page }) } }
    }
  const written = await textOf(name, original.path)
  return { place, holds: (own) => written.includes(plain(own)) }
}

/** What is read of a file, as `plain` has it; nothing of one that is not read, such as a scan. */
async function textOf(name: string, path: string): Promise<string> {
  try {
    const { provisions } = await readDocument(name, await readBytes(path))
    return plain(provisions.map((each) => `${labelledHeading(each)} ${each.text ?? ''}`).join(' '))
  } catch (error) {
    if (error instanceof UnreadableFile) return ''
    throw error
  }
}

/** A draft escapes signs that Markdown would take for structure. */
const plain = (text: string): string => withoutSpace(text).replaceAll('\\', '')
