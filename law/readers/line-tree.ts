import { omitted, type Role } from './roles.ts'
import { attribute, type MarkupElement, type MarkupTree } from './tree.ts'
import { TreeBuilder, type NewText } from './tree-builder.ts'

export type LineText = NewText

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
  const builder = new TreeBuilder()
  const root = builder.element(undefined, { name: 'lines', line: 1 })
  for (const block of blocks) {
    const { is: name, line, texts, cells = [] } = block
    const element = builder.element(root, { name, line, attributes: new Map(attributesOf(block)) })
    for (const text of texts) builder.text(element, text)
    for (const cell of cells) {
      const parent = builder.element(element, { name: 'cell', line: cell.line })
      if (cell.value.trim() !== '') builder.text(parent, cell)
    }
  }
  return { root, texts: builder.texts, decoded, ...(metadata === undefined ? {} : { metadata }) }
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
