import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ENTRY_BYTES, lexicalSchema, lexicalTermsLayout, storedTerm } from './layout.ts'
import { openFileBytes, type FileBytes } from '#core/index/storage/file-bytes.ts'
import type { ResidentParts } from '#core/index/storage/resident-parts.ts'
import { firstIndex } from '#core/platform/first-index.ts'
import { PostingList, type TermEntry } from './posting-list.ts'

/**
 * One thread's view of a lexical index. The first term of every dictionary block is in memory, about 20 bytes per 32
 * terms. Dictionary and postings are in memory if they are small, else in the page cache. All threads share both.
 */
export type LexicalReader = ReturnType<typeof openLexicalReader>

/**
 * @param folder of a verified artifact. @param name of the files, without their endings. @param hasPostings whether
 * the postings are opened too.
 * @throws Error if a file's size contradicts its description, or the description has another number of rows.
 */
export function openLexicalReader(
  folder: string,
  rows: number,
  parts: ResidentParts,
  name = 'lexical',
  hasPostings = true,
) {
  const description = lexicalSchema.parse(JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')))
  if (description.rows !== rows) throw new Error('the lexical index contradicts the manifest')
  const layout = lexicalTermsLayout(description)
  using opening = new DisposableStack()
  const path = join(folder, `${name}.terms`)
  const terms = opening.adopt(openFileBytes(path, layout.bytes, parts), (file) => file.close())
  const openPostings = (): FileBytes =>
    openFileBytes(join(folder, `${name}.postings`), description.postings_bytes, parts)
  const postings = hasPostings ? opening.adopt(openPostings(), (file) => file.close()) : undefined
  const partOf = (position: number, bytes: number): SharedArrayBuffer =>
    parts.read({ path, size: layout.bytes, position, bytes })
  const firstTerms = new Uint8Array(partOf(layout.firstTermsOffset, description.first_terms_bytes))
  /** Pairs: start of the block, start of its first term. */
  const table = new Uint32Array(partOf(layout.tableOffset, (layout.blocks + 1) * 8))

  /** Returns the last block whose first term is not above the wanted one; -1 if there is none. */
  function blockOf(wanted: Buffer): number {
    const after = firstIndex(layout.blocks, (block) =>
      isBelow(wanted, firstTerms, table[block * 2 + 1] ?? 0, table[block * 2 + 3] ?? 0),
    )
    return after - 1
  }
  const files = opening.move()
  return {
    description,
    find(language: string, term: string): TermEntry | undefined {
      const wanted = storedTerm(language, term)
      const number = blockOf(wanted)
      if (number < 0) return undefined
      const [from, to] = [table[number * 2] ?? 0, table[number * 2 + 2] ?? 0]
      return findInBlock(terms.passing(from, to - from), wanted)
    },
    /** Whether `list` has the postings; the dictionary alone may be opened. */
    hasPostings,
    list(entry: TermEntry): PostingList {
      if (postings === undefined) throw new Error('the dictionary was opened without its postings')
      return new PostingList(postings, entry, description.postings_bytes)
    },
    close: () => files.dispose(),
  }
}

/** Whether a term is below the one from `from` to `to`. A loop costs less than a native call for so few bytes. */
function isBelow(wanted: Uint8Array, terms: Uint8Array, from: number, to: number): boolean {
  const common = Math.min(wanted.length, to - from)
  for (let at = 0; at < common; at++) {
    const difference = (wanted[at] ?? 0) - (terms[from + at] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return wanted.length < to - from
}

function findInBlock(block: Buffer, wanted: Uint8Array): TermEntry | undefined {
  for (let at = 0; at < block.length;) {
    const entryAt = at + 1 + (block[at] ?? 0)
    if (entryAt - at - 1 === wanted.length && isAt(wanted, block, at + 1))
      return {
        frequency: block.readUInt32LE(entryAt),
        offset: 2 * (block.readUInt32LE(entryAt + 4) + block.readUInt16LE(entryAt + 8) * 2 ** 32),
        chunks: block.readUInt16LE(entryAt + 10),
        impactMax: block.readUInt8(entryAt + 12),
      }
    at = entryAt + ENTRY_BYTES
  }
  return undefined
}

function isAt(wanted: Uint8Array, block: Uint8Array, from: number): boolean {
  for (let at = 0; at < wanted.length; at++) if (wanted[at] !== block[from + at]) return false
  return true
}
