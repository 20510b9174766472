import { isPrivateOrder } from '#law/citations/grammars/de.ts'
import { FUNCTION_WORD_FORMS, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readDesignator } from '#law/citations/provisions/designators.ts'
import { readRoman } from '#law/citations/provisions/roman.ts'
import type { ActAliases } from './aliases.ts'
import { isLegalNoun, isTreaty } from './nouns.ts'

/** Sources without the force of law that have sections and articles as well, as folded words. */
const SOURCES =
  /^(?:report|contract|agreement|lease|terms|newspaper|book|form|paper|policy|scheme|rapport|contrat|formulaire|manuel|livre|journal|bail|catalogue|site|guide|statuts|cahier|devis|facture|berichte?s?|buche?s?|prufung|formulars?|klausur|romans?|anleitung|statuten)$/
/** Ends of German names of such sources: `§ 2 der Vereinssatzung`, `§ 5 des Kooperationsvertrags`. */
const PRIVATE_ENDS =
  /(?:vertrag(?:e?s)?|vereinbarung|bedingungen|satzung|versicherungspolice|zeitung|zeitschrift|broschure|handbuchs?)$/
/** Treaties between states. */
const PUBLIC_TREATIES = /^(?:.*staatsvertrag|einigungsvertrag|.*grundlagenvertrag|lissabon.*|grundungsvertrag)(?:e?s)?$/
/** Sources of a firm or of two parties, also directly after a provision or before it: `§ 4 AGB`, `AGB § 4`. */
const PRIVATE =
  /^(?:ag[bv]s?|avb|avv|cg[vua]|eula|tos|tou|nda|msa|sla|dpa|faqs?|agreement|contract|lease|terms|contrat|bail)$/
/** Publishers of technical and accounting standards. */
const STANDARDS =
  /^(?:iso|iec|din|en|sp|nist|ifrs|ias|astm|ansi|ieee|rfc|bs|etsi|pci|soc|asc|gaap|cobit|itil|owasp|isae?|vd[ei]|wcag|tisax)$/
/** Standards that are cited without a number. */
const UNNUMBERED = /^(?:gaap|wcag|pci|owasp|cobit|itil|tisax)$/
/** Owners of a source: `section 4 of our terms`, `Artikel 5 unserer Zeitung`, `article 12 de nos conditions`. */
const POSSESSIVE =
  /^(?:my|our|your|his|her|(?:mein|dein|unser|ihr)(?:e[nmrs]?)?|euer|eure|[nv]otre|[nv]os|m(?:on|a|es)|s(?:on|a|es))$/
/** Owners that follow a provision directly: `§ 5 meines Mietvertrags`, but not `nach Artikel 91b ihre Anteile`. */
const GENITIVE = /^(?:mein|dein|sein|unser|ihr|eur)e[rs]$/
const POSSESSED_WORDS_MAX = 3
/** `the annual report`, `the owner's manual`: words up to the noun. */
const WORDS_MAX = 3
const STANDARD_TOKENS_MAX = 12

/** Whether initials are those of a standard or a contract, and so of no act. */
export function isNonStatutoryInitials(folded: string): boolean {
  return STANDARDS.test(folded) || PRIVATE.test(folded)
}

/** `Article 5 under the conditions laid down`, `l'article 22-1, dans les conditions fixées`: how it applies. */
export function isManner(tokens: TokenStream, from: number, at: number): boolean {
  const noun = tokens.skip(at, 'the', 'les')
  if (!tokens.reads(noun, 'conditions', 'terms', 'form', 'forms', 'formes', 'application')) return false
  return tokens.reads(tokens.skip(from, ','), 'under', 'in', 'on', 'to', 'within', 'dans', 'aux')
}

/** `The Recipient may disclose the Confidential Information under Section 8.`: what parties agree. */
export function isOfContract(tokens: TokenStream): boolean {
  return tokens.some(({ text }, at) => {
    if (text === 'receiving' || text === 'disclosing') return tokens.reads(at + 1, 'party', 'parties')
    if (text === 'this') return tokens.reads(at + 1, 'agreement')
    if (at === 0 || !tokens.isCapitalised(at)) return false
    if (text === 'confidential') return tokens.reads(at + 1, 'information') && tokens.isCapitalised(at + 1)
    return text === 'recipient' || text === 'discloser'
  })
}

function isPrivateSource(folded: string): boolean {
  const isPrivate = PRIVATE.test(folded) || isPrivateOrder(folded)
  return isPrivate || (PRIVATE_ENDS.test(folded) && !PUBLIC_TREATIES.test(folded))
}

/** `the annual report`, `my lease`, `ISO 27001`: what follows a provision and a word such as `of`. */
export function isNonStatutory(tokens: TokenStream, at: number, aliases: ActAliases): boolean {
  if (endOfStandard(tokens, at) !== undefined || isPossessed(tokens, at, POSSESSIVE)) return true
  if (isInternalRules(tokens, at) || isPlainContainer(tokens, at, aliases)) return true
  // `the Commission shall report`: what begins with a verb is no source.
  if (tokens.reads(at, 'shall', 'must', 'may', 'can', 'should', 'will', 'is', 'are', 'to')) return false
  if (tokens.reads(at + 2, 'sozialgesetzbuch', 'sozialgesetzbuchs')) return false
  for (let [index, words] = [at, 0]; words < WORDS_MAX; index += 1, words += 1) {
    const text = tokens.text(index)
    if (!tokens.isWord(index) || (words > 0 && FUNCTION_WORD_FORMS.has(text))) return false
    if (isAct(tokens, index, aliases)) return false
    if (SOURCES.test(text) || isPrivateSource(text)) return !isPartOfName(tokens, index)
    if (tokens.reads(index + 1, "'") && tokens.reads(index + 2, 's')) index += 2
  }
  return false
}

