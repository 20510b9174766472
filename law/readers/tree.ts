import type { Standing } from './standing.ts'

/** A tree of markup, as XML and HTML give it. Every text knows its place in the file. */
export interface MarkupElement {
  readonly kind: 'element'
  /** Local name, as written in XML and in lower case in HTML. */
  readonly name: string
  readonly namespace: string
  /** By local name; `xml:lang` is `lang`. */
  readonly attributes: ReadonlyMap<string, string>
  readonly parent: MarkupElement | undefined
  readonly children: MarkupNode[]
  /** Position among the elements of its parent, from 1. */
  readonly place: number
  /** Line of the file, from 1. */
  readonly line: number
  /** Why what is in it is no text in force, once its format was asked; undefined for what is. */
  standing: Standing | undefined
}

export interface MarkupText {
  readonly kind: 'text'
  readonly value: string
  readonly parent: MarkupElement
  /** Position among the texts of its parent, from 1. */
  readonly place: number
  readonly line: number
  /** Offset of the text among all texts of the tree, joined. */
  readonly start: number
  /** Where the file has it, as offsets of the decoded file; entities are not resolved there. */
  readonly source: { readonly from: number; readonly to: number }
  /** In a PDF: its page from 1, and its box in points, left, bottom, right and top. */
  readonly page?: number
  readonly box?: readonly [number, number, number, number]
}

export type MarkupNode = MarkupElement | MarkupText

export interface MarkupTree {
  readonly root: MarkupElement
  /** All texts in the order of the file. */
  readonly texts: readonly MarkupText[]
  /** The decoded file: offsets of `MarkupText.source` count in it. */
  readonly decoded: string
  /** Bytes of the file before the decoded text: its byte order mark. */
  readonly bytesBefore?: number
  /** What the file says of itself beside its text. */
  readonly metadata?: ReadonlyMap<string, string>
}

export function elementsOf(element: MarkupElement): readonly MarkupElement[] {
  return element.children.filter((child) => child.kind === 'element')
}

export function childrenNamed(element: MarkupElement | undefined, name: string): readonly MarkupElement[] {
  return element === undefined ? [] : elementsOf(element).filter((child) => child.name === name)
}

/** Places of children by their name, from 0; kept, because a list may have any number of items. */
const placesOf = new WeakMap<MarkupElement, ReadonlyMap<MarkupElement, number>>()

/** Returns the place of an element among the children of its parent that have its name; 0 without a parent. */
export function placeAmongNamed(element: MarkupElement): number {
  const { parent } = element
  if (parent === undefined) return 0
  let places = placesOf.get(parent)
  if (places === undefined) {
    const counts = new Map<string, number>()
    places = new Map(
      elementsOf(parent).map((child) => {
        const place = counts.get(child.name) ?? 0
        counts.set(child.name, place + 1)
        return [child, place]
      }),
    )
    placesOf.set(parent, places)
  }
  return places.get(element) ?? 0
}

export function childNamed(element: MarkupElement | undefined, ...names: readonly string[]): MarkupElement | undefined {
  return element === undefined ? undefined : elementsOf(element).find(({ name }) => names.includes(name))
}

/** Returns the element at the end of a path of names, each a child of the one before. */
export function at(element: MarkupElement | undefined, ...path: readonly string[]): MarkupElement | undefined {
  return path.reduce((found: MarkupElement | undefined, name) => childNamed(found, name), element)
}

/** Pushes nodes so that the first one is popped first. A call takes fewer arguments than an element has children. */
export function stack<T>(waiting: T[], nodes: readonly T[]): void {
  for (let index = nodes.length - 1; index >= 0; index -= 1) {
    const node = nodes[index]
    if (node !== undefined) waiting.push(node)
  }
}

/** Yields an element and all below it, in the order of the file. */
export function* descendants(element: MarkupElement): Generator<MarkupElement> {
  const waiting: MarkupElement[] = [element]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next
    stack(waiting, elementsOf(next))
  }
}

/** Returns the text of an element as the file has it, with what is struck. */
export function writtenIn(element: MarkupElement): string {
  const parts: string[] = []
  const waiting: MarkupNode[] = [element]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
    if (next.kind === 'text') parts.push(next.value)
    else stack(waiting, next.children)
  return parts.join('')
}

/** Returns the elements below, and the element itself, that have the name. */
export function allNamed(element: MarkupElement | undefined, name: string): readonly MarkupElement[] {
  return element === undefined ? [] : [...descendants(element)].filter((each) => each.name === name)
}

/** Returns the first element below with one of the names; one that is struck or hidden is none. */
export function firstNamed(element: MarkupElement | undefined, ...names: readonly string[]): MarkupElement | undefined {
  if (element !== undefined)
    for (const each of descendants(element)) if (names.includes(each.name) && each.standing === undefined) return each
  return undefined
}

const LINE_BREAKS: ReadonlySet<string> = new Set(['br', 'eol'])

/**
 * Returns the text of an element in one line, without what is struck in it; undefined where it has none.
 * @param without elements left out.
 */
export function textOf(element: MarkupElement | undefined, ...without: readonly string[]): string | undefined {
  if (element === undefined) return undefined
  const parts: string[] = []
  const waiting: MarkupNode[] = [element]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.kind === 'text') parts.push(next.value)
    else if (LINE_BREAKS.has(next.name)) parts.push(' ')
    else if (!without.includes(next.name) && (next === element || next.standing === undefined))
      stack(waiting, next.children)
  }
  return oneLine(parts.join('')) || undefined
}

/** The words of a text that single spaces separate. */
export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}

export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

export function attribute(element: MarkupElement | undefined, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = element?.attributes.get(name)?.trim()
    if (value !== undefined && value !== '') return value
  }
  return undefined
}

/** Returns the path of a node by positions alone (XPath 1.0): it needs no prefix of a namespace. */
export function xpathOf(node: MarkupNode): string {
  const steps: string[] = []
  for (let next: MarkupNode | undefined = node; next !== undefined; next = next.parent)
    steps.unshift(next.kind === 'text' ? `text()[${next.place}]` : `*[${next.place}]`)
  return `/${steps.join('/')}`
}

/** Says where and why a file is not read. The message is a whole sentence without the name of the file. */
export class UnreadableFile extends Error {
  readonly line: number | undefined
  readonly page: number | undefined

  constructor(message: string, place: { readonly line?: number; readonly page?: number } = {}) {
    super(message)
    this.line = place.line
    this.page = place.page
  }
}
