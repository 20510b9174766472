import { foldKey } from '#core/identity/fold.ts'
import { READER_BOUNDS } from './bounds.ts'
import { MATHML } from './drawn.ts'
import type { ReaderLoss } from './document.ts'
import { dayIn, endIn, firstAfter, type Vocabulary } from './format.ts'
import { roleNamed, rolesByName, type RoleLine } from './roles.ts'
import { isNoText, saysGone, STANDINGS, standingOfClasses, standingOfStyle, type Standing } from './standing.ts'
import STANDING from './names/standing.json' with { type: 'json' }
import { attribute as valueOf, writtenIn, wordSet, type MarkupElement } from './tree.ts'

/** The table of a format (`names/`): lists of names, separated by spaces. */
interface FormatTable {
  /** Names without a role. */
  readonly elements: string
  /** Absent: of an attribute, only what strikes, hides or speaks of standing counts. */
  readonly attributes?: string
  /** By role, or by the rule of an omission. */
  readonly roles?: Readonly<Record<string, string>>
  readonly apart?: string
  readonly struck?: string
  /** Elements that state whether the document is in force, or their attributes: `name@attribute`. */
  readonly status?: string
  /** By attribute: the values by what they say. */
  readonly values?: Readonly<Record<string, Partial<Record<Standing | 'in force', string>>>>
}

const NAMESPACES = wordSet(STANDING.namespaces)
/** Attributes of every format of markup. */
const COMMON = wordSet('lang space base id class style dir schemaLocation noNamespaceSchemaLocation')

/**
 * Makes roles and vocabulary of the table of a format. @param named further lists of names that its reader knows.
 * @param own roles that more than a name decides.
 */
export function formatOf(
  { elements, attributes, roles = {}, apart = '', struck = '', status = '', values = {} }: FormatTable,
  named: readonly Iterable<string>[],
  ...own: readonly RoleLine[]
) {
  const byRole = rolesByName(...Object.entries(roles).map(([role, names]) => [roleNamed(role), names] as const), ...own)
  const known = [byRole.names, elements.split(' '), struck.split(' '), apart.split(' '), ...named]
  const vocabulary: Vocabulary = {
    elements: new Set(known.flatMap((names) => [...names])),
    attributes: attributes === undefined ? undefined : new Set([...COMMON, ...attributes.split(' ')]),
    apart: wordSet(apart),
    out: byName(STANDINGS, { struck }),
    status: new Map(status.split(' ').map((each) => [each.replace(/@.*/, ''), each.split('@').slice(1)])),
    values: new Map(Object.entries(values).map(([name, said]) => [name, byName([...STANDINGS, 'in force'], said)])),
  }
  return { roles: byRole, vocabulary }
}

function byName<T extends string>(said: readonly T[], table: Partial<Record<T, string>>): ReadonlyMap<string, T> {
  return new Map(said.flatMap((each) => (table[each]?.split(' ') ?? []).map((name) => [name, each] as const)))
}

/**
 * A vocabulary that reads what the days of elements say at the day of the text. In a text without a day it lacks them.
 * @param from, to names of the attributes with the first day in force and the first one out of force.
 */
export function withWindow(vocabulary: Vocabulary, day: string | undefined, from: string, to: string): Vocabulary {
  if (day === undefined) {
    const { attributes } = vocabulary
    return {
      ...vocabulary,
      attributes: new Set([...(attributes ?? [])].filter((each) => each !== from && each !== to)),
    }
  }
  const standingOf = ({ attributes, parent, line }: MarkupElement): Standing | undefined => {
    if (parent === undefined) return undefined
    const end = endIn(attributes.get(to), line)
    if (end !== undefined && end <= day) return 'ended'
    return (dayIn(attributes.get(from)) ?? day) > day ? 'prospective' : undefined
  }
  const changeOf = ({ attributes }: MarkupElement) =>
    firstAfter(day, [dayIn(attributes.get(from)), dayIn(attributes.get(to))])
  return { ...vocabulary, standingOf, changeOf }
}

/** Notes at each element why its text is no law in force, and returns what was not understood. */
export function markStanding(root: MarkupElement, vocabulary: Vocabulary): readonly ReaderLoss[] {
  const losses = new Map<string, { count: number; line: number }>()
  const lose: Lose = (name, line) => {
    const found = losses.get(name)
    if (found !== undefined) found.count += 1
    else if (losses.size < READER_BOUNDS.warningsMax) losses.set(name, { count: 1, line })
  }
  const home = root.namespace
  /** Returns whether an element holds text. One that holds struck or hidden text alone is so itself. */
  function mark(element: MarkupElement, isApart: boolean): boolean {
    element.standing = isApart ? struckOf(element, vocabulary) : statedStanding(element, vocabulary, lose, home)
    for (const stated of vocabulary.status.get(element.name) ?? []) {
      const name = valueOf(element, 'name', 'property', 'type') ?? ''
      const value = stated === 'text' ? writtenIn(element) : valueOf(element, stated)
      const said = STATUS_NAME.test(name) && value !== undefined && GONE_STATUS.exec(`${name} ${value}`)?.[0]
      if (said) lose(`status of the act: ${said}`, element.line)
    }
    const apart = isApart || vocabulary.apart.has(element.name)
    let [isShown, gone]: [boolean, Standing | undefined] = [false, undefined]
    for (const child of element.children) {
      if (child.kind === 'text') isShown ||= /\S/.test(child.value)
      else if (mark(child, apart))
        if (isNoText(child.standing)) gone ??= child.standing
        else isShown = true
    }
    if (!isShown) element.standing ??= gone
    return isShown || gone !== undefined
  }
  mark(root, false)
  return Array.from(losses, ([name, found]) => ({ name, ...found }))
}

