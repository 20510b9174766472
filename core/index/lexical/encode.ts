import { ArtifactError } from '#core/index/artifact-error.ts'
import { CHUNK_ROWS, DIRECTORY_BYTES, ENTRY_BYTES, TERMS_PER_BLOCK, chunkBytes } from './layout.ts'
import type { Occurrences } from './occurrences.ts'

/** The postings by term: term t has those from starts[t] to starts[t + 1], rows ascending. */
type Inverted = ReturnType<typeof invert>

const UINT16_VALUES = 65_536
const UINT32_MAX = 0xffff_ffff
/** Halved offsets have 48 bits. */
const POSTINGS_BYTES_MAX = 2 ** 49
const PIECE_BYTES = 1_048_576

/** Counting sort of the occurrences by term. */
export function invert(occurrences: Occurrences, terms: number, impactOf: (row: number, posting: number) => number) {
  const { postings, rowEnds } = occurrences
  const starts = new Float64Array(terms + 1)
  for (let posting = 0; posting < postings; posting++) increase(starts, occurrences.term(posting) + 1, 1)
  for (let term = 0; term < terms; term++) increase(starts, term + 1, starts[term] ?? 0)
  const next = starts.slice()
  const rows = new Uint32Array(postings)
  const impacts = new Uint8Array(postings)
  for (let row = 0, posting = 0; row < rowEnds.length; row++) {
    for (const end = rowEnds[row] ?? 0; posting < end; posting++) {
      const term = occurrences.term(posting)
      const at = next[term] ?? 0
      next[term] = at + 1
      rows[at] = row
      impacts[at] = impactOf(row, posting)
    }
  }
  return { starts, rows, impacts }
}

function increase(numbers: Float64Array, at: number, by: number): void {
  numbers[at] = (numbers[at] ?? 0) + by
}

interface Chunk {
  readonly number: number
  /** Positions in the postings. */
  readonly from: number
  readonly to: number
  readonly impactMax: number
}

function chunksOf({ starts, rows, impacts }: Inverted, term: number): Chunk[] {
  const chunks: Chunk[] = []
  const end = starts[term + 1] ?? 0
  for (let from = starts[term] ?? 0; from < end;) {
    const number = Math.floor((rows[from] ?? 0) / CHUNK_ROWS)
    const firstBeyond = (number + 1) * CHUNK_ROWS
    let [to, impactMax] = [from, 0]
    for (; to < end && (rows[to] ?? 0) < firstBeyond; to++) impactMax = Math.max(impactMax, impacts[to] ?? 0)
    chunks.push({ number, from, to, impactMax })
    from = to
  }
  return chunks
}

/**
 * Encodes `lexical.terms`.
 * @param stored a string of bytes for each term.
 * @param order terms in order of these strings.
 */
export function encodeTerms(stored: readonly string[], order: Uint32Array, inverted: Inverted) {
  const blocks = Math.ceil(order.length / TERMS_PER_BLOCK)
  const entriesBytes = stored.reduce((sum, term) => sum + 1 + term.length + ENTRY_BYTES, 0)
  if (entriesBytes > UINT32_MAX) throw new ArtifactError('The words of the version do not fit the lexical index.')
  const entries = Buffer.alloc(entriesBytes)
  const table = Buffer.alloc((blocks + 1) * 8)
  const firstTerms: string[] = []
  let [at, firstBytes, postingsBytes] = [0, 0, 0]
  for (const [index, term] of order.entries()) {
    const bytes = stored[term] ?? ''
    if (index % TERMS_PER_BLOCK === 0) {
      writePair(table, index / TERMS_PER_BLOCK, at, firstBytes)
      firstTerms.push(bytes)
      firstBytes += bytes.length
    }
    at = entries.writeUInt8(bytes.length, at)
    at += entries.write(bytes, at, 'latin1')
    const size = writeEntry(entries, at, chunksOf(inverted, term), postingsBytes)
    at += ENTRY_BYTES
    postingsBytes += size
  }
  writePair(table, blocks, at, firstBytes)
  const bytes = Buffer.concat([entries, Buffer.from(firstTerms.join(''), 'latin1'), table])
  return { bytes, blocks_bytes: entriesBytes, first_terms_bytes: firstBytes, postings_bytes: postingsBytes }
}

function writePair(table: Buffer, index: number, first: number, second: number): void {
  table.writeUInt32LE(first, index * 8)
  table.writeUInt32LE(second, index * 8 + 4)
}

/** @param offset of the term's postings. @returns their size in bytes. */
function writeEntry(entries: Buffer, at: number, chunks: readonly Chunk[], offset: number): number {
  if (chunks.length >= UINT16_VALUES || offset > POSTINGS_BYTES_MAX)
    throw new ArtifactError('The version has more passages than the lexical index can hold.')
  let [frequency, impactMax] = [0, 0]
  for (const chunk of chunks) {
    frequency += chunk.to - chunk.from
    impactMax = Math.max(impactMax, chunk.impactMax)
  }
  entries.writeUInt32LE(frequency, at)
  entries.writeUInt32LE((offset / 2) % (UINT32_MAX + 1), at + 4)
  entries.writeUInt16LE(Math.floor(offset / 2 / (UINT32_MAX + 1)), at + 8)
  entries.writeUInt16LE(chunks.length, at + 10)
  entries.writeUInt8(impactMax, at + 12)
  return bytesOf(chunks)
}

function bytesOf(chunks: readonly Chunk[]): number {
  return chunks.reduce((sum, { from, to }) => sum + DIRECTORY_BYTES + chunkBytes(to - from), 0)
}

/** `lexical.postings`, in pieces of about a megabyte. */
export function* encodePostings(order: Uint32Array, inverted: Inverted): Generator<Uint8Array> {
  let piece = Buffer.alloc(PIECE_BYTES)
  let at = 0
  for (const term of order) {
    const chunks = chunksOf(inverted, term)
    const bytes = bytesOf(chunks)
    if (at + bytes > piece.length) {
      yield piece.subarray(0, at)
      piece = Buffer.alloc(Math.max(bytes, PIECE_BYTES))
      at = 0
    }
    at = writePostings(piece, at, chunks, inverted)
  }
  yield piece.subarray(0, at)
}

function writePostings(piece: Buffer, start: number, chunks: readonly Chunk[], { rows, impacts }: Inverted): number {
  let at = start
  for (const { number, from, to, impactMax } of chunks) {
    at = piece.writeUInt16LE(number, at)
    at = piece.writeUInt16LE(to - from - 1, at)
    at = piece.writeUInt16LE(impactMax, at)
  }
  for (const { from, to } of chunks) {
    for (let index = from; index < to; index++) at = piece.writeUInt16LE((rows[index] ?? 0) % CHUNK_ROWS, at)
    for (let index = from; index < to; index++) piece[at++] = impacts[index] ?? 0
    if ((to - from) % 2 === 1) piece[at++] = 0
  }
  return at
}
