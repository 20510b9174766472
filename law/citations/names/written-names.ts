import { isRequestWord } from '#core/index/analysis/request-words.ts'
import { actBeside, type ActMention, readPattern } from '#law/citations/citation.ts'
import { readGermanName } from '#law/citations/grammars/de.ts'
import { readEuAct } from '#law/citations/grammars/eu.ts'
import { readFrenchName } from '#law/citations/grammars/fr.ts'
import { endOfForeignName, LANGUAGES, languagesIn } from '#law/citations/lexer/languages.ts'
import { FUNCTION_WORD_FORMS, type Token, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readDesignator } from '#law/citations/provisions/designators.ts'
import type { ActAliases } from './aliases.ts'
import NAMES from './going-on.json' with { type: 'json' }
import { isTreaty, LEGAL_NOUNS } from './nouns.ts'
import { matchNamed } from '#law/citations/lexer/patterns.ts'
import { readPlace } from './places.ts'

const NAME_TOKENS_MAX = 14
const QUOTES = ['“', '”', '„', '"', "'", '«', '»']
const NAME_CONNECTORS = new Set('of and the for on to against in with at from & , ( )'.split(' '))
/** What tells no act from another one of the same name: `the UK Data Protection Act 2018`. */
const ORIGINS =
  /^(?:uk|us|eu|s|german|french|english|british|european|union|american|deutschen?|deutsches|new|revised|current|amended|draft|final|consolidated|original)$/

/**
 * Reads the written name of an unresolved act, after a provision: `Dangerous Dogs Act 1991`, `Bundesurlaubsgesetz`,
 * `code de l'urbanisme`.
 * @param linked a word such as `of` or `des` stands before it.
 */
export function readWrittenName(tokens: TokenStream, at: number, linked: boolean, aliases: ActAliases) {
  const named =
    readPublicLaw(tokens, at) ??
    readGermanName(tokens, at, linked) ??
    readFrenchName(tokens, at) ??
    readNamedAct(tokens, at, aliases)
  const foreign = named === undefined ? readForeignName(tokens, at, aliases) : undefined
  if (named !== undefined || foreign !== undefined || !linked) return named ?? foreign
  const isNoun = !FUNCTION_WORD_FORMS.has(tokens.text(at))
  const lower = isNoun ? readPattern(tokens, at, 'lower_case') : undefined
  return lower ?? readPattern(tokens, at, 'law_of') ?? readCapitals(tokens, at, aliases)
}

/** `de la Resolución 12`, `del Decreto-Ley 12`: behind a link, in languages where only names have capitals. */
function readCapitals(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  const isForeign = [...languagesIn(tokens, aliases.languages)].some((code) => LANGUAGES.has(code))
  if (!isForeign || FUNCTION_WORD_FORMS.has(tokens.text(at)) || readDesignator(tokens, at) !== undefined)
    return undefined
  const end = endOfCapitals(tokens, at)
  return end === at ? undefined : actBeside(`name:${tokens.words(at, end)}`, end)
}

const OF = ['of', 'de', 'du', 'd']
const PERSON = /^(?:m|mme|mrs?|ms|dr|madame|monsieur)$/
const [INSTRUMENTS, NO_NAMES] = [new Set(NAMES.instruments.split(' ')), new Set(NAMES.no_names.split(' '))]

/**
 * Reads an act that is stated behind `of` or `de` by words that no table has: capitals that are no institution
 * (`Framework Decision 2009/65/JHA`, `Convention 108`), or a noun of an instrument with a word of its own (`de la
 * convention collective`).
 */
