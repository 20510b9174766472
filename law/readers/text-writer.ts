import type { MarkupText } from './tree.ts'

/** A span of a text that stands in the file: `text.slice(at, at + length)` is there at `from` to `to`. */
export interface Piece {
  readonly at: number
  readonly length: number
  /** Offsets among all texts of the file, joined. White space in between may differ. */
  readonly from: number
  readonly to: number
}

const GAPS = { none: '', space: ' ', line: '\n', paragraph: '\n\n' } as const
type Gap = keyof typeof GAPS
const ORDER: readonly Gap[] = ['none', 'space', 'line', 'paragraph']

/** Writes readable text from texts of a tree, and notes which span is which text. Marks are no text of the file. */
export class TextWriter {
  readonly #parts: string[] = []
  readonly #pieces: Piece[] = []
  #length = 0
  #gap: Gap = 'none'
  /** After a number or a bullet, the text goes on in the same line. */
  #holdsLine = false

  get pieces(): readonly Piece[] {
    return this.#pieces
  }

  get text(): string {
    return this.#parts.join('')
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0
  }

  separate(gap: Gap): void {
    const held = this.#holdsLine && ORDER.indexOf(gap) > 1 ? 'space' : gap
    if (ORDER.indexOf(held) > ORDER.indexOf(this.#gap)) this.#gap = held
  }

  /** What follows stands on the line of what was written last. */
  holdLine(): void {
    this.#gap = 'space'
    this.#holdsLine = true
  }

  mark(text: string): void {
    if (/^\s/.test(text)) this.separate('space')
    if (text.trim() !== '') this.#write(text.trim())
    if (/\S\s$/.test(text)) this.separate('space')
  }

  /** @param lines whether line breaks of the text are breaks. */
  add({ value, start }: MarkupText, lines = false): void {
    const spans = lines ? value.matchAll(/[^\r\n]+/g) : [{ 0: value, index: 0 }]
    let isFirst = true
    for (const { 0: span, index } of spans) {
      if (!isFirst) this.separate('line')
      isFirst = false
      this.#span(span, start + index)
    }
  }

  #span(value: string, start: number): void {
    const trimmed = value.trim()
    if (/^\s/.test(value)) this.separate('space')
    if (trimmed === '') return
    const from = start + value.indexOf(trimmed)
    this.#write(trimmed.replaceAll(/\s+/g, ' '), { from, to: from + trimmed.length })
    if (/\s$/.test(value)) this.separate('space')
  }

  /** @param span of the texts of the file; a mark has none. */
  #write(text: string, span?: { readonly from: number; readonly to: number }): void {
    const gap = this.#length > 0 ? GAPS[this.#gap] : ''
    const at = this.#length + gap.length
    if (span !== undefined) this.#pieces.push({ at, length: text.length, from: span.from, to: span.to })
    this.#parts.push(gap, text)
    this.#length = at + text.length
    this.#gap = 'none'
    this.#holdsLine = false
  }
}
