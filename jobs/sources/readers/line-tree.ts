import { READER_BOUNDS } from './bounds.ts'
import { UnreadableFile } from './tree.ts'
import type { MarkupElement, MarkupText, MarkupTree } from './tree.ts'

/** A stretch of a file without markup: a heading, a paragraph, or what is no text. */
export interface Stretch {
  readonly is: 'heading' | 'paragraph' | 'omitted'
  /** Of a heading, from 1. */
  readonly rank?: number
  /** Of a heading: what it begins. */
  readonly kind?: 'section' | 'sections' | 'heading'
  readonly anchor?: string
  /** Why it is omitted. */
  readonly rule?: string
  readonly line: number
  readonly texts: readonly Pick<MarkupText, 'value' | 'line' | 'source' | 'page' | 'box'>[]
}

/** Makes a tree of stretches, each an element below the root, so that all formats are read in one way. */
export function lineTree(
  stretches: readonly Stretch[],
  decoded: string,
  metadata?: ReadonlyMap<string, string>,
): MarkupTree {
  const texts: MarkupText[] = []
  const root: MarkupElement = {
    kind: 'element',
    name: 'lines',
    namespace: '',
    parent: undefined,
    place: 1,
    line: 1,
    children: [],
    attributes: new Map(),
  }
  if (stretches.length > READER_BOUNDS.nodesMax)
    throw new UnreadableFile(`more than ${READER_BOUNDS.nodesMax} paragraphs`)
  let start = 0
  for (const [index, stretch] of stretches.entries()) {
    const element: MarkupElement = {
      kind: 'element',
      name: stretch.is,
      namespace: '',
      parent: root,
      place: index + 1,
      line: stretch.line,
      children: [],
      attributes: new Map(attributesOf(stretch)),
    }
    for (const [position, text] of stretch.texts.entries()) {
      const node: MarkupText = { kind: 'text', parent: element, place: position + 1, start, ...text }
      start += text.value.length
      element.children.push(node)
      texts.push(node)
    }
    root.children.push(element)
  }
  return { root, texts, decoded, ...(metadata === undefined ? {} : { metadata }) }
}

function attributesOf({ rank, kind, anchor, rule }: Stretch): readonly (readonly [string, string])[] {
  const named = { rank: rank?.toString(), kind, anchor, rule }
  return Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}
