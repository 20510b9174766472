import { attribute, elementsOf, textOf } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import type { Role } from './roles.ts'

const BRACKETS: ReadonlyMap<string, readonly [string, string]> = new Map([
  ['BRACKET', ['(', ')']],
  ['BRACE', ['{', '}']],
  ['SQBRACKET', ['[', ']']],
  ['BAR', ['|', '|']],
])
const SIGNS: ReadonlyMap<string, string> = new Map([
  ['OVER', ' / '],
  ['ROOT', '√'],
  ['SUM', ' ∑ '],
  ['PRODUCT', ' ∏ '],
  ['INTEGRAL', ' ∫ '],
  ['PLUS', ' + '],
  ['MINUS', ' – '],
  ['MULT', ' · '],
  ['DIV', ' / '],
  ['PLUSMINUS', ' ± '],
  ['EQ', ' = '],
  ['NE', ' ≠ '],
  ['LT', ' < '],
  ['GT', ' > '],
  ['LE', ' ≤ '],
  ['GE', ' ≥ '],
  ['AP', ' ≈ '],
])
/** A formula with more parts in one place is written without brackets that its layout stands for. */
const SIBLINGS_MAX = 200
const INLINE: ReadonlySet<string> = new Set(['FORMULA', 'FRACTION', 'FUNCTION', 'OVERLINE', 'UNDER', 'BAR', 'VECTOR'])

/** What an element of a formula is: it is written in one line, with the brackets that its layout stands for. */
export function formulaRole(element: MarkupElement): Role | undefined {
  const { name } = element
  const sign = SIGNS.get(name.startsWith('OP.') ? (attribute(element, 'TYPE') ?? '') : name)
  if (sign !== undefined) return { is: 'marked', before: sign, after: '' }
  switch (name) {
    case 'EXPR': {
      const [before, after] =
        BRACKETS.get(attribute(element, 'TYPE') ?? '') ?? (isGrouped(element) ? ['(', ')'] : ['', ''])
      return { is: 'marked', before, after }
    }
    case 'IND':
      return raised(attribute(element, 'LOC') === 'SUP' ? '^' : '_', element)
    case 'EXPONENT':
      return raised('^', element)
    case 'DIVIDEND':
      return { is: 'marked', before: '(', after: ')' }
    case 'DIVISOR':
      return { is: 'marked', before: ' / (', after: ')' }
    default:
      return INLINE.has(name) ? { is: 'inline' } : undefined
  }
}

function raised(sign: string, element: MarkupElement): Role {
  return isOneToken(element)
    ? { is: 'marked', before: sign, after: '' }
    : { is: 'marked', before: `${sign}(`, after: ')' }
}

function isOneToken(element: MarkupElement): boolean {
  return /^[\p{L}\p{N}.,]*$/u.test(textOf(element) ?? '')
}

/** Whether an expression is a side of a fraction, or below a root, and more than one number or name. */
function isGrouped(element: MarkupElement): boolean {
  const { parent } = element
  const siblings = parent === undefined || parent.children.length > SIBLINGS_MAX ? [] : elementsOf(parent)
  const [before, after] = [siblings[element.place - 2]?.name, siblings[element.place]?.name]
  return (before === 'OVER' || before === 'ROOT' || after === 'OVER') && !isOneToken(element)
}
