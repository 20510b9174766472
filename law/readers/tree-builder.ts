import { READER_BOUNDS } from './bounds.ts'
import { UnreadableFile, type MarkupElement, type MarkupText } from './tree.ts'

/** An element to which children may be added. */
export interface OpenElement extends MarkupElement {
  /** From 1 for the root. */
  readonly depth: number
  elements: number
  texts: number
}

type NewElement = Pick<MarkupElement, 'name' | 'line'> & Partial<Pick<MarkupElement, 'namespace' | 'attributes'>>
export type NewText = Pick<MarkupText, 'value' | 'line' | 'source' | 'page' | 'box'>

/** Builds a tree in the order of its file. */
export class TreeBuilder {
  readonly texts: MarkupText[] = []
  #nodes = 0
  #characters = 0

  /** Adds an element below another one. @throws UnreadableFile beyond the bounds. */
  element(
    parent: OpenElement | undefined,
    { name, line, namespace = '', attributes = new Map() }: NewElement,
  ): OpenElement {
    const depth = (parent?.depth ?? 0) + 1
    this.#count(line)
    if (depth > READER_BOUNDS.depthMax)
      throw new UnreadableFile(`elements nested deeper than ${READER_BOUNDS.depthMax}`, { line })
    const place = parent === undefined ? 1 : (parent.elements += 1)
    const shape = { kind: 'element', name, namespace, attributes, parent, place, line, standing: undefined } as const
    const element = { ...shape, children: [], depth, elements: 0, texts: 0 }
    parent?.children.push(element)
    return element
  }

  /** Adds a text below an element. @throws UnreadableFile beyond the bounds. */
  text(parent: OpenElement, own: NewText): void {
    const { value, line } = own
    this.#count(line)
    if (value.length > READER_BOUNDS.nodeCharactersMax)
      throw new UnreadableFile(`a text of more than ${READER_BOUNDS.nodeCharactersMax} characters`, { line })
    parent.texts += 1
    const text: MarkupText = { kind: 'text', parent, place: parent.texts, start: this.#characters, ...own }
    this.#characters += value.length
    parent.children.push(text)
    this.texts.push(text)
  }

  #count(line: number): void {
    this.#nodes += 1
    if (this.#nodes > READER_BOUNDS.nodesMax)
      throw new UnreadableFile(`more than ${READER_BOUNDS.nodesMax} elements and texts`, { line })
  }
}
