import { fold } from '#core/index/analysis/words.ts'
import { familyOf } from '#law/citations/citation.ts'
import { tokenise } from '#law/citations/lexer/tokens.ts'
import type { Token, TokenStream } from '#law/citations/lexer/tokens.ts'
import { readRoman } from '#law/citations/provisions/numbers.ts'
import { KNOWN_ACTS } from './known-acts.ts'
import type { KnownAct } from './known-acts.ts'

/**
 * Longer names are ignored, because no act has one. The bound also limits the comparison at each position of a query.
 */
const ALIAS_TOKENS_MAX = 32
/** Signs that are optional between two words of a name: `C. civ.`, `DS-GVO`, `Fees Rules (FEES)`. */
const LOOSE_SIGNS = new Set(['.', '-', '–', "'", '(', ')', ',', '&'])
const LOOSE_SIGNS_TOGETHER_MAX = 2
/** Numerals of acts in several volumes; `I` is a word as well. */
const ROMAN_FIGURES = [undefined, undefined, 'II', 'III', 'IV', 'V', 'VI', 'VII', 'VIII', 'IX']

/** Whether a name counts without a provision beside it: in any letter case, only as written, or never. */
type Standalone = 'any' | 'cased' | 'never'

interface Entry {
  readonly act: string
  readonly written: string
  readonly standalone: Standalone
  readonly casedAlways: boolean
  /** Ends with a full stop that belongs to it (`C. civ.`). */
  readonly pointed: boolean
}

export interface AliasMatch {
  readonly act: string
  /** Position after the name's last token. */
  readonly end: number
  /** Counts also without a provision beside it. */
  readonly standalone: boolean
  /** A short code of a rulebook. Such a code is often an ordinary word as well (`AML`, `funds`). */
  readonly code: boolean
  /** The capitals match those of the alias. */
  readonly cased: boolean
}

/** Names of acts: those of the corpus, and built-in names of well-known acts. Built once per version. */
export interface ActAliases {
  /** The longest name that starts at this token. */
  readonly find: (tokens: TokenStream, at: number) => AliasMatch | undefined
  /** The act whose sections are numbered under this part of the Code of Federal Regulations (`1026.43`: part 1026). */
  readonly actOfPart: (part: string) => string | undefined
}

/** A name and its folded words; none if it is too long for one. */
interface Name {
  readonly written: string
  readonly words: readonly string[]
  readonly entry: Entry
}

interface Node {
  readonly next: Map<string, Node>
  entry: Entry | undefined
}

/**
 * `entries` may be in any order. If an alias occurs twice, the lowest act id wins. Names of the corpus override
 * built-in names.
 */
export function createActAliases(entries: Iterable<readonly [alias: string, act: string]>): ActAliases {
  const root: Node = { next: new Map(), entry: undefined }
  const parts = new Map<string, string>()
  const sorted = [...entries].toSorted(([a, actA], [b, actB]) => compare(actB, actA) || compare(b, a))
  const own = sorted.map(([alias, act]) => nameOf(alias, corpusEntry(alias, act)))
  // Another form of a name never replaces a name that is written so.
  for (const name of [...BUILT_IN_FORMS, ...own.flatMap(formsOf), ...BUILT_IN, ...own]) insert(root, name)
  for (const [, act] of sorted) {
    const part = /^cfr:\d+\/(\d{3,})$/.exec(act)?.[1]
    if (part !== undefined) parts.set(part, act)
  }
  return {
    find: (tokens, at) => find(root, tokens, at),
    actOfPart: (part) => parts.get(part) ?? (/^10\d\d$/.test(part) ? `cfr:12/${part}` : undefined),
  }
}

/**
 * Returns every name by which a query finds an act, in the words that are compared: its id, its aliases and their other
 * forms, and the built-in names. An act that has a name of another one would answer for it.
 */
export function namesOfAct(act: { readonly id: string; readonly aliases: readonly string[] }): readonly string[] {
  const { id, aliases } = act
  const own = [id, id.slice(id.indexOf(':') + 1), ...aliases].map((alias) => nameOf(alias, corpusEntry(alias, id)))
  const names = [...own, ...own.flatMap(formsOf), ...BUILT_IN.filter(({ entry }) => entry.act === id)]
  return [...new Set(names.map(({ words }) => words.join(' ')))].filter((name) => name !== '')
}

function builtInEntry({ act, cased, beside }: KnownAct, name: string): Entry {
  const casedAlways = cased === true
  const ofForm = casedAlways || /^\p{L}+\d?$/u.test(name) ? standaloneOfWord(name) : 'any'
  const standalone = beside === true ? 'never' : ofForm
  return { act, written: lettersOf(tokenise(name)), standalone, casedAlways, pointed: name.endsWith('.') }
}

function corpusEntry(alias: string, act: string): Entry {
  return {
    act,
    written: lettersOf(tokenise(alias)),
    standalone: standaloneOfAlias(alias, act),
    casedAlways: false,
    pointed: alias.endsWith('.'),
  }
}