const [GONE_STATUS, STATUS_NAME] = [new RegExp(STANDING.gone_status, 'i'), new RegExp(STANDING.status_names, 'i')]

/** Notes what is not understood, and the line where it stands. */
type Lose = (name: string, line: number) => void

/** A value of an attribute that says that something is out of force. */
const SAYS_STANDING =
  /^#?(?:repeal(?:ed)?|delet(?:ed|ion)|removed|struck|prospective|suspended|revoked|annulled|expired|dead|superseded)$|(?:^|[/#:-])not[ -]?in[ -]?force$/i
/** Words of names that may say it: of classes and of kinds. */
const MAY_SAY =
  /^(?:old|previous|former|historic(?:al)?|superseded|expired|ended|obsolete|future|pending|annulled|quashed|void|omit(?:ted)?|spent|lapsed|inactive|draft|proposed|strike|strikethrough|deleted|repealed|revoked|force)$/
const NAMES_A_KIND = wordSet(STANDING.kinds)

/** Whether a value, or the last step of an address, says that something is out of force. */
export const saysStanding = (value: string): boolean => SAYS_STANDING.test(value.replace(/^.*\//, ''))

function maySay(attribute: string, value: string): boolean {
  if (SAYS_STANDING.test(value) || (attribute === 'title' && saysGone(`: ${value}`))) return true
  // The style of letters may be old.
  const kind = value.replaceAll(/\b[\w-]+-style\b/g, '')
  const words = NAMES_A_KIND.has(attribute) ? kind.split(/[^\p{L}]+|(?<=\p{Ll})(?=\p{Lu})/u) : []
  return words.some((word) => MAY_SAY.test(foldKey(word)))
}

/** @param home the namespace of the document: names of another one are not its own. */
function statedStanding(element: MarkupElement, vocabulary: Vocabulary, lose: Lose, home: string) {
  const { elements, attributes, out, values, apart } = vocabulary
  const { name, line, namespace } = element
  const isKnownName = elements.has(name) && (namespace === home || NAMESPACES.has(namespace) || apart.has(name))
  if (!isKnownName && namespace !== MATHML) lose(`element ${name}`, line)
  let found: Standing | undefined = out.get(name) ?? vocabulary.standingOf?.(element)
  for (const [attribute, written] of element.attributes) {
    const value = written.trim()
    const table = values.get(attribute)
    const stated = table === undefined ? presented(attribute, value) : table.get(value)
    if (stated === 'unread') {
      if (element.children.length > 0) lose(`${attribute}="${value.slice(0, 40)}"`, line)
      continue
    }
    if (stated === undefined) {
      const isKnown = table === undefined && isNamed(attribute, attributes)
      if (!isKnown && table === undefined) lose(`attribute ${attribute}`, line)
      else if (!isKnown || (maySay(attribute, value) && !(isLink(element) && /\b(?:old|prev)/i.test(value))))
        lose(`${attribute}="${value.slice(0, 40)}"`, line)
    } else if (stated !== 'in force') found ??= stated
  }
  return found
}

/** Whether it holds links alone: they lead to the previous page, or to an old one. */
function isLink({ name, children }: MarkupElement): boolean {
  return name === 'a' || children.every((each) => (each.kind === 'text' ? each.value.trim() === '' : isLink(each)))
}

/** Of data about the document, what is struck or hidden alone is none. */
function struckOf({ name, attributes }: MarkupElement, { out, values }: Vocabulary): Standing | undefined {
  const said = [...attributes].map(([each, value]) => values.get(each)?.get(value) ?? presented(each, value))
  return out.get(name) ?? said.find((each) => each === 'struck' || each === 'hidden')
}

const NAMES_STANDING = new RegExp(STANDING.attribute_names, 'i')

/** Attributes that begin with `data-` and `aria-` have any name in HTML, but none that speaks of standing. */
function isNamed(attribute: string, attributes: ReadonlySet<string> | undefined): boolean {
  if (attributes?.has(attribute) === true) return true
  const isOpen = attributes?.has('data-*') !== false && /^(?:data|aria|xmlns)[-:]|^(?:on|v|ng)[a-z-]/.test(attribute)
  return (attributes === undefined || isOpen) && !NAMES_STANDING.test(attribute)
}

/** What the attributes say that hide or strike text in every format. */
function presented(attribute: string, value: string): Standing | 'unread' | undefined {
  switch (attribute) {
    case 'style':
      return standingOfStyle(value)
    case 'class':
    case 'Class':
      return standingOfClasses(value)
    case 'hidden':
      return value === 'false' ? undefined : 'hidden'
    case 'aria-hidden':
      return value === 'true' ? 'hidden' : /^(?:false|undefined)?$/.test(value) ? undefined : 'unread'
    case 'popover':
      return 'hidden'
    default:
      return undefined
  }
}
