import type { Draw } from '../draw.ts'
import type { Sources } from '../sources.ts'

/** What must hold of the version if nothing refuses the alteration. `fragment` is a part of one passage's text. */
export type Expectation =
  /** The alteration is refused, whatever it lists. */
  | { readonly kind: 'refused' }
  /** A passage or the report of the import has the fragment. */
  | { readonly kind: 'kept'; readonly fragment: string }
  /** A passage's own text, which replies show, or the report of the import has the fragment. */
  | { readonly kind: 'served'; readonly fragment: string }
  /** The text is not in force on the day or later. */
  | { readonly kind: 'ends'; readonly fragment: string; readonly day: string }
  /** The text has the same end as before. */
  | { readonly kind: 'stays'; readonly fragment: string }
  /** The text is in force from this day on. */
  | { readonly kind: 'starts'; readonly fragment: string; readonly day: string }
  /** The label of the passage contains this, by words and numbers. */
  | { readonly kind: 'cited'; readonly fragment: string; readonly label: string }
  /** Every passage with one of the items has the lead-in, too. */
  | { readonly kind: 'led'; readonly items: readonly string[]; readonly leadIn: string }
  /** Both versions serve the same. */
  | { readonly kind: 'unchanged' }

/** What an editor hands in after the alteration. */
export interface Altered {
  readonly sources: Sources
  /** One line for the report of a case. */
  readonly what: string
  readonly expect?: readonly Expectation[]
}

/** One kind of alteration, which draws where and how it alters. */
export interface Alteration {
  readonly name: string
  /** The kind of fault that the alteration tries to hide. */
  readonly row: string
  /** @returns undefined where the sources have nothing to alter in this way. */
  alter(sources: Sources, draw: Draw): Altered | undefined
}

/** The sources with other text in one file; an undefined text removes it. */
export function withFile(sources: Sources, name: string, text: string | undefined): Sources {
  const files = new Map(sources.files)
  if (text === undefined) files.delete(name)
  else files.set(name, text)
  return { ...sources, files }
}

/** Ways to write the same key that a reader does not tell apart. */
const SPELLINGS: readonly (readonly [name: string, write: (key: string) => string])[] = [
  ['in capitals', (key) => key.toUpperCase()],
  ['in small letters', (key) => key.toLowerCase()],
  ['with U+2011', (key) => key.replaceAll('-', '\u2011')],
  ['with an en dash', (key) => key.replaceAll('-', '\u2013')],
  ['with a soft hyphen', (key) => inTheMiddle(key, '\u00ad')],
  ['with U+200B', (key) => inTheMiddle(key, '\u200b')],
  ['with a word joiner', (key) => inTheMiddle(key, '\u2060')],
  ['with a variation selector', (key) => inTheMiddle(key, '\ufe0f')],
  ['with U+00A0', (key) => key.replaceAll(' ', '\u00a0')],
  ['with U+2009', (key) => key.replaceAll(' ', '\u2009')],
  ['with two spaces', (key) => key.replaceAll(' ', '  ')],
  [
    'with full-width letters',
    (key) => key.replaceAll(/[!-~]/g, (sign) => String.fromCodePoint((sign.codePointAt(0) ?? 0) + 0xfee0)),
  ],
  ['without spaces beside signs', (key) => key.replaceAll(/(?<=[^\p{L}\p{N}]) | (?=[^\p{L}\p{N}])/gu, '')],
]

function inTheMiddle(key: string, sign: string): string {
  const at = Math.ceil(key.length / 2)
  return `${key.slice(0, at)}${sign}${key.slice(at)}`
}

/** A key in another spelling that is not the same text. */
export function spelledOtherwise(key: string, draw: Draw): { readonly key: string; readonly how: string } | undefined {
  const others = SPELLINGS.map(([how, write]) => ({ how, key: write(key) })).filter((one) => one.key !== key)
  return others.length === 0 ? undefined : draw.pick(others)
}

/** A text that says the opposite, or something else. */
export function otherText(text: string, draw: Draw): string {
  const contrary = text.replace(/\b(must|shall|may|muss|müssen|doit|is|ist|est)\b/, '$1 not')
  return contrary === text || draw.chance(0.3) ? `${text.trimEnd()} This does not apply ${draw.marker()}.` : contrary
}
