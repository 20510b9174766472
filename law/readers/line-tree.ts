import { omitted, type Role } from './roles.ts'
import type { ProvisionMark } from './provision-marks.ts'
import { attribute, type MarkupElement, type MarkupTree } from './tree.ts'
import { STANDING_RULES, type Standing } from './standing.ts'
import { TreeBuilder, type NewText, type OpenElement } from './tree-builder.ts'

export interface LineText extends NewText {
  /** Why a part of a text is left out. */
  readonly rule?: string
}

/** A block of a file without markup: a heading, a paragraph, a row of a table, or what is no text. */
export interface Block {
  readonly is: 'heading' | 'title' | 'paragraph' | 'row' | 'omitted'
  /** Of a heading, from 1. */
  readonly rank?: number
  /** Of a heading: what it begins. */
  readonly kind?: Exclude<ProvisionMark['kind'], 'title' | 'note'> | 'sections' | 'heading'
  /** Whether it is the number alone, which a title may follow. */
  readonly isNumber?: boolean
  readonly anchor?: string
  readonly rule?: string
  readonly line: number
  readonly texts: readonly LineText[]
  /** Of a row, which has no other texts. */
  readonly cells?: readonly (readonly LineText[])[]
}

/** Makes a tree of blocks, each an element below the root, so that all formats are read in one way. */
export function lineTree(
  blocks: readonly Block[],
  decoded: string,
  metadata?: ReadonlyMap<string, string>,
  standing?: Standing,
): MarkupTree {
  const builder = new TreeBuilder()
  const root = builder.element(undefined, { name: 'lines', line: 1 })
  root.standing = standing
  for (const block of blocks) {
    const { is: name, line, texts, cells = [] } = block
    const element = builder.element(root, { name, line, attributes: new Map(attributesOf(block)) })
    for (const text of texts) addText(builder, element, text)
    if (name === 'heading' && texts.length > 0 && texts.every(({ rule }) => rule === STANDING_RULES.struck))
      element.standing = 'struck'
    for (const cell of cells) {
      const parent = builder.element(element, { name: 'cell', line: cell[0]?.line ?? line })
      for (const text of cell) if (text.value.trim() !== '') addText(builder, parent, text)
    }
  }
  return { root, texts: builder.texts, decoded, ...(metadata === undefined ? {} : { metadata }) }
}

function addText(builder: TreeBuilder, parent: OpenElement, { rule, ...text }: LineText): void {
  const { line } = text
  const gone = rule === undefined ? undefined : { name: 'omitted', line, attributes: new Map([['rule', rule]]) }
  builder.text(gone === undefined ? parent : builder.element(parent, gone), text)
}

function attributesOf({ rank, kind, anchor, rule, isNumber }: Block): readonly (readonly [string, string])[] {
  const named = { rank: rank?.toString(), kind, anchor, rule, number: isNumber === true ? 'yes' : undefined }
  return Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

export function lineRole(element: MarkupElement, lines: boolean): Role {
  switch (element.name) {
    case 'omitted':
      return omitted(attribute(element, 'rule') ?? 'no text')
    case 'heading': {
      const kind = attribute(element, 'kind') ?? 'heading'
      const level = ['heading', 'division', 'annex', 'schedule'].includes(kind) ? 'division' : 'passage'
      const [rank, anchor] = [Number(attribute(element, 'rank') ?? 1), attribute(element, 'anchor')]
      return { is: 'start', kind, level, rank, anchor, names: element.attributes.has('number') ? 'label' : 'heading' }
    }
    case 'title':
      return { is: 'heading' }
    case 'row':
    case 'cell':
      return { is: element.name }
    default:
      return { is: lines ? 'lines' : 'block' }
  }
}
