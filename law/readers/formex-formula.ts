import { attribute, elementsOf, textOf, type MarkupElement } from './tree.ts'
import { marked, rolesByName, type Role } from './roles.ts'

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

const ROLES = rolesByName(
  [expressionRole, 'EXPR'],
  [(each) => raised(attribute(each, 'LOC') === 'SUP' ? '^' : '_', each), 'IND'],
  [(each) => raised('^', each), 'EXPONENT'],
  [marked('(', ')'), 'DIVIDEND'],
  [marked(' / (', ')'), 'DIVISOR'],
  [{ is: 'inline' }, 'FORMULA FRACTION FUNCTION OVERLINE UNDER BAR VECTOR'],
)

/** What an element of a formula is: it is written in one line, with the brackets that its layout stands for. */
export function formulaRole(element: MarkupElement): Role | undefined {
  const { name } = element
  const sign = SIGNS.get(name.startsWith('OP.') ? (attribute(element, 'TYPE') ?? '') : name)
  return sign === undefined ? ROLES(element) : marked(sign)
}

function expressionRole(element: MarkupElement): Role {
  const brackets = BRACKETS.get(attribute(element, 'TYPE') ?? '') ?? (isGrouped(element) ? ['(', ')'] : ['', ''])
  return marked(...brackets)
}

function raised(sign: string, element: MarkupElement): Role {
  return isOneToken(element) ? marked(sign) : marked(`${sign}(`, ')')
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
