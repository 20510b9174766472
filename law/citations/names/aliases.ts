import { fold } from '#core/index/analysis/words.ts'
import { memoized } from '#core/platform/memoized.ts'
import { actBeside, familyOf, type ActMention } from '#law/citations/citation.ts'
import { SOCIAL_VOLUMES } from '#law/citations/grammars/de.ts'
import { codeOf, formOf, LANGUAGES, stemOf } from '#law/citations/lexer/languages.ts'
import { afterRulebookWord } from '#law/citations/grammars/rulebook.ts'
import { lex, tokenise, type Token, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readRoman } from '#law/citations/provisions/roman.ts'
import { asItStands } from './going-on.ts'
import { matchNamed } from '#law/citations/lexer/patterns.ts'
import { readPlace } from './places.ts'
import KNOWN from './known-acts.json' with { type: 'json' }

/**
 * Longer names are ignored, because no act has one. The bound also limits the comparison at each position of a query.
 */
const ALIAS_TOKENS_MAX = 32
/** Words of questions whose stems are kept. */
const STEMS_MAX = 10_000
/** Signs that are optional between two words of a name: `C. civ.`, `DS-GVO`, `Fees Rules (FEES)`. */
const LOOSE_SIGNS = new Set(['.', '-', '–', "'", '(', ')', ',', '&'])
const LOOSE_SIGNS_TOGETHER_MAX = 2
/** Numerals of acts in several volumes; `I` is a word as well. */
const ROMAN_FIGURES = [undefined, undefined, 'II', 'III', 'IV', 'V', 'VI', 'VII', 'VIII', 'IX']

/** Whether a name counts without a provision beside it: in any letter case, only as written, or never. */
type Standalone = 'any' | 'cased' | 'never'

/** Names of acts: those of the corpus, and built-in names of well-known acts. Built once per version. */
export type ActAliases = ReturnType<typeof createActAliases>

/** What a version says of the names of its acts. */
export interface VersionWords {
  /** Codes of its jurisdictions: a place of another one beside a name makes it the name of another act. */
  readonly jurisdictions?: readonly string[]
  /** BCP 47; inflected names are found in those that have cases. */
  readonly languages?: readonly string[]
  /** Words for provisions that its labels teach, in languages without a table. */
  readonly designators?: readonly string[]
}

interface Name {
  readonly act: string
  readonly written: string
  /** As it is compared; none if it is too long for a name. */
  readonly words: readonly string[]
  /** Its letters and spaces with their capitals. */
  readonly letters: string
  readonly standalone: Standalone
  readonly casedAlways: boolean
}

interface Node {
  readonly next: Map<string, Node>
  name: Name | undefined
}

/**
 * `entries` may be in any order. If an alias occurs twice, the lowest act id wins. Names of the corpus override
 * built-in names.
 */
export function createActAliases(entries: Iterable<readonly [alias: string, act: string]>, version: VersionWords = {}) {
  const root: Node = { next: new Map(), name: undefined }
  const parts = new Map<string, string>()
  const years = new Map<string, string[]>()
  const sorted = [...entries].toSorted(([a, actA], [b, actB]) => compare(actB, actA) || compare(b, a))
  const own = sorted.map(([alias, act]) => corpusName(alias, act))
  // Another form of a name never replaces a name that is written so.
  for (const name of [...withoutYears(own), ...BUILT_IN_FORMS, ...own.flatMap(formsOf), ...BUILT_IN, ...own])
    insert(root, name)
  for (const [alias, act] of sorted) {
    const named = `${alias} ${act}`.match(/(?<!\d)(?:1[89]|20)\d\d(?!\d)/g)
    if (named !== null) years.set(act, [...(years.get(act) ?? []), ...named])
    const part = /^cfr:\d+\/(\d{3,})$/.exec(act)?.[1]
    if (part !== undefined) parts.set(part, act)
  }
  const languages = new Set((version.languages ?? []).map(codeOf))
  const designators = new Set(version.designators)
  const isForeign = [...languages].some((code) => LANGUAGES.has(code))
  const inflected: Node = { next: new Map(), name: undefined }
  /** Last words of names in scripts without capitals. */
  const uncased = own.filter(({ written }) => designators.size > 0 && /\p{Lo}\p{M}*$/u.test(written))
  const nouns = new Set(uncased.flatMap(({ words }) => words.slice(1).slice(-1)))
  const stem = memoized((word) => {
    const stemmed = stemOf(word, languages)
    return formOf(stemmed, nouns) ?? stemmed
  }, STEMS_MAX)
  // The names of places are read once, before the first question.
  if (version.jurisdictions !== undefined) readPlace(lex('a'), 0)
  if (designators.size > 0 || [...languages].some((code) => LANGUAGES.get(code)?.endings !== undefined))
    for (const name of [...own.flatMap(formsOf), ...own])
      insert(inflected, { ...name, words: name.words.map(stem), standalone: 'never' })
  return {
    languages,
    designators,
    nouns,
    /** The longest name that starts at this token. */
    find: (tokens: TokenStream, at: number): ActMention | undefined => {
      const mention =
        find(root, tokens, at) ?? (inflected.next.size > 0 ? find(inflected, tokens, at, stem) : undefined)
      if (mention === undefined) return undefined
      const edition = otherEdition(tokens, at, mention, years.get(mention.act) ?? [])
      if (edition !== undefined) return edition
      const isName = (index: number): boolean => find(root, tokens, index) !== undefined
      return asItStands(tokens, at, withKind(tokens, mention), version.jurisdictions, isName, isForeign)
    },
    /** The act whose sections are numbered under this part of the Code of Federal Regulations (`1026.43`: part 1026). */
    actOfPart: (part: string) => parts.get(part) ?? (/^10\d\d$/.test(part) ? `cfr:12/${part}` : undefined),
  }
}

