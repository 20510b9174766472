/**
 * Inverse document frequency as BM25 has it, natural logarithm (Robertson & Zaragoza 2009).
 * @param frequency rows that hold something; counts that are too high are as good as all rows.
 */
export function inverseFrequency(frequency: number, rows: number): number {
  return Math.log(1 + (Math.max(0, rows - frequency) + 0.5) / (frequency + 0.5))
}
