import { READER_BOUNDS } from './bounds.ts'
import { omitted } from './roles.ts'
import type { Role } from './roles.ts'
import { attribute, UnreadableFile } from './tree.ts'
import type { MarkupElement, MarkupText, MarkupTree } from './tree.ts'

export type LineText = Pick<MarkupText, 'value' | 'line' | 'source' | 'page' | 'box'>

/** A block of a file without markup: a heading, a paragraph, a row of a table, or what is no text. */
export interface Block {
  readonly is: 'heading' | 'paragraph' | 'row' | 'omitted'
  /** Of a heading, from 1. */
  readonly rank?: number
  /** Of a heading: what it begins. */
  readonly kind?: 'section' | 'sections' | 'heading'
  readonly anchor?: string
  /** Why it is omitted. */
  readonly rule?: string
  readonly line: number
  readonly texts: readonly LineText[]
  /** Of a row, which has no other texts. */
  readonly cells?: readonly LineText[]
}

/** Makes a tree of blocks, each an element below the root, so that all formats are read in one way. */
export function lineTree(
  blocks: readonly Block[],
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
  if (blocks.length > READER_BOUNDS.nodesMax) throw new UnreadableFile(`more than ${READER_BOUNDS.nodesMax} paragraphs`)
  let start = 0
  const addTexts = (parent: MarkupElement, own: readonly LineText[]): void => {
    for (const [position, text] of own.entries()) {
      const node: MarkupText = { kind: 'text', parent, place: position + 1, start, ...text }
      start += text.value.length
      parent.children.push(node)
      texts.push(node)
    }
  }
  for (const [index, block] of blocks.entries()) {
    const element = elementOf(block.is, root, index, block.line, new Map(attributesOf(block)))
    addTexts(element, block.texts)
    for (const [place, cell] of (block.cells ?? []).entries())
      addTexts(elementOf('cell', element, place, cell.line), cell.value.trim() === '' ? [] : [cell])
  }
  return { root, texts, decoded, ...(metadata === undefined ? {} : { metadata }) }
}

/** Makes an element below another one, whose children it joins. */
function elementOf(
  name: string,
  parent: MarkupElement,
  index: number,
  line: number,
  attributes: ReadonlyMap<string, string> = new Map(),
): MarkupElement {
  const element: MarkupElement = {
    kind: 'element',
    name,
    namespace: '',
    parent,
    place: index + 1,
    line,
    children: [],
    attributes,
  }
  parent.children.push(element)
  return element
}

function attributesOf({ rank, kind, anchor, rule }: Block): readonly (readonly [string, string])[] {
  const named = { rank: rank?.toString(), kind, anchor, rule }
  return Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

/** What a block of a tree of lines is. */
export function lineRole(element: MarkupElement, lines: boolean): Role {
  switch (element.name) {
    case 'omitted':
      return omitted(attribute(element, 'rule') ?? 'no text')
    case 'heading': {
      const kind = attribute(element, 'kind') ?? 'heading'
      return {
        is: 'start',
        kind,
        level: kind === 'heading' ? 'division' : 'passage',
        rank: Number(attribute(element, 'rank') ?? 1),
        anchor: attribute(element, 'anchor'),
        names: 'heading',
      }
    }
    case 'row':
    case 'cell':
      return { is: element.name }
    default:
      return { is: lines ? 'lines' : 'block' }
  }
}
