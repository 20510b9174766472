import { closeSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openSized, readFully } from '#core/index/storage/file-reader.ts'
import type { ResidentParts } from '#core/index/storage/resident-parts.ts'
import { bitsetWords } from '#core/index/bitset.ts'
import { readDocumentTable } from './documents.ts'
import { facetsLayout, facetsSchema } from './layout.ts'

/** The facets of all rows; see `layout.ts`. */
export type FacetsReader = ReturnType<typeof openFacetsReader>

/** @param folder of a verified artifact. @throws Error if `facets.bin` does not have the expected size. */
export function openFacetsReader(folder: string, rows: number, documents: number, parts: ResidentParts) {
  const facets = facetsSchema.parse(JSON.parse(readFileSync(join(folder, 'facets.json'), 'utf8')))
  const { fromOffset, toOffset, bytes: size } = facetsLayout(rows, facets)
  const path = join(folder, 'facets.bin')
  using opening = new DisposableStack()
  const file = opening.adopt(openSized(path, size), closeSync)
  const words = bitsetWords(rows)
  const days = (position: number): Int32Array =>
    new Int32Array(parts.read({ path, size, position, bytes: rows * Int32Array.BYTES_PER_ELEMENT }))
  const [inForceFrom, inForceTo] = [days(fromOffset), days(toOffset)]
  const table = readDocumentTable(folder, documents, parts)
  const files = opening.move()
  return {
    facets,
    /**
     * Bitset of a value; values are numbered in the order languages, jurisdictions, subjects, statuses. Each call reads
     * the file.
     */
    bitset(value: number): Uint32Array {
      const bits = new Uint32Array(words)
      readFully(file, new Uint8Array(bits.buffer), value * words * 4)
      return bits
    },
    documents: table,
    /** Days since 1970-01-01. */
    inForceFrom,
    inForceTo,
    close: () => files.dispose(),
  }
}

/** A row is in force on a day iff from <= day < to. */
export function isInForce(
  { inForceFrom, inForceTo }: Pick<FacetsReader, 'inForceFrom' | 'inForceTo'>,
  row: number,
  day: number,
): boolean {
  return (inForceFrom[row] ?? 0) <= day && day < (inForceTo[row] ?? 0)
}
