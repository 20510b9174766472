import { isPrivateOrder } from '#law/citations/grammars/de.ts'
import { FUNCTION_WORD_FORMS } from '#law/citations/lexer/tokens.ts'
import type { Token, TokenStream } from '#law/citations/lexer/tokens.ts'
import { readRoman } from '#law/citations/provisions/numbers.ts'
import type { ActAliases } from './aliases.ts'
import { GENITIVES, isLegalNoun, isTreaty, NON_STATUTORY, POSSESSIVES, PRIVATE_SOURCES, STANDARDS } from './not-acts.ts'

const STANDARD_TOKENS_MAX = 12
const STANDARD_SIGNS = new Set(['/', '-', ':', '.'])
/** Standards that are cited without a number. */
const UNNUMBERED = new Set(['gaap', 'wcag', 'pci', 'owasp', 'cobit', 'itil', 'eurocode', 'tisax', 'togaf'])
const POSSESSED_WORDS_MAX = 3
/** `the annual report`, `the owner's manual`: words before the noun. */
const WORDS_BEFORE_MAX = 2
/** `the Commission shall report`: what begins with a verb is no source. */
const AUXILIARIES = ['shall', 'must', 'may', 'can', 'should', 'will', 'is', 'are', 'to', 'applies', 'apply']

/** Ends of German names of such sources: `§ 2 der Vereinssatzung`, `§ 5 des Kooperationsvertrags`. */
const PRIVATE_ENDS =
  /(?:vertrag|vertrages|vertrags|vereinbarung|bedingungen|satzung|versicherungspolice|zeitung|broschure|handbuch)$/
/** Treaties between states, and by-laws of municipalities. */
const PUBLIC_TREATIES = /^(?:.*staatsvertrag|einigungsvertrag|.*grundlagenvertrag|lissabon.*|grundungsvertrag)(?:e?s)?$/

/** `Article 5 under the conditions laid down`, `l'article 22-1, dans les conditions fixées`: how it applies. */
export function isManner(tokens: TokenStream, from: number, at: number): boolean {
  const noun = tokens.reads(at, 'the', 'les') ? at + 1 : at
  if (!tokens.reads(noun, 'conditions', 'terms', 'form', 'forms', 'formes', 'application')) return false
  return tokens.reads(tokens.skip(from, ','), 'under', 'in', 'on', 'to', 'within', 'dans', 'aux')
}

/** `The Recipient may disclose the Confidential Information under Section 8.`: what parties agree. */
export function isOfContract(tokens: TokenStream): boolean {
  return tokens.some((token, at) => {
    const next = tokens.get(at + 1)
    if (tokens.reads(at, 'receiving', 'disclosing')) return next?.text === 'party' || next?.text === 'parties'
    if (token.text === 'this') return next?.text === 'agreement'
    if (at === 0 || !tokens.isCapitalised(at)) return false
    if (token.text === 'confidential') return next?.text === 'information' && tokens.isCapitalised(at + 1)
    return token.text === 'recipient' || token.text === 'discloser'
  })
}

function isPrivateSource(folded: string): boolean {
  if (PRIVATE_SOURCES.has(folded)) return true
  return (PRIVATE_ENDS.test(folded) && !PUBLIC_TREATIES.test(folded)) || isPrivateOrder(folded)
}

/** `the annual report`, `my lease`, `ISO 27001`: what follows a provision and a word such as `of`. */
export function isNonStatutory(tokens: TokenStream, at: number, aliases: ActAliases): boolean {
  if (tokens.reads(at + 2, 'sozialgesetzbuch', 'sozialgesetzbuchs') || tokens.reads(at, ...AUXILIARIES)) return false
  if (endOfStandard(tokens, at) !== undefined || isPossessed(tokens, at, POSSESSIVES)) return true
  if (isInternalRules(tokens, at)) return true
  let [index, words] = [at, 0]
  for (; words <= WORDS_BEFORE_MAX; words += 1) {
    const token = tokens.get(index)
    if (token?.kind !== 'word' || (words > 0 && FUNCTION_WORD_FORMS.has(token.text))) return false
    if (isTreaty(tokens, index) || aliases.find(tokens, index) !== undefined) return false
    if (isLegalNoun(token.text)) return false
    if (NON_STATUTORY.has(token.text) || isPrivateSource(token.text))
      return !isPartOfName(tokens, index) && !isCourse(tokens, index)
    index = tokens.reads(index + 1, "'") && tokens.reads(index + 2, 's') ? index + 3 : index + 1
  }
  return false
}