export function readStated(tokens: TokenStream, at: number): ActMention | undefined {
  const link = [at - 1, at - 2, at - 3].find((index) => tokens.reads(index, ...OF))
  const isLinked =
    link !== undefined && tokens.slice(link, at).every(({ text }) => /^(?:of|the|de|du|d|la|l|les?|')$/.test(text))
  if (!isLinked || FUNCTION_WORD_FORMS.has(tokens.text(at)) || readDesignator(tokens, at) !== undefined)
    return undefined
  let end = endOfCapitals(tokens, at)
  const isName = end > at + 1 && !NO_NAMES.has(tokens.text(end - 1)) && !PERSON.test(tokens.text(at))
  if (isName) return actBeside(`name:${tokens.words(at, end)}`, end)
  if (!INSTRUMENTS.has(tokens.text(at))) return undefined
  for (end = at + 1; tokens.reads(end, ...OF, 'des', 'la', 'l', "'", 'sur');) end += 1
  const [word, place] = [tokens.text(end), readPlace(tokens, end)]
  const isOwn = tokens.isWord(end) && place === undefined && !FUNCTION_WORD_FORMS.has(word) && !isRequestWord(word)
  return isOwn && !NO_NAMES.has(word) ? actBeside(`name:${tokens.words(at, end + 1)}`, end + 1) : undefined
}

/** The position after words with capitals, and their numbers. */
function endOfCapitals(tokens: TokenStream, at: number): number {
  let end = at
  const isJoint = (index: number): boolean =>
    tokens.reads(index, '/', '.', '-') && tokens.isGlued(index) && tokens.isGlued(index + 1)
  while (tokens.isCapitalised(end) || (end > at && (tokens.isNumber(end) || isJoint(end) || isJoint(end - 1)))) end += 1
  return end
}

/** Reads such a name with no provision before it. A function word or a kind of provision begins none. */
export function readNameAlone(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  const foreign = readForeignName(tokens, at, aliases)
  // Only beside a provision: a listed name may begin within it.
  if (foreign !== undefined) return { ...foreign, standalone: true }
  const local = readPublicLaw(tokens, at) ?? readGermanName(tokens, at, true) ?? readFrenchName(tokens, at)
  if (local !== undefined || !tokens.isCapitalised(at) || FUNCTION_WORD_FORMS.has(tokens.text(at))) return local
  const isNoun = LEGAL_NOUNS.has(tokens.text(at)) || readDesignator(tokens, at) !== undefined
  return isNoun && !tokens.reads(at + 1, 'of', 'on', 'for', 'concerning')
    ? undefined
    : readNamedAct(tokens, at, aliases)
}

function readForeignName(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  const languages = languagesIn(tokens, aliases.languages)
  if (languages.size === 0) return undefined
  const end = endOfForeignName(tokens, at, languages, (index) => aliases.find(tokens, index) !== undefined)
  return end === undefined ? undefined : actBeside(`name:${tokens.words(at, end)}`, end)
}

/** The corpus does not hold such an act: `the Dangerous Dogs Act 1991`, `Cabinet Decision No. 10`. */
function readNamedAct(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  // `Chapter 2 (Rules Applicable to All Bodies)`: a heading.
  if (!tokens.isWord(at) || (tokens.reads(at, 'rules') && tokens.isCapitalised(at + 1))) return undefined
  // `Annex II to Regulation (EU) 2020/999`: a part of that act.
  if (/^(?:annex|schedule|appendix|supplement)$/.test(readDesignator(tokens, at)?.kind ?? '')) return undefined
  let end: number | undefined
  let capitals = 0
  let inTail = false
  for (let index = at; index < tokens.length && index < at + NAME_TOKENS_MAX; index += 1) {
    if (tokens.isCapitalised(index)) {
      const numbered = index > at && LEGAL_NOUNS.has(tokens.text(index)) ? readEuAct(tokens, index) : undefined
      if (numbered !== undefined) return numbered
      const listed = index > at ? aliases.find(tokens, index) : undefined
      // Only a country stands before it: `the UK Data Protection Act 2018`.
      const isOrigin = ({ kind, text }: Token): boolean => kind === 'sign' || ORIGINS.test(text)
      if (listed !== undefined && tokens.slice(at, index).every(isOrigin)) return listed
      if (listed !== undefined && !tokens.isCapitalised(index - 1)) return undefined
      const isNoun = LEGAL_NOUNS.has(tokens.text(index))
      const isDesignator = isNoun || (index > at && readDesignator(tokens, index) !== undefined)
      if (isDesignator && isProvisionNumber(tokens, index + 1)) break
      if (isTreaty(tokens, index)) return actBeside(`name:${tokens.text(index)}-agreement`, index + 2)
      if (tokens.text(index).length > 1) capitals += 1
      if (isNoun) [inTail, end] = [false, index + 1]
      else if (inTail) end = index + 1
    } else if (isHyphenated(tokens, index) || isPossessive(tokens, index)) index += 1
    else if (index === at || !NAME_CONNECTORS.has(tokens.text(index)) || (end !== undefined && !tokens.isWord(index)))
      break
    else inTail = end !== undefined
  }
  if (end === undefined || capitals < 2 || tokens.reads(end + 1, '/')) return undefined
  const number = tokens.reads(end, 'no') ? tokens.skip(end + 1, '.') : end
  if (tokens.isNumber(number) && (number > end || tokens.isYear(number))) end = number + 1
  // `Arbitration Act of 1916`, `Arbitration Act (Northern Ireland) 1954`.
  return actBeside(`name:${tokens.words(at, end)}`, matchNamed(tokens, end, 'year_after')?.end ?? end)
}

/** `Subject to Rules 9.3.14`, `Rules A4.3.10`: a number that is no year makes the noun before it a designator. */
function isProvisionNumber(tokens: TokenStream, at: number): boolean {
  if (/^[A-Z]$/.test(tokens.raw(at))) return tokens.isNumber(at + 1) && tokens.isGlued(at + 1)
  return tokens.isNumber(at) && !tokens.isGlued(at) && !tokens.isYear(at)
}

/** `Anti-terrorism`: a hyphen within a word of the name. */
function isHyphenated(tokens: TokenStream, at: number): boolean {
  return tokens.reads(at, '-') && tokens.isGlued(at) && tokens.isGlued(at + 1) && tokens.isWord(at + 1)
}

/** `the Agency's Financial Regulation`: a possessive before a name of more than its noun. */
function isPossessive(tokens: TokenStream, at: number): boolean {
  if (!tokens.reads(at, "'") || !tokens.reads(at + 1, 's') || !tokens.isGlued(at + 1)) return false
  return tokens.isCapitalised(at + 2) && !LEGAL_NOUNS.has(tokens.text(at + 2))
}

/** `Markets Rules (“MKT”)`, `Freight Act (FA)`: the listed act that brackets give for a name, or the name itself. */
export function withListedInBrackets(tokens: TokenStream, mention: ActMention | undefined, aliases: ActAliases) {
  if (mention === undefined || !tokens.reads(mention.end, '(')) return mention
  const name = tokens.skip(mention.end + 1, ...QUOTES)
  const listed = aliases.find(tokens, name)
  const close = tokens.skip(listed?.end ?? name + 1, ...QUOTES)
  if (!tokens.reads(close, ')')) return mention
  if (listed !== undefined) return { ...listed, end: close + 1 }
  return /^\p{Lu}{2,}$/u.test(tokens.raw(name)) ? { ...mention, end: close + 1 } : mention
}

/** `Public Law 102-242`, `Pub. L. 111-203`: a law of the United States by its number. */
function readPublicLaw(tokens: TokenStream, at: number): ActMention | undefined {
  return tokens.reads(at, 'public', 'pub') ? readPattern(tokens, at, 'public_law') : undefined
}
