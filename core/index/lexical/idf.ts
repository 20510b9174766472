/**
 * Inverse document frequency of BM25, natural logarithm (Robertson & Zaragoza 2009).
 * @param frequency rows that hold the term or pair; a count above `rows` means that no row lacks it.
 */
export function inverseFrequency(frequency: number, rows: number): number {
  return Math.log(1 + (Math.max(0, rows - frequency) + 0.5) / (frequency + 0.5))
}
