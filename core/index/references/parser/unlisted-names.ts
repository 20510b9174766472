import type { ActMention } from './act-mention.ts'
import { isTreaty, LEGAL_NOUNS } from './legal-nouns.ts'
import type { ActAliases } from './aliases.ts'
import { readEuAct } from './eu.ts'
import { readDesignator } from './designators.ts'
import { FUNCTION_WORD_FORMS, isGenericOrder, ORIGINS } from './not-acts.ts'
import { isRoman } from './numbers.ts'
import { digitsAt, isCapitalised, reads, skip, type Token } from './tokens.ts'

const NAME_TOKENS_MAX = 14
const NAME_CONNECTORS = new Set(['of', 'and', 'the', 'for', 'on', 'to', 'against', 'in', 'with', '&', ',', '(', ')'])
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
const GERMAN_TREATY = /(?:^einigungs|staats)vertrag(?:e?s)?$/
const GERMAN_ACT = /\p{L}{3}(?:gesetz(?:buch)?|ordnung|verfassung|ubereinkommen|konvention)(?:e?s|en)?$/u
const GERMAN_DIRECTIVE = /^\p{L}{3,}(?:richtlinie|verordnung)$/u
const GERMAN_PREPOSITIONS = new Set(['uber', 'zur', 'zum', 'gegen', 'betreffend', 'fur', 'zu'])
/** Ordinals of the books of the Sozialgesetzbuch without their endings, and the numerals of `SGB`. */
const SOCIAL_VOLUMES = 'erst zweit dritt viert funft sechst siebt acht neunt zehnt elft zwolft'.split(' ')
const SOCIAL_NUMERALS = 'i ii iii iv v vi vii viii ix x xi xii'.split(' ')
const FRENCH_INSTRUMENTS = new Set(['loi', 'ordonnance', 'decret', 'arrete'])
const FRENCH_LINKS = new Set(['de', 'du', 'des', 'd', 'la', 'l', "'", 'les'])
const FRENCH_ADJECTIVE =
  /(?:al|aux|ale|ales|ier|iere|iers|ieres|ique|iques|el|elle|els|elles|aire|aires|il|ils|ile|iles|rural)$/
const CONSTITUTIONS = new Set(['constitution', 'verfassung', 'bundesverfassung'])

/**
 * Reads the written name of an act that no table lists, after a provision: `Dangerous Dogs Act 1991`,
 * `Bundesurlaubsgesetz`, `code de l'urbanisme`.
 * @param linked a word such as `of` or `des` stands before it.
 */