/** `in the course of business`: no course that is taught. */
function isCourse(tokens: TokenStream, at: number): boolean {
  return tokens.reads(at, 'course') && tokens.reads(at + 1, 'of')
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
  const possessives = afterLinks > direct ? POSSESSIVES : GENITIVES
  if (isPossessed(tokens, afterLinks, possessives) || endOfStandard(tokens, afterLinks) !== undefined) return true
  const token = tokens.get(direct)
  return token?.kind === 'word' && /^\p{Lu}/u.test(token.raw) && isPrivateSource(token.text)
}

/** The position after a non-statutory source, if one stands here: `ISO 27001`, `AGB`, `Form 1040`. */
export function endOfNonStatutory(tokens: TokenStream, at: number): number | undefined {
  const standard = endOfStandard(tokens, at)
  if (standard !== undefined) return standard
  const token = tokens.get(at)
  if (token?.kind !== 'word' || !/^\p{Lu}/u.test(token.raw)) return undefined
  if (token.text === 'form' && tokens.isNumber(at + 1)) return at + 2
  return PRIVATE_SOURCES.has(token.text) && token.raw === token.raw.toUpperCase() ? at + 1 : undefined
}

/** Reads a standard with its number: `ISO/IEC 27001:2022`, `NIST SP 800-53`, `PCI DSS`, `SOC 2 Type II`. */
function endOfStandard(tokens: TokenStream, at: number): number | undefined {
  const first = tokens.get(at)
  if (first === undefined || !isPublisher(first)) return undefined
  let end = at + 1
  let numbered = UNNUMBERED.has(first.text)
  for (; end < at + STANDARD_TOKENS_MAX; end += 1) {
    const token = tokens.get(end)
    if (token === undefined) break
    const isNumber = token.kind === 'number'
    numbered ||= isNumber
    if (!isNumber && !isInStandard(tokens, end)) break
  }
  while (tokens.get(end - 1)?.kind === 'sign') end -= 1
  return numbered ? end : undefined
}

function isPublisher(token: Token): boolean {
  if (token.kind !== 'word' || !STANDARDS.has(token.text)) return false
  return token.text.length >= 3 ? !FUNCTION_WORD_FORMS.has(token.text) : token.raw === token.raw.toUpperCase()
}

function isInStandard(tokens: TokenStream, at: number): boolean {
  const token = tokens.get(at)
  if (token === undefined) return false
  if (token.kind === 'sign') return STANDARD_SIGNS.has(token.text) && token.glued && tokens.isGlued(at + 1)
  if (/^(?:type|typ)$/.test(token.text)) return tokens.isWord(at + 1) && readRoman(tokens.text(at + 1)) !== undefined
  return /^\p{Lu}{1,5}$/u.test(token.raw)
}

function isPossessed(tokens: TokenStream, at: number, possessives: ReadonlySet<string>): boolean {
  if (!possessives.has(tokens.text(at))) return false
  for (let index = at + 1; index <= at + POSSESSED_WORDS_MAX; index += 1)
    if (isLegalNoun(tokens.text(index))) return false
  return tokens.isWord(at + 1)
}

/** `règlement intérieur`, `code de conduite`, `code of conduct`. */
function isInternalRules(tokens: TokenStream, at: number): boolean {
  if (tokens.reads(at, 'reglement')) return tokens.reads(at + 1, 'interieur')
  const code = tokens.reads(at, 'the', 'a') ? at + 1 : at
  return (
    tokens.reads(code, 'code', 'codes') &&
    tokens.reads(code + 1, 'of', 'de') &&
    tokens.reads(code + 2, 'conduct', 'conduite', 'ethics', 'practice')
  )
}