/**
 * Returns every name by which a query finds an act, in the words that are compared: its id, its aliases and their other
 * forms, and the built-in names. An act that has a name of another one would answer for it.
 */
export function namesOfAct(act: { readonly id: string; readonly aliases: readonly string[] }): readonly string[] {
  const { id, aliases } = act
  const own = [id, id.slice(id.indexOf(':') + 1), ...aliases].map((alias) => corpusName(alias, id))
  const names = [...own, ...own.flatMap(formsOf), ...[...BUILT_IN, ...BUILT_IN_FORMS].filter((name) => name.act === id)]
  return [...new Set(names.map(({ words }) => words.join(' ')))].filter((name) => name !== '')
}

/**
 * Built-in names by act, whose words are read once. Names with `^` are ambiguous and count only as written, those with
 * `~` only beside a provision, those with `!` only as both.
 */
const BUILT_IN = Object.entries(KNOWN).flatMap(([act, names]) =>
  names.map((marked) => {
    const mark = /^[!^~]/.exec(marked)?.[0] ?? ''
    const [name, cased] = [marked.slice(mark.length), /[!^]/.test(mark)]
    const ofForm = cased || /^\p{L}+\d?$/u.test(name) ? standaloneOfWord(name) : 'any'
    return nameOf(name, act, /[!~]/.test(mark) ? 'never' : ofForm, cased)
  }),
)
const BUILT_IN_FORMS = BUILT_IN.flatMap(formsOf)

function corpusName(alias: string, act: string): Name {
  return nameOf(alias, act, standaloneOfAlias(alias, act), false)
}

function nameOf(written: string, act: string, standalone: Standalone, casedAlways: boolean): Name {
  const tokens = tokenise(written)
  const words = tokens.filter(({ text }) => !LOOSE_SIGNS.has(text))
  const fits = words.length <= ALIAS_TOKENS_MAX && words[0]?.kind !== 'sign'
  const compared = fits ? words.map(({ text }) => text) : []
  return { act, written, words: compared, letters: lettersOf(tokens), standalone, casedAlways }
}

/** Forms of a name that mean the same act: a German genitive, a number in other figures, without its sign or behind. */
function formsOf({ act, written, standalone, casedAlways }: Name): Name[] {
  if (casedAlways) return []
  const figures = otherFigures(written)
  const forms = figures === undefined ? [] : [figures]
  const law = /^Public Law\s?(\d.*)$/.exec(written)?.[1]
  if (law !== undefined) forms.push(...PUBLIC_LAWS.map((words) => `${words} ${law}`))
  const volume = /^SGB (\d{1,2})$/.exec(figures === undefined ? '' : written)?.[1]
  const ordinal = volume === undefined ? undefined : SOCIAL_VOLUMES[Number(volume) - 1]
  if (ordinal !== undefined)
    for (const words of ['es Buch', 'en Buch', 'en Buches']) forms.push(`${ordinal}${words} Sozialgesetzbuch`)
  const plain = written.replace(/ (?:nr|no|n|č)\.?º?(?= \d)|\s\(\d{4}:\d+\)$/iu, '')
  if (plain !== written) forms.push(plain)
  if (/^Gesetz\s/.test(written)) forms.push(written.replace('Gesetz', 'Gesetzes'))
  if (/^\S*\p{Ll}(?:gesetz|gesetzbuch|-Gesetz|vertrag)$/u.test(written)) forms.push(`${written}es`, `${written}s`)
  return forms.map((form) => nameOf(form, act, standalone, false))
}

/** `Companies Act`, where one act alone has that name and a year: it counts beside a provision. */
function withoutYears(names: readonly Name[]): readonly Name[] {
  const bases = names.flatMap(({ written, act }) => {
    const [, base] = TITLE_AND_YEAR.exec(written) ?? []
    return base === undefined ? [] : [nameOf(base, act, 'never', false)]
  })
  const byTitle = Map.groupBy(bases, ({ written }) => written)
  return [...byTitle.values()].filter((found) => new Set(found.map(({ act }) => act)).size === 1).flat()
}

const TITLE_AND_YEAR = /^(.+ (?:Act|Order|Regulations|Rules|Ordinance|Measure)),? (?:1[6-9]|20)\d\d$/
const PUBLIC_LAWS = ['Public Law No.', 'Pub. L.', 'Pub. L. No.', 'P.L.']

