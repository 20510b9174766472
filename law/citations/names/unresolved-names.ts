import { actBeside } from '#law/citations/citation.ts'
import type { ActMention } from '#law/citations/citation.ts'
import { readGermanName } from '#law/citations/grammars/de.ts'
import { readEuAct } from '#law/citations/grammars/eu.ts'
import { readFrenchName } from '#law/citations/grammars/fr.ts'
import { FUNCTION_WORD_FORMS } from '#law/citations/lexer/tokens.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { readDesignator } from '#law/citations/provisions/designators.ts'
import type { ActAliases } from './aliases.ts'
import { isTreaty, LEGAL_NOUNS, ORIGINS } from './not-acts.ts'

const NAME_TOKENS_MAX = 14
const QUOTES = ['“', '”', '„', '"', "'", '«', '»']
const NAME_CONNECTORS = new Set('of and the for on to against in with at from & , ( )'.split(' '))
const LOWER_CASE_WORDS_MAX = 6
/** Adjectives before `act` that name no act: `the new act`, `the said act`. */
const GENERIC = new Set(
  (
    'new old same said present current proposed relevant applicable whole entire first second third other national ' +
    'federal state local principal parent amending amended draft main original respective latest eu uk us that this ' +
    'sexual criminal single illegal unlawful legislative delegated implementing regulatory legal'
  ).split(' '),
)
const CODES = new Set('civil penal criminal commercial labour labor tax revenue bankruptcy family procedure'.split(' '))
const CONSTITUTIONS = new Set(['constitution', 'verfassung', 'bundesverfassung'])

/**
 * Reads the written name of an unresolved act, after a provision: `Dangerous Dogs Act 1991`,
 * `Bundesurlaubsgesetz`, `code de l'urbanisme`.
 * @param linked a word such as `of` or `des` stands before it.
 */
export function readWrittenName(
  tokens: TokenStream,
  at: number,
  linked: boolean,
  aliases: ActAliases,
): ActMention | undefined {
  if (!tokens.isWord(at)) return undefined
  const lowerCase = linked
    ? (readLowerCaseAct(tokens, at) ?? readLawOf(tokens, at) ?? readConstitution(tokens, at))
    : undefined
  return (
    readPublicLaw(tokens, at) ??
    readGermanName(tokens, at, linked) ??
    readFrenchName(tokens, at) ??
    readNamedAct(tokens, at, aliases) ??
    lowerCase
  )
}

/** Reads such a name with no provision before it. A function word or a kind of provision begins none. */
export function readNameAlone(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  const first = tokens.get(at)
  if (first?.kind !== 'word') return undefined
  const local = readPublicLaw(tokens, at) ?? readGermanName(tokens, at, true) ?? readFrenchName(tokens, at)
  if (local !== undefined || !tokens.isCapitalised(at) || FUNCTION_WORD_FORMS.has(first.text)) return local
  const isNoun = LEGAL_NOUNS.has(first.text) || readDesignator(tokens, at) !== undefined
  return isNoun && !tokens.reads(at + 1, 'of', 'on', 'for', 'concerning')
    ? undefined
    : readNamedAct(tokens, at, aliases)
}