export function readWrittenName(
  tokens: readonly Token[],
  at: number,
  linked: boolean,
  aliases: ActAliases,
): ActMention | undefined {
  if (tokens[at]?.kind !== 'word') return undefined
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
export function readBareName(tokens: readonly Token[], at: number, aliases: ActAliases): ActMention | undefined {
  const first = tokens[at]
  if (first?.kind !== 'word') return undefined
  const local = readPublicLaw(tokens, at) ?? readGermanName(tokens, at, true) ?? readFrenchName(tokens, at)
  if (local !== undefined || !isCapitalised(first) || FUNCTION_WORD_FORMS.has(first.text)) return local
  const isNoun = LEGAL_NOUNS.has(first.text) || readDesignator(tokens, at) !== undefined
  return isNoun && !reads(tokens, at + 1, 'of', 'on', 'for', 'concerning')
    ? undefined
    : readNamedAct(tokens, at, aliases)
}

/** The corpus does not hold such an act: `the Dangerous Dogs Act 1991`, `Cabinet Decision No. 10`. */
export function readNamedAct(tokens: readonly Token[], at: number, aliases: ActAliases): ActMention | undefined {
  const words: string[] = []
  let end: number | undefined
  let capitals = 0
  let hasNoun = false
  let inTail = false
  for (let place = at; place < tokens.length && place < at + NAME_TOKENS_MAX; place += 1) {
    const token = tokens[place]
    if (token === undefined) break
    if (isCapitalised(token) && token.kind === 'word') {
      const listed = place === at ? undefined : readListed(tokens, place, aliases)
      if (listed?.numbered === true || (listed !== undefined && isOrigin(tokens, at, place))) return listed.mention
      if (listed !== undefined && !isCapitalised(tokens[place - 1])) return undefined
      if (LEGAL_NOUNS.has(token.text) && isProvisionNumber(tokens[place + 1])) break
      if (isTreaty(tokens, place)) return mentionOf(`name:${token.text}-agreement`, place + 2)
      if (token.text.length > 1) capitals += 1
      if (LEGAL_NOUNS.has(token.text)) [hasNoun, inTail, end] = [true, false, place + 1]
      else if (inTail) end = place + 1
    } else if (isHyphenated(tokens, place)) place += 1
    else if (place === at || !NAME_CONNECTORS.has(token.text) || (hasNoun && token.kind === 'sign')) break
    else inTail = hasNoun
  }
  if (end === undefined || capitals < 2 || reads(tokens, end + 1, '/')) return undefined
  const numbered = reads(tokens, end, 'no') ? skip(tokens, end + 1, '.') : end
  if (
    tokens[numbered]?.kind === 'number' &&
    (numbered > end || /^(?:1[89]|20)\d\d$/.test(tokens[numbered]?.text ?? ''))
  )
    end = numbered + 1
  for (const token of tokens.slice(at, end)) if (token.kind !== 'sign') words.push(token.text)
  return mentionOf(`name:${words.join('-')}`, end)
}

/** `Subject to Rules 9.3.14`: a number that is no year makes the noun before it a designator. */
function isProvisionNumber(token: Token | undefined): boolean {
  return token?.kind === 'number' && !token.glued && !/^(?:1[89]|20)\d\d$/.test(token.text)
}

/** `Anti-terrorism`: a hyphen within a word of the name. */
function isHyphenated(tokens: readonly Token[], at: number): boolean {
  const next = tokens[at + 1]
  return reads(tokens, at, '-') && tokens[at]?.glued === true && next?.glued === true && next.kind === 'word'
}

/** A listed act, or one by its number, within a longer name: `Unfair Terms Directive 93/13/EEC`. */
function readListed(
  tokens: readonly Token[],
  at: number,
  aliases: ActAliases,
): { readonly mention: ActMention; readonly numbered: boolean } | undefined {
  const numbered = LEGAL_NOUNS.has(tokens[at]?.text ?? '') ? readEuAct(tokens, at) : undefined
  const alias = numbered === undefined ? aliases.find(tokens, at) : undefined
  if (alias !== undefined) return { mention: { ...alias, sections: undefined }, numbered: false }
  return numbered === undefined ? undefined : { mention: numbered, numbered: true }
}

/** `Markets Rules (MKT)`: the listed act that brackets give for a name, or the name itself. */
export function withListedInBrackets(
  tokens: readonly Token[],
  mention: ActMention | undefined,
  aliases: ActAliases,
): ActMention | undefined {
  if (mention === undefined || !reads(tokens, mention.end, '(')) return mention
  const listed = aliases.find(tokens, mention.end + 1)
  return listed !== undefined && reads(tokens, listed.end, ')')
    ? { ...listed, end: listed.end + 1, sections: undefined }
    : mention
}

/** Whether only a country stands before the name of a listed act: `the UK Data Protection Act 2018`. */
function isOrigin(tokens: readonly Token[], from: number, to: number): boolean {
  return tokens.slice(from, to).every((token) => token.kind === 'sign' || ORIGINS.has(token.text) || token.text === 's')
}

/** `consumer credit act 1974`, `theft act`, `criminal code`: after a link, a name in lower case. */
function readLowerCaseAct(tokens: readonly Token[], at: number): ActMention | undefined {
  const words: string[] = []
  for (let place = at; place < at + LOWER_CASE_WORDS_MAX; place += 1) {
    const token = tokens[place]
    if (token?.kind !== 'word') return undefined
    const before = words.at(-1)
    const isAct = (token.text === 'act' || token.text === 'ordinance') && before !== undefined
    const isCode = token.text === 'code' && CODES.has(before ?? '')
    if ((isAct && !GENERIC.has(before) && !FUNCTION_WORD_FORMS.has(before)) || isCode) {
      const year = digitsAt(tokens, place + 1, 4, 4)
      const name = [...words, token.text, ...(year === undefined ? [] : [year])].join('-')
      return mentionOf(`name:${name}`, year === undefined ? place + 1 : place + 2)
    }
    if (words.length === 0 && FUNCTION_WORD_FORMS.has(token.text)) return undefined
    words.push(token.text)
  }
  return undefined
}

/** `Public Law 102-242`, `Pub. L. 111-203`: a law of the United States by its number. */
function readPublicLaw(tokens: readonly Token[], at: number): ActMention | undefined {
  const law = skip(tokens, at + 1, '.')
  if (!reads(tokens, at, 'public', 'pub') || !reads(tokens, law, 'law', 'l')) return undefined
  const congress = skip(tokens, skip(tokens, skip(tokens, law + 1, '.'), 'no'), '.')
  const [session, number] = [digitsAt(tokens, congress, 2, 3), digitsAt(tokens, congress + 2, 1, 4)]
  if (session === undefined || number === undefined || !reads(tokens, congress + 1, '-', '–')) return undefined
  return mentionOf(`name:public-law-${session}-${number}`, congress + 3)
}

/** `the state law of Michigan`, `laws of the State of New York`. */
function readLawOf(tokens: readonly Token[], at: number): ActMention | undefined {
  const law = reads(tokens, at, 'state', 'federal', 'national', 'general', 'civil', 'penal', 'criminal') ? at + 1 : at
  if (!reads(tokens, law, 'law', 'laws', 'statutes', 'constitution') || !reads(tokens, law + 1, 'of')) return undefined
  const article = skip(tokens, law + 2, 'the')
  const place = reads(tokens, article, 'state') && reads(tokens, article + 1, 'of') ? article + 2 : article
  let end = place
  while (end < place + 3 && tokens[end]?.kind === 'word' && isCapitalised(tokens[end])) end += 1
  const words = tokens.slice(place, end).map(({ text }) => text)
  return words.length === 0 ? undefined : mentionOf(`name:law-of-${words.join('-')}`, end)
}

function readConstitution(tokens: readonly Token[], at: number): ActMention | undefined {
  const name = tokens[at]
  return name !== undefined && CONSTITUTIONS.has(name.text) ? mentionOf(`name:${name.text}`, at + 1) : undefined
}

/** `Produkthaftungsgesetzes`, `Straßenverkehrs-Ordnung`, `Gesetz gegen den unlauteren Wettbewerb`. */
function readGermanName(tokens: readonly Token[], at: number, linked: boolean): ActMention | undefined {
  const first = tokens[at]
  if (first === undefined || !isCapitalised(first) || first.glued) return undefined
  if (reads(tokens, at, 'gesetz', 'gesetzes')) return readGermanTitle(tokens, at)
  const social = readSocialCode(tokens, at)
  if (social !== undefined) return social
  let [name, end] = [first.text, at + 1]
  while (reads(tokens, end, '-') && tokens[end]?.glued === true && tokens[end + 1]?.glued === true && end < at + 6) {
    name += tokens[end + 1]?.text ?? ''
    end += 2
  }
  const isAct = GERMAN_ACT.test(name) || GERMAN_TREATY.test(name) || (linked && GERMAN_DIRECTIVE.test(name))
  if (!isAct || isGenericOrder(name) || isGenericOrder(name.replace(/e?s$|en$/, ''))) return undefined
  return mentionOf(`name:${name.replace(/(gesetz|buch|vertrag|ubereinkommen)e?s$/, '$1')}`, end)
}

function readGermanTitle(tokens: readonly Token[], at: number): ActMention | undefined {
  if (reads(tokens, at + 1, 'vom')) return readGermanDate(tokens, at)
  if (!GERMAN_PREPOSITIONS.has(tokens[at + 1]?.text ?? '')) return undefined
  const words = ['gesetz']
  for (let place = at + 1; place < at + NAME_TOKENS_MAX; place += 1) {
    const token = tokens[place]
    if (token?.kind !== 'word') return undefined
    words.push(token.text)
    if (isCapitalised(token)) return mentionOf(`name:${words.join('-')}`, place + 1)
  }
  return undefined
}

/** `Gesetz vom 20. Dezember 2008`: the date names the law. */
function readGermanDate(tokens: readonly Token[], at: number): ActMention | undefined {
  const day = digitsAt(tokens, at + 2, 1, 2)
  if (day === undefined) return undefined
  const month = skip(tokens, at + 3, '.')
  const year = digitsAt(tokens, month + 1, 4, 4)
  if (year === undefined) return mentionOf(`name:gesetz-vom-${day}`, at + 3)
  return mentionOf(`name:gesetz-vom-${day}-${tokens[month]?.text ?? ''}-${year}`, month + 2)
}

/** `Neuntes Buch Sozialgesetzbuch`, `des Neunten Buches Sozialgesetzbuch`: the act that is cited as `SGB IX`. */
function readSocialCode(tokens: readonly Token[], at: number): ActMention | undefined {
  const book = SOCIAL_VOLUMES.indexOf((tokens[at]?.text ?? '').replace(/(?:es|en|er|e)$/, ''))
  if (book < 0 || !reads(tokens, at + 1, 'buch', 'buches', 'buchs')) return undefined
  const numeral = SOCIAL_NUMERALS[book] ?? ''
  return reads(tokens, at + 2, 'sozialgesetzbuch', 'sozialgesetzbuchs')
    ? mentionOf(`de:sgb-${numeral}`, at + 3)
    : undefined
}

/** `code de l'urbanisme`, `code forestier`, `loi Sapin II`, `loi du 1er juillet 1901`. */
function readFrenchName(tokens: readonly Token[], at: number): ActMention | undefined {
  const word = tokens[at]?.text ?? ''
  if (word === 'code') return readFrenchCode(tokens, at)
  if (!FRENCH_INSTRUMENTS.has(word)) return undefined
  return readFrenchDate(tokens, at, word) ?? (word === 'loi' ? readFrenchSurname(tokens, at) : undefined)
}

function readFrenchCode(tokens: readonly Token[], at: number): ActMention | undefined {
  const words = ['code']
  let place = at + 1
  while (FRENCH_ADJECTIVE.test(tokens[place]?.text ?? '') && place <= at + 2) words.push(tokens[place++]?.text ?? '')
  const links = linksFrom(tokens, place)
  const noun = tokens[place + links.length]
  if (links.length > 0 && noun?.kind === 'word' && !FUNCTION_WORD_FORMS.has(noun.text)) {
    if (['conduite', 'conduct', 'deontologie', 'ethique', 'bonne'].includes(noun.text)) return undefined
    words.push(...links.filter((link) => link !== "'"), noun.text)
    place += links.length + 1
    while (FRENCH_ADJECTIVE.test(tokens[place]?.text ?? '') && words.length < 8) words.push(tokens[place++]?.text ?? '')
  }
  const isNamed = words.length > 1 && !reads(tokens, at + 1, 'postal', 'personnel', 'final', 'initial')
  return isNamed ? mentionOf(`fr:${words.join('-')}`, place) : undefined
}

function linksFrom(tokens: readonly Token[], at: number): string[] {
  const links: string[] = []
  while (links.length < 3 && FRENCH_LINKS.has(tokens[at + links.length]?.text ?? ''))
    links.push(tokens[at + links.length]?.text ?? '')
  return links
}

function readFrenchDate(tokens: readonly Token[], at: number, kind: string): ActMention | undefined {
  if (!reads(tokens, at + 1, 'du')) return undefined
  const day = digitsAt(tokens, at + 2, 1, 2)
  const month = skip(tokens, at + 3, 'er')
  const year = digitsAt(tokens, month + 1, 4, 4)
  if (day === undefined || year === undefined || tokens[month]?.kind !== 'word') return undefined
  return mentionOf(`fr:${kind}-${year}-${tokens[month].text}-${day}`, month + 2)
}

function readFrenchSurname(tokens: readonly Token[], at: number): ActMention | undefined {
  const name = tokens[at + 1]
  if (name?.kind !== 'word' || !isCapitalised(name)) return undefined
  const volume = tokens[at + 2]
  const numbered = volume !== undefined && /^[IVX]+$/.test(volume.raw) && isRoman(volume.text)
  return mentionOf(`name:loi-${name.text}${numbered ? `-${volume.text}` : ''}`, numbered ? at + 3 : at + 2)
}

function mentionOf(act: string, end: number): ActMention {
  return { act, end, standing: false, sections: undefined }
}