/** `section 4 of the annual survey`: what contains a provision and has the noun of no act, in small letters. */
function isPlainContainer(tokens: TokenStream, at: number, aliases: ActAliases): boolean {
  if (!tokens.reads(at - 1, 'the', 'a', 'an') || !tokens.reads(at - 2, 'of') || tokens.reads(at - 3, ',')) return false
  for (let [index, words] = [at, 0]; words < WORDS_MAX; index += 1) {
    if (words > 0 && tokens.reads(index, 'of', 'and', 'for', 'to')) continue
    if (!tokens.isWord(index) || FUNCTION_WORD_FORMS.has(tokens.text(index))) return words > 0
    if (tokens.reads(index, 'rule') || isAct(tokens, index, aliases)) return false
    if (tokens.isCapitalised(index)) return words > 1 && !isPartOfName(tokens, index)
    if (readDesignator(tokens, index) !== undefined) return false
    words += 1
  }
  return true
}

function isAct(tokens: TokenStream, at: number, aliases: ActAliases): boolean {
  return isLegalNoun(tokens.text(at)) || isTreaty(tokens, at) || aliases.find(tokens, at) !== undefined
}

/** `Prospectus Regulation`, `Unfair Contract Terms Act`: a source's word within the name of an act. */
function isPartOfName(tokens: TokenStream, at: number): boolean {
  for (let index = at; index <= at + 3 && tokens.isCapitalised(index); index += 1)
    if (isLegalNoun(tokens.text(index))) return true
  return false
}

/**
 * `§ 4 AGB`, `§ 3 Arbeitsvertrag`, `section 5.2 (ISO 27001)`, `§ 5 meines Mietvertrags`: what follows a provision
 * directly, or after its links.
 */
export function isNonStatutoryAfter(tokens: TokenStream, direct: number, afterLinks: number): boolean {
  const possessive = afterLinks > direct ? POSSESSIVE : GENITIVE
  if (isPossessed(tokens, afterLinks, possessive) || endOfStandard(tokens, afterLinks) !== undefined) return true
  return tokens.isCapitalised(direct) && isPrivateSource(tokens.text(direct))
}

/** The position after a non-statutory source, if one stands here: `ISO 27001`, `AGB`, `Form 1040`. */
export function endOfNonStatutory(tokens: TokenStream, at: number): number | undefined {
  const standard = endOfStandard(tokens, at)
  if (standard !== undefined || !tokens.isCapitalised(at)) return standard
  if (tokens.reads(at, 'form') && tokens.isNumber(at + 1)) return at + 2
  return PRIVATE.test(tokens.text(at)) && !/\p{Ll}/u.test(tokens.raw(at)) ? at + 1 : undefined
}

/** Reads a standard with its number: `ISO/IEC 27001:2022`, `NIST SP 800-53`, `PCI DSS`, `SOC 2 Type II`. */
function endOfStandard(tokens: TokenStream, at: number): number | undefined {
  const [text, raw] = [tokens.text(at), tokens.raw(at)]
  // Two letters are a publisher only as capitals.
  if (!STANDARDS.test(text) || (raw.length < 3 && raw !== raw.toUpperCase())) return undefined
  let end = at + 1
  let numbered = UNNUMBERED.test(text)
  for (; end < at + STANDARD_TOKENS_MAX; end += 1) {
    const isNumber = tokens.isNumber(end)
    numbered ||= isNumber
    if (!isNumber && !isInStandard(tokens, end)) break
  }
  while (tokens.get(end - 1)?.kind === 'sign') end -= 1
  return numbered ? end : undefined
}

function isInStandard(tokens: TokenStream, at: number): boolean {
  if (tokens.reads(at, '/', '-', ':', '.')) return tokens.isGlued(at) && tokens.isGlued(at + 1)
  if (tokens.reads(at, 'type', 'typ')) return readRoman(tokens.text(at + 1)) !== undefined
  return /^\p{Lu}{1,5}$/u.test(tokens.raw(at))
}

function isPossessed(tokens: TokenStream, at: number, possessive: RegExp): boolean {
  if (!possessive.test(tokens.text(at)) || !tokens.isWord(at + 1)) return false
  for (let index = at + 1; index <= at + POSSESSED_WORDS_MAX; index += 1)
    if (isLegalNoun(tokens.text(index))) return false
  return true
}

/** `règlement intérieur`, `code de conduite`, `code of conduct`. */
function isInternalRules(tokens: TokenStream, at: number): boolean {
  if (tokens.reads(at, 'reglement')) return tokens.reads(at + 1, 'interieur')
  const code = tokens.skip(at, 'the', 'a')
  return (
    tokens.reads(code, 'code', 'codes') &&
    tokens.reads(code + 1, 'of', 'de') &&
    tokens.reads(code + 2, 'conduct', 'conduite', 'ethics', 'practice')
  )
}
