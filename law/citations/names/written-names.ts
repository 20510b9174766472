import { actBeside, type ActMention } from '#law/citations/citation.ts'
import { readGermanName } from '#law/citations/grammars/de.ts'
import { readEuAct } from '#law/citations/grammars/eu.ts'
import { readFrenchName } from '#law/citations/grammars/fr.ts'
import { endOfForeignName, LANGUAGES, languagesIn } from '#law/citations/lexer/languages.ts'
import { FUNCTION_WORD_FORMS, type Token, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readDesignator } from '#law/citations/provisions/designators.ts'
import type { ActAliases } from './aliases.ts'
import { isTreaty, LEGAL_NOUNS } from './nouns.ts'

const NAME_TOKENS_MAX = 14
const QUOTES = ['“', '”', '„', '"', "'", '«', '»']
const NAME_CONNECTORS = new Set('of and the for on to against in with at from & , ( )'.split(' '))
const LOWER_CASE_WORDS_MAX = 6
/** Adjectives before `act` that name no act: `the new act`, `the said act`. */
const GENERIC =
  /^(?:new|old|said|present|current|proposed|relevant|applicable|whole|entire|first|second|third|national|federal|state|local|parent|amending|amended|draft|main|original|latest|eu|uk|us|criminal|single|illegal|legislative|delegated|implementing|legal)$/
const CODES = /^(?:civil|penal|criminal|commercial|labou?r|tax|revenue|bankruptcy|family|procedure)$/
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
  const isConstitution = tokens.reads(at, 'constitution', 'verfassung', 'bundesverfassung')
  const constitution = isConstitution ? actBeside(`name:${tokens.text(at)}`, at + 1) : undefined
  return readLowerCaseAct(tokens, at) ?? readLawOf(tokens, at) ?? constitution ?? readCapitals(tokens, at, aliases)
}

/** `de la Resolución 12`, `del Decreto-Ley 12`: behind a link, in languages where only names have capitals. */
function readCapitals(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  const isForeign = [...languagesIn(tokens, aliases.languages)].some((code) => LANGUAGES.has(code))
  if (!isForeign || FUNCTION_WORD_FORMS.has(tokens.text(at)) || readDesignator(tokens, at) !== undefined)
    return undefined
  let end = at
  while (tokens.isCapitalised(end) || (end > at && (tokens.isNumber(end) || isHyphenated(tokens, end)))) end += 1
  return end === at ? undefined : actBeside(`name:${tokens.words(at, end)}`, end)
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
  return actBeside(`name:${tokens.words(at, end)}`, afterYear(tokens, end))
}

/** `Arbitration Act of 1916`, `Arbitration Act (Northern Ireland) 1954`: the position after the year. */
function afterYear(tokens: TokenStream, end: number): number {
  if (tokens.reads(end, 'of') && tokens.isYear(end + 1)) return end + 2
  if (!tokens.reads(end, '(')) return end
  let close = end + 1
  while (close <= end + 3 && tokens.isCapitalised(close)) close += 1
  return tokens.reads(close, ')') && tokens.isYear(close + 1) ? close + 2 : end
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

/** `consumer credit act 1974`, `theft act`, `criminal code`: after a link, a name in lower case. */
function readLowerCaseAct(tokens: TokenStream, at: number): ActMention | undefined {
  if (FUNCTION_WORD_FORMS.has(tokens.text(at))) return undefined
  for (let index = at; index < at + LOWER_CASE_WORDS_MAX && tokens.isWord(index); index += 1) {
    const before = index === at ? '' : tokens.text(index - 1)
    const isAct = before !== '' && !GENERIC.test(before) && !FUNCTION_WORD_FORMS.has(before)
    if ((isAct && tokens.reads(index, 'act', 'ordinance')) || (CODES.test(before) && tokens.reads(index, 'code'))) {
      const end = tokens.digits(index + 1, 4, 4) === undefined ? index + 1 : index + 2
      return actBeside(`name:${tokens.words(at, end)}`, end)
    }
  }
  return undefined
}

/** `Public Law 102-242`, `Pub. L. 111-203`: a law of the United States by its number. */
function readPublicLaw(tokens: TokenStream, at: number): ActMention | undefined {
  const law = tokens.skip(at + 1, '.')
  if (!tokens.reads(at, 'public', 'pub') || !tokens.reads(law, 'law', 'l')) return undefined
  const congress = tokens.skip(tokens.skip(tokens.skip(law + 1, '.'), 'no'), '.')
  const [session, number] = [tokens.digits(congress, 2, 3), tokens.digits(congress + 2, 1, 4)]
  if (session === undefined || number === undefined || !tokens.reads(congress + 1, '-', '–')) return undefined
  return actBeside(`name:public-law-${session}-${number}`, congress + 3)
}

/** `the state law of Michigan`, `laws of the State of New York`. */
function readLawOf(tokens: TokenStream, at: number): ActMention | undefined {
  const law = tokens.skip(at, 'state', 'federal', 'national', 'general', 'civil', 'penal', 'criminal')
  if (!tokens.reads(law, 'law', 'laws', 'statutes', 'constitution') || !tokens.reads(law + 1, 'of')) return undefined
  const article = tokens.skip(law + 2, 'the')
  const index = tokens.reads(article, 'state') && tokens.reads(article + 1, 'of') ? article + 2 : article
  let end = index
  while (end < index + 3 && tokens.isCapitalised(end)) end += 1
  return end === index ? undefined : actBeside(`name:law-of-${tokens.words(index, end)}`, end)
}

const MONTHS = /^(?:january|february|march|april|may|june|july|august|september|october|november|december)$/

/** Reads an act by its date, after a provision: `the 1998 Act`, `act June 29, 1956`, `Act of 5 July 1990`. */
export function readDatedAct(tokens: TokenStream, at: number): ActMention | undefined {
  const noun = tokens.text(at + 1)
  // `the 1968 Theft Act`, `the 1995 directive 95/46/EC`: the name goes on.
  if (tokens.isYear(at) && LEGAL_NOUNS.has(noun) && !tokens.isGlued(at + 1) && !tokens.isNumber(at + 2))
    return actBeside(`name:${tokens.text(at)}-${noun}`, at + 2)
  const date = tokens.skip(at + 1, 'of')
  const [month, day] = MONTHS.test(tokens.text(date)) ? [date, date + 1] : [date + 1, date]
  const year = tokens.skip(date + 2, ',')
  const isDate = MONTHS.test(tokens.text(month)) && tokens.isNumber(day) && tokens.digits(year, 4, 4) !== undefined
  if (!isDate || !tokens.reads(at, 'act', 'law')) return undefined
  return actBeside(`name:act-${tokens.text(month)}-${tokens.text(day)}-${tokens.text(year)}`, year + 1)
}
