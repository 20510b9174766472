import { FREQUENCY_MAX } from './impact.ts'
import { LEXICAL_FIELDS } from './layout.ts'

/** Term frequencies per field and row in flat arrays. At a million passages, objects would take gigabytes. */
export type Occurrences = ReturnType<typeof createOccurrences>

const BLOCK = 1_048_576
const FIELDS = LEXICAL_FIELDS.length

export function createOccurrences(rows: number) {
  const terms: Uint32Array[] = []
  const frequencies: Uint8Array[] = []
  const rowEnds = new Float64Array(rows)
  const lengths = new Uint32Array(rows * FIELDS)
  const totals = new Float64Array(FIELDS)
  /** The last posting of each term. It belongs to the current row if it is at least `rowStart`. */
  let lastPosting = new Float64Array(BLOCK).fill(-1)
  let [row, rowStart, postings] = [0, 0, 0]

  function postingOf(term: number): number {
    if (term >= lastPosting.length) {
      const grown = new Float64Array(Math.max(term + 1, lastPosting.length * 2)).fill(-1)
      grown.set(lastPosting)
      lastPosting = grown
    }
    const known = lastPosting[term] ?? -1
    if (known >= rowStart) return known
    if (postings % BLOCK === 0) {
      terms.push(new Uint32Array(BLOCK))
      frequencies.push(new Uint8Array(BLOCK * FIELDS))
    }
    lastPosting[term] = postings
    const block = terms.at(-1)
    if (block !== undefined) block[postings % BLOCK] = term
    return postings++
  }
  return {
    count(term: number, field: number) {
      const posting = postingOf(term)
      const block = frequencies[Math.floor(posting / BLOCK)]
      const at = (posting % BLOCK) * FIELDS + field
      if (block !== undefined && (block[at] ?? 0) < FREQUENCY_MAX) block[at] = (block[at] ?? 0) + 1
      lengths[row * FIELDS + field] = (lengths[row * FIELDS + field] ?? 0) + 1
      totals[field] = (totals[field] ?? 0) + 1
    },
    endRow() {
      rowEnds[row] = postings
      row += 1
      rowStart = postings
    },
    get postings() {
      return postings
    },
    rowEnds,
    /** Term of a posting; postings are numbered in order of rows. */
    term: (posting: number): number => terms[Math.floor(posting / BLOCK)]?.[posting % BLOCK] ?? 0,
    /** At most FREQUENCY_MAX. */
    frequency: (posting: number, field: number): number =>
      frequencies[Math.floor(posting / BLOCK)]?.[(posting % BLOCK) * FIELDS + field] ?? 0,
    length: (ofRow: number, field: number): number => lengths[ofRow * FIELDS + field] ?? 0,
    totalLength: (field: number): number => totals[field] ?? 0,
  }
}
