import { closeSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openSized, readFully } from '#core/index/storage/file-reader.ts'
import { firstIndex } from '#core/platform/first-index.ts'
import { referencesLayout, referencesSchema } from './layout.ts'

/**
 * Finds the rows of a provision by binary search in the file. Only the names of the acts are in memory. At a million
 * terms, a lookup reads about forty short pieces from the page cache.
 */
export type ReferencesReader = ReturnType<typeof openReferencesReader>

/** @param folder of a verified artifact. @throws Error if a file's size contradicts its description. */
export function openReferencesReader(folder: string) {
  const { acts, ...counts } = referencesSchema.parse(JSON.parse(readFileSync(join(folder, 'references.json'), 'utf8')))
  const layout = referencesLayout(counts)
  const actNames = acts.flatMap(({ id, aliases }) => [id, ...aliases].map((name) => [name, id] as const))
  const file = openSized(join(folder, 'references.bin'), layout.bytes)

  /** Text and row offsets of a term and of the next one. */
  const offsetsAt = (position: number): Uint32Array => new Uint32Array(readBytes(file, position * 8, 16))
  const termAt = (position: number): string => {
    const [from = 0, , to = 0] = offsetsAt(position)
    return Buffer.from(readBytes(file, layout.textOffset + from, to - from)).toString('utf8')
  }
  /** Returns the position of the first term that is not below `wanted`. */
  const lowerBound = (wanted: string): number => firstIndex(counts.terms, (position) => termAt(position) >= wanted)
  /** Rows of the terms from one position up to another. */
  const rowsBetween = (first: number, end: number): Uint32Array => {
    if (first >= end) return new Uint32Array(0)
    const [, from = 0] = offsetsAt(first)
    const [, , , to = 0] = offsetsAt(end - 1)
    return new Uint32Array(readBytes(file, layout.rowsOffset + from * 4, (to - from) * 4))
  }
  return {
    /** Every name of an act, its id included, with that id. */
    actNames,
    /** Rows of passages that hold the text of exactly this provision, whole or split for length; ascending. */
    rowsOf(canonical: string): Uint32Array {
      const position = lowerBound(canonical)
      return position < counts.terms && termAt(position) === canonical
        ? rowsBetween(position, position + 1)
        : new Uint32Array(0)
    },
    /** Rows of passages that hold the text of a part of the provision; ordered by part, so a row may occur twice. */
    rowsOfParts(canonical: string): Uint32Array {
      // The separator between a provision and its part is `#` after an act and `/` within a path. The range ends at the
      // separator's successor.
      const [mark, successor] = canonical.includes('#') ? ['/', '0'] : ['#', '$']
      return rowsBetween(lowerBound(canonical + mark), lowerBound(canonical + successor))
    },
    /** Whether some passage has a reference with this prefix. */
    holds(beginning: string): boolean {
      const position = lowerBound(beginning)
      return position < counts.terms && termAt(position).startsWith(beginning)
    },
    /** Words before numbers in paths under any act (`*#abala-5`) of which a row passes; their other terms are skipped. */
    wordsOf(passes: (row: number) => boolean, wordsMax: number): readonly string[] {
      const found: string[] = []
      for (let at = lowerBound('*#:'), next = at; at < counts.terms && found.length < wordsMax; at = next) {
        const term = termAt(at)
        const [begin = ''] = /^\*#[\p{L}\p{M}]*.?/u.exec(term) ?? []
        next = begin === '' ? counts.terms : term === begin ? at + 1 : lowerBound(`${begin}\uffff`)
        if (begin.endsWith('-') && rowsBetween(at, next).some(passes)) found.push(begin.slice(2, -1))
      }
      return found
    },
    close: () => closeSync(file),
    [Symbol.dispose]: () => closeSync(file),
  }
}

function readBytes(file: number, position: number, length: number): ArrayBuffer {
  const bytes = new Uint8Array(length)
  readFully(file, bytes, position)
  return bytes.buffer
}
