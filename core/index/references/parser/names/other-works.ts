import { isRoman } from '#core/index/references/parser/lexer/numbers.ts'
import { FUNCTION_WORD_FORMS, isCapitalised, reads, skip } from '#core/index/references/parser/lexer/tokens.ts'
import type { Token } from '#core/index/references/parser/lexer/tokens.ts'
import type { ActAliases } from './aliases.ts'
import {
  GENITIVES,
  OTHER_WORKS,
  POSSESSIVES,
  PRIVATE_WORKS,
  SELF_REFERENCES,
  STANDARDS,
  isLegalNoun,
  isPrivateWork,
  isTreaty,
} from './not-acts.ts'

const STANDARD_TOKENS_MAX = 12
const STANDARD_SIGNS = new Set(['/', '-', ':', '.'])
/** Standards that are cited without a number. */
const UNNUMBERED = new Set(['gaap', 'wcag', 'pci', 'owasp', 'cobit', 'itil', 'eurocode', 'tisax', 'togaf'])
const POSSESSED_WORDS_MAX = 3
/** `the annual report`, `the owner's manual`: words before the noun. */
const OTHER_WORDS_BEFORE_MAX = 2
/** `the Commission shall report`: what begins with a verb is no work. */
const AUXILIARIES = ['shall', 'must', 'may', 'can', 'should', 'will', 'is', 'are', 'to', 'applies', 'apply']
/** Verbs of price and place after an article of a shop. */
const PRICED = new Set(['kostet', 'kosten', 'costs', 'cost', 'coute', 'coutent'])

/** Whether a provision belongs to its own text or to a thing: `above`, `hereof`, `ci-dessous`, `kostet 4 €`. */
export function isRelative(tokens: readonly Token[], at: number): boolean {
  const index = skip(tokens, at, ',', '(')
  const word = tokens[index]?.text ?? ''
  if (SELF_REFERENCES.has(word) || PRICED.has(word)) return true
  return (
    word === 'ci' && reads(tokens, index + 1, '-') && reads(tokens, index + 2, 'dessus', 'dessous', 'apres', 'avant')
  )
}

/** `nach § 4 den Vertrag beenden`, `§ 196 Absatz 1, die nach den Bedingungen`: what follows is no genitive. */
export function startsClause(tokens: readonly Token[], at: number): boolean {
  return reads(tokens, at, ',')
    ? reads(tokens, at + 1, 'der', 'die', 'das', 'den', 'dem', 'dessen', 'deren', 'denen', 'the')
    : reads(tokens, at, 'die', 'das', 'den') || (reads(tokens, at, 'von') && reads(tokens, at + 1, 'dem'))
}

/** `Article 5 under the conditions laid down`, `l'article 22-1, dans les conditions fixées`: how it applies. */
export function isManner(tokens: readonly Token[], from: number, at: number): boolean {
  const noun = reads(tokens, at, 'the', 'les') ? at + 1 : at
  if (!reads(tokens, noun, 'conditions', 'terms', 'form', 'forms', 'formes', 'application')) return false
  return reads(tokens, skip(tokens, from, ','), 'under', 'in', 'on', 'to', 'within', 'dans', 'aux')
}

/** `this Section 8`, `dieser § 4`: a provision of the text that the words stand in. */
export function isOfOwnText(tokens: readonly Token[], at: number): boolean {
  return reads(tokens, at - 1, 'this', 'dieser', 'dieses', 'diesem', 'diesen', 'cet', 'cette', 'present', 'presente')
}

/** `of this title`, `to this Regulation`, `dieses Gesetzes`, `du présent code`: a provision of the own text. */
export function belongsToOwnText(tokens: readonly Token[], end: number): boolean {
  const index = skip(tokens, end, 'of', 'to', 'in', 'du', 'de')
  return reads(tokens, skip(tokens, index, 'la'), 'this', 'dieses', 'dieser', 'present', 'presente')
}

/** `The Recipient may disclose the Confidential Information under Section 8.`: what parties agree. */
export function isOfContract(tokens: readonly Token[]): boolean {
  return tokens.some((token, at) => {
    const next = tokens[at + 1]
    if (reads(tokens, at, 'receiving', 'disclosing')) return next?.text === 'party' || next?.text === 'parties'
    if (token.text === 'this') return next?.text === 'agreement'
    if (at === 0 || !isCapitalised(token)) return false
    if (token.text === 'confidential') return next?.text === 'information' && isCapitalised(next)
    return token.text === 'recipient' || token.text === 'discloser'
  })
}

