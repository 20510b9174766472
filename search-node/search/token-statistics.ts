/** Tokens of rows `from` to `to`. Loops use positions, because a view of a row costs more than its scan. */
export interface TokenRange {
  /** Word hashes; between two rows lie values that are no hashes. */
  readonly tokens: Uint32Array
  /** Position of a row's first word in `tokens`, heading first. */
  readonly start: (row: number) => number
  /** Position of the first word of its text. */
  readonly textStart: (row: number) => number
  /** Position after its last word. */
  readonly end: (row: number) => number
  /** Word hashes of a row, heading first. */
  readonly words: (row: number) => Uint32Array
}

/** The words of passages in text order, and the frequency of adjacent pairs. */
export interface TokenStatistics {
  readonly description: {
    readonly rows: number
    /** Mean words of a row, heading included; of the texts next to it, both sides together; of those one further. */
    readonly mean_length: number
    readonly mean_beside: number
    readonly mean_near: number
  }
  /** Upper bound of the number of rows in which two words are adjacent. */
  readonly pairFrequency: (first: number, second: number) => number
  /** @param from first row. @param to last row. @returns their words, valid until the next call. */
  readonly read: (from: number, to: number) => TokenRange
}
