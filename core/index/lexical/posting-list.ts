import { DIRECTORY_BYTES, chunkBytes } from './layout.ts'
import type { FileBytes } from '#core/index/storage/file-bytes.ts'

/** Location of a term's postings; see `core/index/lexical/layout.ts`. */
export interface TermEntry {
  /** Rows that hold the term. */
  readonly frequency: number
  readonly offset: number
  readonly chunks: number
  readonly impactMax: number
}

/**
 * Of a file in the page cache, lists up to this size are read at once, longer ones chunk by chunk. A system call costs
 * about as much as copying this many bytes.
 */
const WHOLE_BYTES_MAX = 16_384

/**
 * The postings of one term. The directory is in memory, and so are the rows and impacts of a short list. Those of a
 * long list stay in the file.
 */
export class PostingList {
  /** Rows in the chunk of the last `seek`. */
  count = 0
  readonly #file: FileBytes
  readonly #chunks: number
  /** The directory, and the postings if they are few. */
  readonly #bytes: Buffer
  readonly #whole: boolean
  /** File position of the first chunk's postings. */
  readonly #position: number
  #chunk = 0
  /** Bytes of the chunks before `#chunk`. */
  #skipped = 0

  /** @param fileBytes size of the file of all postings. */
  constructor(file: FileBytes, { offset, chunks, frequency }: TermEntry, fileBytes: number) {
    const directoryBytes = chunks * DIRECTORY_BYTES
    const bytesMax = Math.min(directoryBytes + frequency * 3 + chunks, fileBytes - offset)
    this.#file = file
    this.#chunks = chunks
    this.#whole = bytesMax <= WHOLE_BYTES_MAX
    this.#bytes = file.piece(offset, this.#whole ? bytesMax : directoryBytes)
    this.#position = offset + directoryBytes
  }

  rewind(): void {
    this.#chunk = 0
    this.#skipped = 0
  }

  /**
   * @param chunk not below that of the previous call.
   * @returns the largest impact in it; 0 if the term is not in it.
   */
  seek(chunk: number): number {
    for (; this.#chunk < this.#chunks; this.#chunk++) {
      const at = this.#chunk * DIRECTORY_BYTES
      const found = this.#bytes.readUInt16LE(at)
      const count = this.#bytes.readUInt16LE(at + 2) + 1
      if (found > chunk) break
      if (found === chunk) {
        this.count = count
        return this.#bytes.readUInt16LE(at + 4)
      }
      this.#skipped += chunkBytes(count)
    }
    this.count = 0
    return 0
  }

  /**
   * Copies the current chunk to the start of the target: `count` uint16 rows relative to the chunk, then as many uint8
   * impacts.
   */
  read(target: Uint8Array): void {
    const length = this.count * 3
    if (!this.#whole) return this.#file.copyTo(target.subarray(0, length), this.#position + this.#skipped)
    const from = this.#chunks * DIRECTORY_BYTES + this.#skipped
    target.set(this.#bytes.subarray(from, from + length))
  }
}