/** `the annual report`, `my lease`, `ISO 27001`: what follows a provision and a word such as `of`. */
export function isOtherWork(tokens: readonly Token[], at: number, aliases: ActAliases): boolean {
  if (reads(tokens, at + 2, 'sozialgesetzbuch', 'sozialgesetzbuchs') || reads(tokens, at, ...AUXILIARIES)) return false
  if (endOfStandard(tokens, at) !== undefined || isPossessed(tokens, at, POSSESSIVES)) return true
  if (isInternalRules(tokens, at)) return true
  let [index, words] = [at, 0]
  for (; words <= OTHER_WORDS_BEFORE_MAX; words += 1) {
    const token = tokens[index]
    if (token?.kind !== 'word' || (words > 0 && FUNCTION_WORD_FORMS.has(token.text))) return false
    if (isTreaty(tokens, index) || aliases.find(tokens, index) !== undefined) return false
    if (isLegalNoun(token.text)) return false
    if (OTHER_WORKS.has(token.text) || isPrivateWork(token.text))
      return !isPartOfName(tokens, index) && !isCourse(tokens, index)
    index = reads(tokens, index + 1, "'") && reads(tokens, index + 2, 's') ? index + 3 : index + 1
  }
  return false
}

/** `in the course of business`: no course that is taught. */
function isCourse(tokens: readonly Token[], at: number): boolean {
  return reads(tokens, at, 'course') && reads(tokens, at + 1, 'of')
}

/** `Prospectus Regulation`, `Unfair Contract Terms Act`: a work's word within the name of an act. */
function isPartOfName(tokens: readonly Token[], at: number): boolean {
  for (let index = at; index <= at + 3 && isCapitalised(tokens[index]); index += 1)
    if (isLegalNoun(tokens[index]?.text ?? '')) return true
  return false
}

/**
 * `§ 4 AGB`, `§ 3 Arbeitsvertrag`, `section 5.2 (ISO 27001)`, `§ 5 meines Mietvertrags`: what follows a provision
 * directly, or after its links.
 */
export function isOtherWorkAfter(tokens: readonly Token[], direct: number, afterLinks: number): boolean {
  const possessives = afterLinks > direct ? POSSESSIVES : GENITIVES
  if (isPossessed(tokens, afterLinks, possessives) || endOfStandard(tokens, afterLinks) !== undefined) return true
  const token = tokens[direct]
  return token?.kind === 'word' && /^\p{Lu}/u.test(token.raw) && isPrivateWork(token.text)
}

/** The position after a work that is no legislation, if one stands here: `ISO 27001`, `AGB`, `Form 1040`. */
export function endOfOtherWork(tokens: readonly Token[], at: number): number | undefined {
  const standard = endOfStandard(tokens, at)
  if (standard !== undefined) return standard
  const token = tokens[at]
  if (token?.kind !== 'word' || !/^\p{Lu}/u.test(token.raw)) return undefined
  if (token.text === 'form' && tokens[at + 1]?.kind === 'number') return at + 2
  return PRIVATE_WORKS.has(token.text) && token.raw === token.raw.toUpperCase() ? at + 1 : undefined
}

/** Reads a standard with its number: `ISO/IEC 27001:2022`, `NIST SP 800-53`, `PCI DSS`, `SOC 2 Type II`. */
function endOfStandard(tokens: readonly Token[], at: number): number | undefined {
  const first = tokens[at]
  if (first === undefined || !isPublisher(first)) return undefined
  let end = at + 1
  let numbered = UNNUMBERED.has(first.text)
  for (; end < at + STANDARD_TOKENS_MAX; end += 1) {
    const token = tokens[end]
    if (token === undefined) break
    const isNumber = token.kind === 'number'
    numbered ||= isNumber
    if (!isNumber && !isInStandard(tokens, end)) break
  }
  while (tokens[end - 1]?.kind === 'sign') end -= 1
  return numbered ? end : undefined
}

function isPublisher(token: Token): boolean {
  if (token.kind !== 'word' || !STANDARDS.has(token.text)) return false
  return token.text.length >= 3 ? !FUNCTION_WORD_FORMS.has(token.text) : token.raw === token.raw.toUpperCase()
}

function isInStandard(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at]
  if (token === undefined) return false
  if (token.kind === 'sign') return STANDARD_SIGNS.has(token.text) && token.glued && tokens[at + 1]?.glued === true
  if (/^(?:type|typ)$/.test(token.text)) return tokens[at + 1]?.kind === 'word' && isRoman(tokens[at + 1]?.text ?? '')
  return /^\p{Lu}{1,5}$/u.test(token.raw)
}

function isPossessed(tokens: readonly Token[], at: number, possessives: ReadonlySet<string>): boolean {
  if (!possessives.has(tokens[at]?.text ?? '')) return false
  for (let index = at + 1; index <= at + POSSESSED_WORDS_MAX; index += 1)
    if (isLegalNoun(tokens[index]?.text ?? '')) return false
  return tokens[at + 1]?.kind === 'word'
}

/** `règlement intérieur`, `code de conduite`, `code of conduct`. */
function isInternalRules(tokens: readonly Token[], at: number): boolean {
  if (reads(tokens, at, 'reglement')) return reads(tokens, at + 1, 'interieur')
  const code = reads(tokens, at, 'the', 'a') ? at + 1 : at
  return (
    reads(tokens, code, 'code', 'codes') &&
    reads(tokens, code + 1, 'of', 'de') &&
    reads(tokens, code + 2, 'conduct', 'conduite', 'ethics', 'practice')
  )
}