/** Built-in names are the same in every table, so their words are read once. */
const BUILT_IN = KNOWN_ACTS.flatMap((known) => known.names.map((name) => nameOf(name, builtInEntry(known, name))))
const BUILT_IN_FORMS = BUILT_IN.flatMap(formsOf)

function nameOf(written: string, entry: Entry): Name {
  const words = tokenise(written).filter((token) => !LOOSE_SIGNS.has(token.text))
  const fits = words.length <= ALIAS_TOKENS_MAX && words[0]?.kind !== 'sign'
  return { written, words: fits ? words.map(({ text }) => text) : [], entry }
}

function formsOf({ written, entry }: Name): Name[] {
  return otherForms(written, entry).map((form) => nameOf(form, { ...entry, written: lettersOf(tokenise(form)) }))
}

function insert(root: Node, { words, entry }: Name): void {
  if (words.length === 0) return
  let node = root
  for (const word of words) {
    const next = node.next.get(word) ?? { next: new Map(), entry: undefined }
    node.next.set(word, next)
    node = next
  }
  const before = node.entry
  node.entry =
    before === undefined ? entry : { ...entry, standalone: before.standalone, casedAlways: before.casedAlways }
}

function find(root: Node, tokens: TokenStream, at: number): AliasMatch | undefined {
  let node: Node | undefined = root
  let best: AliasMatch | undefined
  let index = at
  let loose = 0
  while (index < tokens.length && index - at < ALIAS_TOKENS_MAX * 2) {
    const token = tokens.get(index)
    if (token === undefined) break
    const next: Node | undefined = node.next.get(token.text)
    if (next === undefined) {
      if (index === at || loose >= LOOSE_SIGNS_TOGETHER_MAX || !LOOSE_SIGNS.has(token.text)) break
      loose += 1
    } else {
      node = next
      loose = 0
      if (next.entry !== undefined) best = matchOf(next.entry, tokens, at, index + 1) ?? best
    }
    index += 1
  }
  return best
}

function matchOf(entry: Entry, tokens: TokenStream, at: number, end: number): AliasMatch | undefined {
  const cased = lettersOf(tokens.slice(at, end)) === entry.written
  if (entry.casedAlways && !cased) return undefined
  const code = familyOf(entry.act) === 'rulebook' && isWord(entry.written)
  if (!code && isOtherVolume(tokens, end, entry)) return undefined
  const last = entry.pointed && tokens.reads(end, '.') && tokens.get(end + 1) !== undefined ? end + 1 : end
  return {
    act: entry.act,
    end: last,
    standalone: entry.standalone === 'any' || (entry.standalone === 'cased' && cased),
    code,
    cased,
  }
}

/** `CRR2` and `CRR II` are other acts than `CRR`. */
function isOtherVolume(tokens: TokenStream, end: number, entry: Entry): boolean {
  const next = tokens.get(end)
  if (next === undefined || !tokens.isWord(end - 1) || !isWord(entry.written)) return false
  if (next.glued) return next.kind === 'number'
  return familyOf(entry.act) === 'eu' && /^(?:II|III|IV|V|VI)$/.test(next.raw)
}

/** Forms of a name that mean the same act: the genitive of a German name, and a number in other figures. */
function otherForms(name: string, { casedAlways }: Entry): readonly string[] {
  if (casedAlways) return []
  const figures = otherFigures(name)
  const forms = figures === undefined ? [] : [figures]
  if (/^Gesetz\s/.test(name)) forms.push(name.replace('Gesetz', 'Gesetzes'))
  if (/^\S*\p{Ll}(?:gesetz|gesetzbuch|-Gesetz|vertrag)$/u.test(name)) forms.push(`${name}es`, `${name}s`)
  return forms
}

/** A name with its number in the other figures: `PSD2` is `PSD II`, `MiFID II` is `MiFID 2`. */
function otherFigures(name: string): string | undefined {
  const [, stem = '', number = ''] = /^(.*\p{L})[ -]?(\d|[IVX]{2,4})$/u.exec(name) ?? []
  if (stem === '') return undefined
  const other = /^\d$/.test(number) ? ROMAN_FIGURES[Number(number)] : readRoman(fold(number))
  return other === undefined ? undefined : `${stem} ${other}`
}

function standaloneOfAlias(alias: string, act: string): Standalone {
  if (!isWord(alias)) return /^\p{Lu}/u.test(alias) ? 'cased' : 'any'
  return familyOf(act) === 'rulebook' || alias.length < 3 ? 'never' : 'cased'
}

/** Single words and abbreviations are ambiguous in lower case, except well-known ones. */
function standaloneOfWord(name: string): Standalone {
  return /^(?:gdpr|dsgvo|rgpd|mifir|aifmd|sfdr|psd2|nis2|tfeu|pecr|[a-z]{10,})$/i.test(name) ? 'any' : 'cased'
}

/** One word, hyphens included: `AML`, `COB-F`. */
function isWord(alias: string): boolean {
  return !/\s/.test(alias.trim())
}

function lettersOf(tokens: readonly Token[]): string {
  let letters = ''
  for (const token of tokens) {
    if (LOOSE_SIGNS.has(token.text)) continue
    letters += `${letters === '' || token.glued ? '' : ' '}${token.raw}`
  }
  return letters
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
