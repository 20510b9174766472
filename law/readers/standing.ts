import { foldKey } from '#core/identity/fold.ts'
import NAMES from './names/standing.json' with { type: 'json' }

/** Why a text is no law in force, as its publisher marks it, and the rule by which it is left out. */
export const STANDING_RULES = NAMES.rules
export type Standing = keyof typeof STANDING_RULES
export const STANDINGS = Object.keys(STANDING_RULES).filter((name): name is Standing => name in STANDING_RULES)

const CLASSES: Partial<Record<Standing, string>> = NAMES.classes

/** A text that is struck or hidden is none; one that is not in force is named, and its notes stay. */
export function isNoText(standing: Standing | undefined): boolean {
  return standing === 'struck' || standing === 'hidden'
}

/** What a provision without force says of itself in place of a text, in the languages of the formats. */
const SAYS_SO =
  /^[\s\p{P}\p{N}§]*(?:(?:sections?|paragraphs?|art(?:icles?)?\.?|§+)[\s\p{P}\p{N}]*)?(?:repeal|omit|reserv|transfer|renumber|redesignat|expire|revok|vacant|spent|ceased|aufgehoben|weggefallen|gegenstandslos|abrog|derogad|suprimid|soppress|supprim|vervallen|upphäv|ophæv|opphev|uchylon|zrušen)/iu

/** Whether a text is no more than the statement that there is none: `[Repealed]`, or a row of dots. */
export function saysNoForce(text: string): boolean {
  return !/\p{L}/u.test(text) || SAYS_SO.test(text)
}

const STRONG = Object.values(NAMES.gone).join('|')
const WORDS = `(?:(?:${STRONG}|${Object.values(NAMES.weak).join('|')})(?!\\p{L}))`
/** It ends there, or says by what, or when. */
const TO_END = `(?:\\s+(?:${NAMES.after})(?!\\p{L}).*|[\\s,]+\\d.*)?[\\s\\p{P}]*$`
const IN_BRACKETS = new RegExp(
  `[([（［【]\\s*(?:(?:${STRONG}|${NAMES.in_brackets})|${WORDS}(?=\\s*[)\\]）］】.,;:–—-]|\\s*\\d|\\s+(?:${NAMES.after})(?!\\p{L})))`,
  'iu',
)
const AT_THE_END = new RegExp(`(?:[—–:.]|\\s-)\\s*${WORDS}${TO_END}`, 'iu')
const LAST_WORD = new RegExp(`(?<=\\s)(?:${STRONG})\\.$`, 'iu')
const LINE = new RegExp(`^(?![-–•])[\\s\\p{P}]*${WORDS}${TO_END}`, 'iu')
const IN_THE_LINE = new RegExp(`^[([（［【]\\s*${WORDS}[^)\\]）］】]*[)\\]）］】]\\s*\\p{L}`, 'iu')
const THIS_IS = new RegExp(`^[\\s\\p{P}]*(?:${NAMES.this})\\s.*\\s${WORDS}(?:[,;.:]|${TO_END})`, 'iu')
const LINE_CHARACTERS_MAX = 120

/** Whether a heading says that its text is no law: in brackets, behind a stop, or as its last word. */
export function saysGone(heading: string): boolean {
  const plain = heading.trim()
  const last = LAST_WORD.exec(plain)?.[0] ?? ''
  return IN_BRACKETS.test(plain) || AT_THE_END.test(plain) || /^[\p{Lu}\p{Lo}]/u.test(last)
}

/** Whether a text begins with a line that says that what follows, or the document, is no law. */
export function beginsGone(text: string, isOfDocument: boolean): boolean {
  const [first = '', ...rest] = text.split('\n\n')
  const line = first.replaceAll(/\s+/g, ' ')
  if (IN_THE_LINE.test(line)) return true
  if (line.length > LINE_CHARACTERS_MAX) return false
  // Notes follow a statement.
  const isLonger = /\p{L}/u.test(rest.join('')) && !/^\[\d+\]/.test(rest[0] ?? '')
  return (isLonger && LINE.test(line)) || ((isLonger || isOfDocument) && THIS_IS.test(line))
}

/** A note by which a provision has less force than its text says. */
export const FORCE_NOTE = new RegExp(NAMES.force_note, 'iu')

/** Words of the classes of elements, by what they say. Classes are read by their words: `LegRepeal`, `text-struck`. */
const CLASS_WORDS: ReadonlyMap<string, Standing> = new Map(
  STANDINGS.flatMap((standing) => (CLASSES[standing]?.split(' ') ?? []).map((word) => [word, standing] as const)),
)
const HIDDEN_CLASS =
  /^(?:hidden|hide|invisible|is-hidden|u-hidden|d-none|display-none|no-?display|sr-only|visually-?hidden|screen-reader-(?:text|only)|off-?screen)$/i

/** What the classes of an element say by their names. */
export function standingOfClasses(classes: string): Standing | undefined {
  for (const name of classes.split(/\s+/)) {
    if (HIDDEN_CLASS.test(name)) return 'hidden'
    const words: readonly string[] = name.split(/[^\p{L}]+|(?<=\p{Ll})(?=\p{Lu})/u).map(foldKey)
    if (/\b(?:line through|cross out)\b/.test(words.join(' '))) return 'struck'
    for (const word of words) {
      const standing = CLASS_WORDS.get(word)
      if (standing !== undefined) return standing
    }
  }
  return undefined
}

/** A declaration of CSS by which no letter is shown, without its spaces. */
const HIDES = new RegExp(`^(?:${NAMES.hides.join('|')})$`)
/** A declaration that may hide a text, and of which it is not read whether it does. */
const MAY_HIDE =
  /^(?:clip-path|(?:-webkit-)?mask[\w-]*|filter|transform|translate|scale|zoom|all|animation[\w-]*):(?!none|normal|initial|inherit|auto|1(?:00%)?$|rotate\([^,]*\)$)|^background(?:-image)?:.*gradient\(.*transparent.*[45]\d%.*|^font-size:[01]?(?:\.\d+)?(?:px|pt)$|^(?:(?:max-)?(?:height|width)|line-height):0(?:[a-z%]+)?$|^(?:display|visibility|opacity|color|font(?:-size)?|text-decoration[\w-]*):.*(?:var|calc|env|attr)\(/

export type Declaration = readonly [name: string, value: string]

/** Declarations of CSS in small letters and without their spaces; `text-decoration` for the property of its line. */
export function declarationsIn(style: string): readonly Declaration[] {
  const plain = style
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\\([\da-f]{1,6})\s?/gi, (_, code: string) =>
      String.fromCodePoint(Number.parseInt(code, 16) % 0x11_00_00),
    )
  return foldKey(plain)
    .replaceAll(/\s+/g, '')
    .split(';')
    .map((each) => [each.replace(/:.*/, '').replace('-line', ''), each.slice(each.indexOf(':') + 1)])
}

/** What declarations of CSS say of a text: struck through, or not shown; `unread` where that is not understood. */
export function standingOfStyle(style: string): Standing | 'unread' | undefined {
  let found: 'unread' | undefined
  for (const [name, value] of declarationsIn(style)) {
    const stated = `${name}:${value.replace('!important', '')}`
    if (/^[\w-]*text-decoration[\w-]*:.*line-through/.test(stated)) return 'struck'
    if (HIDES.test(stated)) return 'hidden'
    if (MAY_HIDE.test(stated)) found = 'unread'
  }
  return found
}
