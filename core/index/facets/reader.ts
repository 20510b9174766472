import { closeSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openSized, readFully } from '#core/platform/file-reader.ts'
import { bitsetWords } from './bitset.ts'
import { readDocumentTable } from './documents-reader.ts'
import type { DocumentTable } from './documents-reader.ts'
import { facetsLayout, facetsSchema } from './layout.ts'
import type { Facets } from './layout.ts'

/** The facets of all rows; see `layout.ts`. */
export interface FacetsReader {
  readonly facets: Facets
  /**
   * Bitset of a value; values are numbered in the order languages, jurisdictions, subjects, statuses. Each call reads
   * the file.
   */
  readonly bitset: (value: number) => Uint32Array
  readonly documents: DocumentTable
  /** Days since 1970-01-01. */
  readonly inForceFrom: Int32Array
  readonly inForceTo: Int32Array
  readonly close: () => void
}

/** @param folder of a verified artifact. @throws Error if `facets.bin` does not have the expected size. */
export function openFacetsReader(folder: string, rows: number, documents: number): FacetsReader {
  const facets = facetsSchema.parse(JSON.parse(readFileSync(join(folder, 'facets.json'), 'utf8')))
  const { fromOffset, toOffset, bytes: size } = facetsLayout(rows, facets)
  const table = readDocumentTable(folder, documents)
  using opening = new DisposableStack()
  const file = opening.adopt(openSized(join(folder, 'facets.bin'), size), closeSync)
  const words = bitsetWords(rows)
  const part = (position: number, words32: number): ArrayBuffer => {
    const bytes = new Uint8Array(words32 * 4)
    readFully(file, bytes, position)
    return bytes.buffer
  }
  const [inForceFrom, inForceTo] = [new Int32Array(part(fromOffset, rows)), new Int32Array(part(toOffset, rows))]
  const files = opening.move()
  return {
    facets,
    bitset: (value) => new Uint32Array(part(value * words * 4, words)),
    documents: table,
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
