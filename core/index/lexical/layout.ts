import { z } from 'zod'

export const LEXICAL_FIELDS = ['heading', 'text'] as const
export type LexicalField = (typeof LEXICAL_FIELDS)[number]

/**
 * Layout of a version's lexical index; all values are little-endian. A term is indexed under the language of its
 * passage (`en:bank`), so terms of different languages never occur in one row. Rows are grouped in chunks of 65,536.
 *
 * - `lexical.json`: the parameters, and the counts that determine the layout below.
 * - `lexical.postings`: for every term, at an even offset, a directory with three uint16 per chunk that holds the term
 *   (chunk, postings − 1, largest impact). Then for each chunk its rows ascending (uint16, row % 65,536), their impacts
 *   (uint8), and one byte of padding if their number is odd.
 * - `lexical.terms`: blocks of at most TERMS_PER_BLOCK terms in order of their UTF-8 bytes. A term has a uint8 length,
 *   the UTF-8 bytes and ENTRY_BYTES: uint32 document frequency, uint32 and uint16 of half the postings offset (low,
 *   high), uint16 chunks, uint8 largest impact. Then the first terms of all blocks, concatenated. Then (blocks + 1)
 *   pairs of uint32: the start of the block, and the start of its first term in that concatenation.
 *
 * The impact of a term in a row is 255 × tf / (k1 + tf), rounded, at least 1. tf is the field-weighted,
 * length-normalised frequency of BM25F (Robertson & Zaragoza 2009, section 3.6). A question multiplies the impact by
 * the word's inverse document frequency, also an integer, so sums are exact in any order.
 */
export const lexicalSchema = z.strictObject({
  rows: z.int().positive(),
  /** Primary subtags, sorted. */
  languages: z.array(z.string().min(1)),
  k1: z.number().positive(),
  fields: z.record(
    z.enum(LEXICAL_FIELDS),
    z.strictObject({ weight: z.number(), b: z.number(), average_length: z.number() }),
  ),
  terms: z.int().nonnegative(),
  postings: z.int().nonnegative(),
  /** Sizes of the parts of `lexical.terms`. */
  blocks_bytes: z.int().nonnegative(),
  first_terms_bytes: z.int().nonnegative(),
  postings_bytes: z.int().nonnegative(),
})
export type LexicalDescription = z.infer<typeof lexicalSchema>

export const CHUNK_ROWS = 65_536
export const TERMS_PER_BLOCK = 32
/** Bytes of a term in its block, after its UTF-8 bytes. */
export const ENTRY_BYTES = 13
export const DIRECTORY_BYTES = 6
export const IMPACT_MAX = 255

/** Bytes of a term's postings within one chunk. */
export function chunkBytes(postings: number): number {
  return postings * 3 + (postings & 1)
}

/** Byte offsets of the parts of `lexical.terms`, and its size. */
export function lexicalTermsLayout(
  description: Pick<LexicalDescription, 'terms' | 'blocks_bytes' | 'first_terms_bytes'>,
) {
  const blocks = Math.ceil(description.terms / TERMS_PER_BLOCK)
  const tableOffset = description.blocks_bytes + description.first_terms_bytes
  return { blocks, firstTermsOffset: description.blocks_bytes, tableOffset, bytes: tableOffset + (blocks + 1) * 8 }
}

/** The form in which a term is stored and looked up. */
export function storedTerm(language: string, term: string): Buffer {
  return Buffer.from(`${language}:${term}`)
}
