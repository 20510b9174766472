/** Rows `from` to `to`. A view of a row costs more than to look through it: loops take the places instead. */
export interface TokenRange {
  /** Word hashes, and what lies between them. */
  readonly tokens: Uint32Array
  /** Place of a row's first word in `tokens`, heading first. */
  readonly start: (row: number) => number
  /** Place of the first word of its text. */
  readonly textStart: (row: number) => number
  /** Place after its last word. */
  readonly end: (row: number) => number
  /** Word hashes of a row, heading first. */
  readonly words: (row: number) => Uint32Array
}

/** The words of passages in their order, and how often two stand side by side. */
export interface TokenStatistics {
  readonly description: {
    readonly rows: number
    /** Mean words of a row, heading included; of the texts next to it, both sides together; of those one further. */
    readonly mean_length: number
    readonly mean_beside: number
    readonly mean_near: number
  }
  /** Number of rows in which two words stand side by side, or more. */
  readonly pairFrequency: (first: number, second: number) => number
  /** @param from first row. @param to last row. @returns their words, valid until the next call. */
  readonly read: (from: number, to: number) => TokenRange
}
