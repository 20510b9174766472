import { ArtifactError } from '#core/index/artifact-error.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { createLargeMap } from '#core/index/storage/large-map.ts'
import { referencesLayout, referencesSchema, type ActEntry } from './layout.ts'

const OFFSET_MAX = 0xffff_ffff

/**
 * Collects the references of rows as they are added and returns the content of the two files; see `layout.ts`.
 * @param rows number of rows; row numbers are below it.
 */
export function createReferencesWriter(rows: number) {
  const postings = createLargeMap<number[]>()

  function post(term: string, row: number): void {
    const known = postings.get(term)
    if (known === undefined) postings.set(term, [row])
    else if (known.at(-1) !== row) known.push(row)
  }
  return {
    add(row: number, { references }: Pick<PassageRecord, 'references'>) {
      if (row >= rows) throw new ArtifactError(`${rows} passages were announced and more came.`)
      for (const reference of references) for (const term of termsOf(reference)) post(term, row)
    },
    /** @throws ArtifactError when the terms do not fit the format's 32-bit offsets. */
    finish(acts: readonly ActEntry[]) {
      const sorted = [...postings.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
      const counts = {
        terms: sorted.length,
        postings: sorted.reduce((sum, [, held]) => sum + held.length, 0),
        text_bytes: sorted.reduce((sum, [term]) => sum + Buffer.byteLength(term), 0),
      }
      if (Math.max(counts.postings, counts.text_bytes) > OFFSET_MAX)
        throw new ArtifactError('The references of the version do not fit 32-bit offsets.')
      const references = referencesSchema.parse({ acts: sortedActs(acts), ...counts })
      return { references, bytes: packed(sorted, referencesLayout(counts)) }
    },
  }
}

/** Returns the reference, and its path under any act. An act alone has no path. */
function termsOf(reference: string): readonly string[] {
  const path = reference.indexOf('#')
  return path === -1 || reference.startsWith('*') ? [reference] : [reference, `*${reference.slice(path)}`]
}

function packed(
  sorted: readonly (readonly [string, readonly number[]])[],
  layout: ReturnType<typeof referencesLayout>,
): Buffer {
  const bytes = Buffer.alloc(layout.bytes)
  let [textAt, rowsAt] = [0, 0]
  for (const [position, [term, held]] of sorted.entries()) {
    bytes.writeUInt32LE(textAt, position * 8)
    bytes.writeUInt32LE(rowsAt, position * 8 + 4)
    for (const row of held) bytes.writeUInt32LE(row, layout.rowsOffset + rowsAt++ * 4)
    textAt += bytes.write(term, layout.textOffset + textAt)
  }
  bytes.writeUInt32LE(textAt, sorted.length * 8)
  bytes.writeUInt32LE(rowsAt, sorted.length * 8 + 4)
  return bytes
}

function sortedActs(acts: readonly ActEntry[]): ActEntry[] {
  return acts
    .map(({ id, aliases }) => ({ id, aliases: [...new Set(aliases)].sort() }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}
