/** A small document of a format, and what a reader must make of it. */
export interface Sample {
  readonly name: string
  readonly format: string
  readonly bytes: Buffer
  /** Provisions by kind, at least these. */
  readonly kinds: Readonly<Record<string, number>>
  readonly title: string
  readonly from?: string
  /** Text of passages, each whole. */
  readonly passages: readonly string[]
  /** What a passage is cited as. */
  readonly cited: readonly string[]
}