/** The corpus does not hold such an act: `the Dangerous Dogs Act 1991`, `Cabinet Decision No. 10`. */
function readNamedAct(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  // `Chapter 2 (Rules Applicable to All Bodies)`: a heading.
  if (tokens.reads(at, 'rules') && tokens.isCapitalised(at + 1)) return undefined
  const words: string[] = []
  let end: number | undefined
  let capitals = 0
  let hasNoun = false
  let inTail = false
  for (let index = at; index < tokens.length && index < at + NAME_TOKENS_MAX; index += 1) {
    const token = tokens.get(index)
    if (token === undefined) break
    if (tokens.isCapitalised(index) && token.kind === 'word') {
      const listed = index === at ? undefined : readListed(tokens, index, aliases)
      if (listed?.numbered === true || (listed !== undefined && isOrigin(tokens, at, index))) return listed.mention
      if (listed !== undefined && !tokens.isCapitalised(index - 1)) return undefined
      const isDesignator = LEGAL_NOUNS.has(token.text) || (index > at && readDesignator(tokens, index) !== undefined)
      if (isDesignator && isProvisionNumber(tokens, index + 1)) break
      if (isTreaty(tokens, index)) return actBeside(`name:${token.text}-agreement`, index + 2)
      if (token.text.length > 1) capitals += 1
      if (LEGAL_NOUNS.has(token.text)) [hasNoun, inTail, end] = [true, false, index + 1]
      else if (inTail) end = index + 1
    } else if (isHyphenated(tokens, index)) index += 1
    else if (isPossessive(tokens, index)) index += 1
    else if (index === at || !NAME_CONNECTORS.has(token.text) || (hasNoun && token.kind === 'sign')) break
    else inTail = hasNoun
  }
  if (end === undefined || capitals < 2 || tokens.reads(end + 1, '/')) return undefined
  const numbered = tokens.reads(end, 'no') ? tokens.skip(end + 1, '.') : end
  if (tokens.isNumber(numbered) && (numbered > end || tokens.isYear(numbered))) end = numbered + 1
  const name = tokens.slice(at, end)
  end = afterYear(tokens, end)
  for (const token of name) if (token.kind !== 'sign') words.push(token.text)
  return actBeside(`name:${words.join('-')}`, end)
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
  const [token, next] = [tokens.get(at), tokens.get(at + 1)]
  if (/^[A-Z]$/.test(token?.raw ?? '')) return next?.kind === 'number' && next.glued
  return token?.kind === 'number' && !token.glued && !tokens.isYear(at)
}

/** `Anti-terrorism`: a hyphen within a word of the name. */
function isHyphenated(tokens: TokenStream, at: number): boolean {
  const next = tokens.get(at + 1)
  return tokens.reads(at, '-') && tokens.isGlued(at) && next?.glued === true && next.kind === 'word'
}

/** `the Agency's Financial Regulation`: a possessive before a name of more than its noun. */
function isPossessive(tokens: TokenStream, at: number): boolean {
  if (!tokens.reads(at, "'") || !tokens.reads(at + 1, 's') || !tokens.isGlued(at + 1)) return false
  return tokens.isCapitalised(at + 2) && !LEGAL_NOUNS.has(tokens.text(at + 2))
}

/** A listed act, or one by its number, within a longer name: `Unfair Terms Directive 93/13/EEC`. */
function readListed(
  tokens: TokenStream,
  at: number,
  aliases: ActAliases,
): { readonly mention: ActMention; readonly numbered: boolean } | undefined {
  const numbered = LEGAL_NOUNS.has(tokens.text(at)) ? readEuAct(tokens, at) : undefined
  const alias = numbered === undefined ? aliases.find(tokens, at) : undefined
  if (alias !== undefined) return { mention: alias, numbered: false }
  return numbered === undefined ? undefined : { mention: numbered, numbered: true }
}

/** `Markets Rules (“MKT”)`, `Freight Act (FA)`: the listed act that brackets give for a name, or the name itself. */
export function withListedInBrackets(
  tokens: TokenStream,
  mention: ActMention | undefined,
  aliases: ActAliases,
): ActMention | undefined {
  if (mention === undefined || !tokens.reads(mention.end, '(')) return mention
  const name = tokens.skip(mention.end + 1, ...QUOTES)
  const listed = aliases.find(tokens, name)
  const close = tokens.skip(listed?.end ?? name + 1, ...QUOTES)
  if (!tokens.reads(close, ')')) return mention
  if (listed !== undefined) return { ...listed, end: close + 1 }
  return /^\p{Lu}{2,}$/u.test(tokens.raw(name)) ? { ...mention, end: close + 1 } : mention
}

/** Whether only a country stands before the name of a listed act: `the UK Data Protection Act 2018`. */
function isOrigin(tokens: TokenStream, from: number, to: number): boolean {
  return tokens.slice(from, to).every((token) => token.kind === 'sign' || ORIGINS.has(token.text) || token.text === 's')
}

