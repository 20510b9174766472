import { textOf, type MarkupElement } from './tree.ts'

/** What an element is to its document. */
export type Role =
  /**
   * A provision or a division. A `passage` becomes a record. The text of a `part` stands in the passage around it; a
   * part in no passage is one. A `division` is structure; text of its own becomes a record too.
   */
  | {
      readonly is: 'unit'
      readonly kind: string
      readonly level: 'division' | 'passage' | 'part'
      readonly anchor?: string | undefined
      /** Where no element inside gives them. */
      readonly label?: string | undefined
      readonly heading?: string | undefined
      /** What is in it names no provisions. */
      readonly quoted?: boolean
      /** It ends what headings of this rank and below have begun. */
      readonly ends?: number
    }
  /**
   * A heading from which a provision reaches to the next one of its rank or a lower one, whatever elements lie between.
   * Its text is the number of a `passage`, or the heading of a `division`.
   */
  | {
      readonly is: 'start'
      readonly kind: string
      readonly level: 'division' | 'passage'
      readonly rank: number
      readonly anchor?: string | undefined
      readonly names: 'label' | 'heading'
    }
  /** Number or heading of the provision around it. */
  | { readonly is: 'label' | 'heading' }
  /** Text around which marks stand that the format leaves out. */
  | {
      readonly is: 'marked'
      readonly before: string
      readonly after: string
      readonly label?: boolean
      /** What the mark stands for and the text lacks. */
      readonly loss?: string
    }
  | { readonly is: 'block' | 'inline' | 'break' | 'lines' | 'row' | 'cell' }
  | { readonly is: 'item'; readonly mark: string }
  /** A note that is written where it is referred to: it follows the text of its provision. */
  | { readonly is: 'note' }
  /** Law of another document: what is in it is text and no provision of this one. */
  | { readonly is: 'quote' }
  | { readonly is: 'omit'; readonly rule: string; readonly loss?: string }

export interface RoleContext {
  readonly quoted: boolean
  /** Kind of the provision around it. */
  readonly within: string | undefined
}

export type Roles = (element: MarkupElement, context: RoleContext) => Role

export type RoleLine = readonly [role: Role | ((element: MarkupElement) => Role), names: string]

/**
 * Returns a function that gives the role of an element by its name.
 * @param lines a role, or what decides it, and the names that have it, separated by spaces.
 */
export function rolesByName(...lines: readonly RoleLine[]) {
  const byName = new Map(lines.flatMap(([role, names]) => names.split(' ').map((name) => [name, role] as const)))
  const roleOf = (element: MarkupElement): Role | undefined => {
    const role = byName.get(element.name)
    return typeof role === 'function' ? role(element) : role
  }
  return Object.assign(roleOf, { names: new Set(byName.keys()) })
}

export function omitted(rule: string): Role {
  return { is: 'omit', rule }
}

export const METADATA = omitted('metadata')
export const CONTENTS = omitted('table of contents')

export function marked(before: string, after = ''): Role {
  return { is: 'marked', before, after }
}

/** Whether an element of a formula is one number or name, which needs no brackets. */
export function isOneToken(element: MarkupElement): boolean {
  return /^[\p{L}\p{N}.,]*$/u.test(textOf(element) ?? '')
}

/** A part of a formula, in brackets where it is more than one number or name. */
export function grouped(before: string, element: MarkupElement): Role {
  return isOneToken(element) ? marked(before) : marked(`${before}(`, ')')
}

export const RAISED = marked('^')
export const LOWERED = marked('_')

/** A number or a word in the line of the text that it stands before. */
export function lead(before = '', after = ''): Role {
  return { is: 'marked', before, after, label: true }
}

const MARKS = { space: marked(' '), item: { is: 'item', mark: '-' }, 'bare item': { is: 'item', mark: '' } } as const
const BY_NAME = new Map<string, Role>(
  Object.entries({ ...MARKS, metadata: METADATA, contents: CONTENTS, raised: RAISED, lowered: LOWERED, lead: lead() }),
)
const PLAIN = ['block', 'inline', 'break', 'lines', 'row', 'cell', 'label', 'heading', 'note', 'quote'] as const

/** The role that the table of a format names; any other name is the rule of an omission. */
export function roleNamed(name: string): Role {
  const is = PLAIN.find((each) => each === name)
  return is === undefined ? (BY_NAME.get(name) ?? omitted(name)) : { is }
}

/** Roles that are lines or marks of a text. */
export type TextRole = Exclude<Role, { is: 'omit' | 'unit' | 'start' | 'note' | 'label' | 'heading' }>