function insert(root: Node, name: Name): void {
  if (name.words.length === 0) return
  let node = root
  for (const word of name.words) {
    const next = node.next.get(word) ?? { next: new Map(), name: undefined }
    node.next.set(word, next)
    node = next
  }
  const { standalone, casedAlways } = node.name ?? name
  node.name = { ...name, standalone, casedAlways }
}

function find(
  root: Node,
  tokens: TokenStream,
  at: number,
  compared = (word: string): string => word,
): ActMention | undefined {
  let node: Node = root
  let best: ActMention | undefined
  let loose = 0
  for (let index = at; index < tokens.length && index - at < ALIAS_TOKENS_MAX * 2; index += 1) {
    const text = tokens.text(index)
    const next = node.next.get(compared(text))
    if (next === undefined) {
      if (index === at || loose >= LOOSE_SIGNS_TOGETHER_MAX || !LOOSE_SIGNS.has(text)) break
      loose += 1
    } else {
      node = next
      loose = 0
      if (next.name !== undefined) best = matchOf(next.name, tokens, at, index + 1) ?? best
    }
  }
  return best
}

function matchOf(name: Name, tokens: TokenStream, at: number, end: number): ActMention | undefined {
  const { act, standalone, written } = name
  const cased = lettersOf(tokens.slice(at, end)) === name.letters
  // `AML`, but not `Biavlerloven`.
  const code =
    familyOf(act) === 'rulebook' && isWord(written) && !/\p{Ll}{5}|[\p{sc=Arab}\p{sc=Ethi}\p{sc=Thai}]/u.test(written)
  if ((name.casedAlways && !cased) || (!code && isOtherVolume(tokens, end, name))) return undefined
  // A full stop may belong to the name (`C. civ.`), unless it ends the text.
  const isPointed = written.endsWith('.') && tokens.reads(end, '.') && end + 1 < tokens.length
  const counts = standalone === 'any' || (standalone === 'cased' && cased)
  return { act, end: isPointed ? end + 1 : end, standalone: counts, code, cased }
}

/** `CRR2` and `CRR II` are other acts than `CRR`. */
function isOtherVolume(tokens: TokenStream, end: number, { act, written }: Name): boolean {
  // `Ley 88/2003` is another law than `Ley 88`.
  if (tokens.isNumber(end - 1)) return tokens.isContinued(end, '/', '-', '–', '.', ':', '_') && tokens.isGlued(end + 1)
  if (!tokens.isWord(end - 1) || !isWord(written)) return false
  if (tokens.isGlued(end)) return tokens.isNumber(end)
  return familyOf(act) === 'eu' && /^(?:II|III|IV|V|VI)$/.test(tokens.raw(end))
}

/** `MiCA Regulation`, `DORA-Verordnung`, `the AML rulebook`: the word for the act's kind belongs to its name. */
function withKind(tokens: TokenStream, mention: ActMention): ActMention {
  if (familyOf(mention.act) === 'eu') return { ...mention, end: afterKindOfAct(tokens, mention.end) }
  const end = mention.code === true ? afterRulebookWord(tokens, mention.end) : undefined
  return end === undefined ? mention : { ...mention, end, standalone: true }
}

/** A kind before a number begins another mention: `DORA Regulation (EU) 2022/2554`. */
function afterKindOfAct(tokens: TokenStream, at: number): number {
  const kind = tokens.skip(at, '-')
  const isKind = tokens.reads(kind, 'regulation', 'directive', 'act', 'verordnung', 'richtlinie', 'vo', 'rl')
  const next = tokens.get(kind + 1)
  return isKind && next?.text !== '(' && (next?.kind !== 'number' || tokens.get(kind + 2)?.text !== '/') ? kind + 1 : at
}

const NOUNS_BEFORE_YEAR = ['act', 'order', 'regulations', 'rules', 'ordinance', 'bill', 'measure']
/**
 * An edition by a year that is none of the act's own: `Companies Act 1985`, `Código Civil de 1851`, `UStG i.d.F. vom
 * 1.1.2010`, `občanského zákoníku č. 40/1964`. A year before a verb is a time: `das BGB 2002 reformiert`.
 */
function otherEdition(tokens: TokenStream, at: number, { act, end, code }: ActMention, own: readonly string[]) {
  const isTitle = tokens.isNumber(end - 1) || tokens.reads(end - 1, ...NOUNS_BEFORE_YEAR)
  const isOnly = isTitle ? own.length === 0 : code === true || familyOf(act) === 'eu'
  const found = isOnly ? undefined : matchNamed(tokens, end, 'edition')
  if (found === undefined || own.includes(found.groups['year'] ?? '')) return undefined
  if (tokens.isNumber(end - 1) && !tokens.isWord(end)) return undefined
  return actBeside(`name:${tokens.words(at, found.end)}`, found.end)
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
  return Number(a > b) - Number(a < b)
}
