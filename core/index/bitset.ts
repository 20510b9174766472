/** Filter bitsets: a row is bit row % 32 of word floor(row / 32). */

export function bitsetWords(rows: number): number {
  return Math.ceil(rows / 32)
}

export function hasRow(bits: Uint32Array, row: number): boolean {
  return (((bits[row >>> 5] ?? 0) >>> (row & 31)) & 1) === 1
}

export function addRow(bits: Uint32Array, row: number): void {
  bits[row >>> 5] = (bits[row >>> 5] ?? 0) | (1 << (row & 31))
}

export function removeRow(bits: Uint32Array, row: number): void {
  bits[row >>> 5] = (bits[row >>> 5] ?? 0) & ~(1 << (row & 31))
}

/** Adds the rows of another set, in place. */
export function unite(bits: Uint32Array, other: Uint32Array): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] ?? 0) | (other[word] ?? 0)
}

/** Keeps only the rows that another set also holds, in place. */
export function intersect(bits: Uint32Array, other: Uint32Array): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] ?? 0) & (other[word] ?? 0)
}

/** Visits the rows of a set, ascending; the visit may remove the row. */
export function forEachRow(bits: Uint32Array, visit: (row: number) => void): void {
  for (let word = 0; word < bits.length; word++)
    for (let left = bits[word] ?? 0; left !== 0; left &= left - 1) visit(word * 32 + 31 - Math.clz32(left & -left))
}

export function countRows(bits: Uint32Array): number {
  let count = 0
  for (const word of bits) count += countBits(word)
  return count
}

export function countBits(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555)
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
}

/** Number of bits from `from` up to `to`. */
export function countRange(bits: Uint32Array, from: number, to: number): number {
  let count = 0
  forEachMask(from, to, (word, mask) => {
    count += countBits((bits[word] ?? 0) & mask)
  })
  return count
}

/**
 * Copies the words that hold the bits from `from` up to `to` to the beginning of another set, without other bits.
 * @param bits undefined: all are set. @returns the number of words.
 */
export function copyWords(bits: Uint32Array | undefined, into: Uint32Array, from: number, to: number): number {
  if (from >= to) return 0
  const first = from >>> 5
  const last = ((to - 1) >>> 5) - first
  for (let word = 0; word <= last; word++) into[word] = bits === undefined ? -1 : (bits[first + word] ?? 0)
  into[0] = (into[0] ?? 0) & (-1 << (from & 31))
  into[last] = (into[last] ?? 0) & (-1 >>> (31 - ((to - 1) & 31)))
  return last + 1
}

/** Removes the rows from `from` up to `to`. */
export function clearRange(bits: Uint32Array, from: number, to: number): void {
  forEachMask(from, to, (word, mask) => {
    bits[word] = (bits[word] ?? 0) & ~mask
  })
}

function forEachMask(from: number, to: number, visit: (word: number, mask: number) => void): void {
  for (let at = from; at < to;) {
    const word = at >>> 5
    const end = Math.min(to, (word + 1) * 32)
    const mask = end - at === 32 ? -1 : ((1 << (end - at)) - 1) << (at & 31)
    visit(word, mask)
    at = end
  }
}