/** `consumer credit act 1974`, `theft act`, `criminal code`: after a link, a name in lower case. */
function readLowerCaseAct(tokens: TokenStream, at: number): ActMention | undefined {
  const words: string[] = []
  for (let index = at; index < at + LOWER_CASE_WORDS_MAX; index += 1) {
    const token = tokens.get(index)
    if (token?.kind !== 'word') return undefined
    const before = words.at(-1)
    const isAct = (token.text === 'act' || token.text === 'ordinance') && before !== undefined
    const isCode = token.text === 'code' && CODES.has(before ?? '')
    if ((isAct && !GENERIC.has(before) && !FUNCTION_WORD_FORMS.has(before)) || isCode) {
      const year = tokens.digits(index + 1, 4, 4)
      const name = [...words, token.text, ...(year === undefined ? [] : [year])].join('-')
      return actBeside(`name:${name}`, year === undefined ? index + 1 : index + 2)
    }
    if (words.length === 0 && FUNCTION_WORD_FORMS.has(token.text)) return undefined
    words.push(token.text)
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
  const law = tokens.reads(at, 'state', 'federal', 'national', 'general', 'civil', 'penal', 'criminal') ? at + 1 : at
  if (!tokens.reads(law, 'law', 'laws', 'statutes', 'constitution') || !tokens.reads(law + 1, 'of')) return undefined
  const article = tokens.skip(law + 2, 'the')
  const index = tokens.reads(article, 'state') && tokens.reads(article + 1, 'of') ? article + 2 : article
  let end = index
  while (end < index + 3 && tokens.isWord(end) && tokens.isCapitalised(end)) end += 1
  const words = tokens.slice(index, end).map(({ text }) => text)
  return words.length === 0 ? undefined : actBeside(`name:law-of-${words.join('-')}`, end)
}

function readConstitution(tokens: TokenStream, at: number): ActMention | undefined {
  const name = tokens.get(at)
  return name !== undefined && CONSTITUTIONS.has(name.text) ? actBeside(`name:${name.text}`, at + 1) : undefined
}

const MONTHS = new Set(
  'january february march april may june july august september october november december'.split(' '),
)
/** Nouns of what has a short name by its year and is no act of the LEGAL_NOUNS. */
const OTHER_NOUNS = new Set(['scheme', 'measure', 'acts', 'orders', 'agreement'])

/** Reads an act by its date, after a provision: `the 1998 Act`, `act June 29, 1956`, `Act of 5 July 1990`. */
export function readDatedAct(tokens: TokenStream, at: number): ActMention | undefined {
  return readYearAct(tokens, at) ?? readActOfDate(tokens, at)
}

function readYearAct(tokens: TokenStream, at: number): ActMention | undefined {
  const noun = tokens.get(at + 1)
  if (!tokens.isYear(at) || noun?.kind !== 'word' || noun.glued) return undefined
  if (!LEGAL_NOUNS.has(noun.text) && !OTHER_NOUNS.has(noun.text)) return undefined
  // `the 1968 Theft Act`, `the 1995 directive 95/46/EC`: the name goes on.
  if (tokens.isNumber(at + 2)) return undefined
  return actBeside(`name:${tokens.text(at)}-${noun.text}`, at + 2)
}

function readActOfDate(tokens: TokenStream, at: number): ActMention | undefined {
  if (!tokens.reads(at, 'act', 'law')) return undefined
  const date = tokens.skip(at + 1, 'of')
  const isMonthFirst = MONTHS.has(tokens.text(date))
  const [month, day] = isMonthFirst
    ? [tokens.get(date), tokens.get(date + 1)]
    : [tokens.get(date + 1), tokens.get(date)]
  const year = tokens.skip(date + 2, ',')
  if (month === undefined || !MONTHS.has(month.text) || day?.kind !== 'number') return undefined
  if (tokens.digits(year, 4, 4) === undefined) return undefined
  return actBeside(`name:act-${month.text}-${day.text}-${tokens.text(year)}`, year + 1)
}
