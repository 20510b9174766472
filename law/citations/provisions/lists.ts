import WORDS from '#law/citations/lexer/words.json' with { type: 'json' }
import { FUNCTION_WORD_FORMS, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { isContainer, readDesignator, readNumber, type Designator, type DesignatorKind } from './designators.ts'
import { readBrackets, type Designation, type Part } from './numbers.ts'
import { readQualifier, readQualifiers, readSibling, type Qualified } from './qualifiers.ts'
import { readRoman } from './roman.ts'

/** Further elements of a list are ignored. */
const LIST_ELEMENTS_MAX = 64
/** Parts of a section are numbered below: `§§ 437 Nr. 2, 323` names two sections. */
const PART_NUMBER_END = 100
const REMARK_TOKENS_MAX = 12

export interface Element {
  readonly parts: readonly Part[]
  /** Positions of the first token and after the last. */
  readonly from: number
  readonly to: number
  readonly hyphen?: boolean
  /** A number of its own, without parts. Without an act it may be something else (`Article 5(1) and 10 days`). */
  readonly alone?: boolean
}

/** The numbers after one word for their kind. */
export interface Provisions {
  readonly designator: Designator
  readonly elements: readonly Element[]
}

/** Divisions that are no provisions of their own: `Schedule 2, Part 1`, `Annex I Section C`. */
const DIVISIONS: Partial<Record<DesignatorKind, readonly string[]>> = {
  schedule: ['part', 'pt'],
  annex: ['part', 'section', 'abschnitt', 'teil', 'partie'],
}
const CONNECTORS = new Set(', ; and or und oder sowie et ou & to bis through until – -'.split(' '))
/** Between numbers, in languages without a grammar: `and`, and `to`. */
const FOREIGN_AND = new Set(WORDS.foreign_joining.split(' '))

/**
 * Reads the numbers after a designator: `5`, `12(1) and (2)`, `5, 6 and 7`, `433 Abs. 1 und 2`, `12–14`. Each item of a
 * list and each end of a range is one element.
 */
export function readList(tokens: TokenStream, designator: Designator): Element[] {
  const first = readFirst(tokens, designator)
  if (first === undefined) return []
  const elements: Element[] = [first]
  let last = first
  while (elements.length < LIST_ELEMENTS_MAX) {
    const next = readNext(tokens, designator, last)
    if (next === undefined) break
    elements.push(next)
    last = next
  }
  return elements
}

export function readFirst(tokens: TokenStream, designator: Designator): Element | undefined {
  const designation = readNumber(tokens, designator.end, designator)
  return designation === undefined || startsCitation(tokens, designation.end)
    ? undefined
    : qualified(tokens, designator, designator.end, designation)
}

function qualified(tokens: TokenStream, designator: Designator, from: number, designation: Designation): Element {
  const { parts, end, hyphen } = designation
  const more = readQualifiers(tokens, end, DIVISIONS[designator.kind], hasSigns(tokens, designator))
  const all = [...parts, ...more.parts]
  // `42 U.S.C. § 1983 note`, `12 CFR 1003.2, Appendix A`: what hangs under a provision is another one.
  const hung = hungAt(tokens, more.end, designator)
  if (hung === undefined) return { parts: all, from, to: more.end, hyphen: hyphen && more.parts.length === 0 }
  const own = all.findLastIndex(({ kind }) => kind === 'main')
  return {
    parts: all.map((part, index) => (index === own ? { ...part, text: part.text + hung.name } : part)),
    from,
    to: hung.to,
  }
}

/** Articles in whose language a section sign is a paragraph: `article 6, § 1`, but not `Art. 6, § 1`. */
function hasSigns(tokens: TokenStream, { kind, end }: Designator): boolean {
  const at = tokens.reads(end - 1, '.') ? end - 2 : end - 1
  return (
    kind === 'article' && (!tokens.isCapitalised(at) || tokens.reads(at, 'article', 'articolo', 'articulo', 'artigo'))
  )
}

/** What hangs under a section: a note, an appendix, a supplement. */
function hungAt(tokens: TokenStream, at: number, { kind }: Designator): { name: string; to: number } | undefined {
  const note = tokens.skip(tokens.skip(at, ',', '('), 'historical', 'statutory', 'revision', 'editorial')
  if (isNote(tokens, note)) return { name: '-note', to: tokens.skip(note + 1, tokens.reads(at, '(') ? ')' : '.') }
  const under = kind === 'section' || kind === 'sign' ? readDesignator(tokens, tokens.skip(at, ',')) : undefined
  if (under?.kind !== 'appendix' && under?.kind !== 'supplement') return undefined
  const number = readNumber(tokens, under.end, under)
  return number && { name: `-${under.kind}-${number.parts.map(({ text }) => text).join('/')}`, to: number.end }
}

/** A noun, and no verb as in `note that …`. */
function isNote(tokens: TokenStream, at: number): boolean {
  const next = tokens.get(tokens.skip(at + 1, '.'))
  if (!tokens.reads(at, 'note', 'notes', 'nt', 'nts')) return false
  if (tokens.reads(at, 'notes')) return next === undefined || next.kind === 'sign'
  return next === undefined || !/^(?:that|the|this|how|which|a|an|if|when|any)$/.test(next.text)
}

function readNext(tokens: TokenStream, designator: Designator, last: Element): Element | undefined {
  const at = afterConnector(tokens, last.to) ?? afterConnector(tokens, afterRemark(tokens, last.to))
  if (at === undefined) return undefined
  const brackets = readBrackets(tokens, at)
  // `Rule 3.2.4(b); or (b) the Fund Manager`: behind a semicolon stands the next item of the text.
  if (brackets.parts.length > 0 && !designator.plural && tokens.reads(last.to, ';')) return undefined
  if (brackets.parts.length > 0) return withBrackets(tokens, at, last, brackets)
  const lastKeyword = last.parts.findLast((part) => part.keyword !== '')?.keyword
  const keyword = lastKeyword === undefined ? undefined : readQualifier(tokens, at)
  if (keyword !== undefined) return inherited(tokens, at, last, keyword)
  // `point (b), a complaint`: an article of the language.
  const isArticle = tokens.reads(at, 'a') && tokens.isWord(at + 1) && !CONNECTORS.has(tokens.text(at + 1))
  if (lastKeyword !== undefined && !isArticle && (!designator.plural || isPart(tokens, at, last))) {
    const sibling = readSibling(tokens, at, lastKeyword)
    if (sibling !== undefined && !startsCitation(tokens, sibling.end)) return inherited(tokens, at, last, sibling)
  }
  const designation = readNumber(tokens, at, designator)
  const isWord = tokens.isWord(at)
  if (designation === undefined || startsCitation(tokens, designation.end)) return undefined
  // A capital letter after a comma is a numeral only where numerals are usual: chapters, annexes.
  if (isWord && /^[a-z]+$/.test(designation.parts[0]?.text ?? '')) return undefined
  if (isWord && !isContainer(designator.kind) && !continuesSeries(tokens, at, designation, last)) return undefined
  const alone = designation.parts.length === 1 && !isWord && !endsList(tokens, designation.end)
  return { ...qualified(tokens, designator, at, designation), alone }
}

/** `Article 28 or 29 on the market`, `Article 130, 131 or 132,`: what follows is no noun that the number counts. */
function endsList(tokens: TokenStream, at: number): boolean {
  const [number, next] = [tokens.get(at - 1), tokens.get(at)]
  if (/^(?:19|20)\d\d$/.test(number?.text ?? '')) return false
  if (next === undefined || FUNCTION_WORD_FORMS.has(next.text)) return true
  return [',', '.', ';', ':', '?', '(', ')', '[', ']'].includes(next.text)
}

/** `L. 121-1`, `B2`, and a numeral after a numeral: what begins with a letter and is no word. */
function continuesSeries(tokens: TokenStream, at: number, { parts }: Designation, last: Element): boolean {
  if (/^[a-z]\d/.test(parts[0]?.text ?? '')) return true
  return /^[IVXL]{2,}$/.test(tokens.raw(at)) && /^[IVXL]{2,}$/.test(tokens.raw(last.from))
}

/**
 * Lists ascend: in `§§ 280 Abs. 1, 3, 281` the 3 is another Absatz, and 281 another section. A number with an Absatz of
 * its own is also another section.
 */
function isPart(tokens: TokenStream, at: number, { parts }: Element): boolean {
  const value = Number.parseInt(tokens.text(at), 10)
  const isLess = value < PART_NUMBER_END && value < Number.parseInt(parts[0]?.text ?? '', 10)
  return isLess && readQualifier(tokens, at + 1) === undefined
}

/** Returns the previous element with the keyword's part, and all parts below it, replaced: `Abs. 1 und 2`. */
function inherited(tokens: TokenStream, from: number, { parts }: Element, next: Qualified): Element {
  const replaced = parts.findLastIndex(({ keyword }) => keyword !== '' && keyword === next.parts[0]?.keyword)
  return continued(tokens, from, replaced > 0 ? parts.slice(0, replaced) : parts, next)
}

/**
 * `6(1)(a)` and `(f)` is `6(1)(f)`; `20(e)(3)(ii)` and `(f)(2)` is `20(f)(2)`. Undefined if the brackets do not
 * continue the previous element.
 */
function withBrackets(tokens: TokenStream, from: number, last: Element, brackets: Qualified): Element | undefined {
  const { parts } = brackets
  let replaced = -1
  let best = 0
  for (let index = 1; index < last.parts.length; index += 1) {
    let length = 0
    while (length < parts.length && isSameKind(last.parts[index + length], parts[length])) length += 1
    if (length > 0 && length >= best) [replaced, best] = [index, length]
  }
  if (replaced < 0 || !ascends(last.parts[replaced], parts[0])) return undefined
  return continued(tokens, from, last.parts.slice(0, replaced), brackets)
}

/** Items of a list ascend: after `7.11.6(e)`, a `(c)` is the next item of the text, and no provision. */
function ascends(old: Part | undefined, part: Part | undefined): boolean {
  if (old === undefined || part === undefined || !/^[a-h]$/.test(old.text) || !/^[a-h]$/.test(part.text)) return true
  return part.text >= old.text
}

/** Compares digits, letters and Roman numerals. `i`, `v` and `x` are both letters and numerals. */
function isSameKind(old: Part | undefined, part: Part | undefined): boolean {
  if (old === undefined || part === undefined || old.kind !== part.kind) return false
  if (part.kind === 'digit' || /^[ivx]$/.test(old.text) || /^[ivx]$/.test(part.text)) return true
  return (readRoman(old.text) === undefined) === (readRoman(part.text) === undefined)
}

function continued(tokens: TokenStream, from: number, kept: readonly Part[], { parts, end }: Qualified): Element {
  const more = readQualifiers(tokens, end)
  return { parts: [...kept, ...parts, ...more.parts], from, to: more.end }
}

/** `articles 815 (deuxième alinéa) et 815-1`: the position after a remark in brackets. */
function afterRemark(tokens: TokenStream, at: number): number {
  if (!tokens.reads(at, '(')) return at
  for (let index = at + 1; index <= at + REMARK_TOKENS_MAX; index += 1)
    if (tokens.reads(index, ')'))
      return tokens.reads(index + 1, 'and', 'or', 'und', 'oder', 'et', 'ou') ? index + 1 : at
  return at
}

/** Returns the position after `,`, `and`, `–` or two of them (`, and`). Undefined if the list ends. */
export function afterConnector(tokens: TokenStream, at: number): number | undefined {
  // `tot en met 7`, `t/m 7`.
  if (tokens.reads(at, 'tot', 't') && tokens.reads(at + 2, 'met', 'm') && tokens.isNumber(at + 3)) return at + 3
  let index = at
  while (index < at + 2) {
    const token = tokens.get(index)
    // `artículos 5 a 7`, but `Article 5 a 30 day notice`.
    const isTo =
      token?.raw === 'a' && !/^(?:articles?|artikeln?|sections?|rules?|regulations?)$/.test(tokens.text(index - 2))
    const isAnd = token !== undefined && (isTo || FOREIGN_AND.has(token.raw)) && tokens.isNumber(index + 1)
    // `§ 300gg-91, -92`: the end of another number.
    if (index > at && tokens.reads(index, '-') && tokens.isGlued(index + 1)) return undefined
    if (token === undefined || !(CONNECTORS.has(token.text) || isAnd || (token.text === 'a' && token.raw === 'à')))
      break
    index += 1
  }
  return index === at ? undefined : index
}

/** A number before `CFR` or `U.S.C.` starts another reference. */
function startsCitation(tokens: TokenStream, at: number): boolean {
  return tokens.afterAbbreviation(at, 'cfr') !== undefined || tokens.afterAbbreviation(at, 'usc') !== undefined
}
