import type { Citation } from '#law/citations/citation.ts'
import { FUNCTION_WORD_FORMS } from '#law/citations/lexer/tokens.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { isLegalNoun } from '#law/citations/names/nouns.ts'

/** Provisions that have a number of their own in the act, whatever chapter they are in. */
export const INDEPENDENTLY_NUMBERED: ReadonlySet<Citation['kind']> = new Set([
  'article',
  'section',
  'sign',
  'rule',
  'regulation',
])
/** Verbs that ask, so that a text which ends with a full stop is a request all the same. */
const REQUESTS = new Set(
  (
    'explain summarise summarize describe list compare show tell give find name please outline erklare nenne ' +
    'vergleiche beschreibe zeige expliquez explique citez decrivez comparez'
  ).split(' '),
)
/** No law speaks of itself in the first person. */
const FIRST_PERSON = new Set(
  'my me we our ich mein meine meinen meinem meiner wir unser unsere je mon mes nous'.split(' '),
)
const STATEMENT_TOKENS_MIN = 10
/** No question is as long without a question mark. */
const LONG_TOKENS_MIN = 25
const ENDS = new Set(['.', ';', ':', ',', 'and', 'or', 'und', 'oder', 'et', 'ou'])
const NAMED_BY_YEAR = /^name:(\d{4})-([a-z]+)$/
/** Nouns of a backward reference (`of that Regulation`), and the letter of the CELEX numbers that they mean. */
const BACKWARD_NOUNS: ReadonlyMap<string, string> = new Map([
  ['regulation', 'R'],
  ['regulations', 'R'],
  ['verordnung', 'R'],
  ['reglement', 'R'],
  ['directive', 'L'],
  ['directives', 'L'],
  ['richtlinie', 'L'],
  ['decision', 'D'],
  ['beschlusses', 'D'],
  ['recommendation', 'H'],
  ['treaty', '1'],
  ['code', ''],
  ['act', ''],
  ['law', ''],
  ['order', ''],
  ['convention', ''],
  ['loi', ''],
])

/**
 * Whether a text states law rather than asks about it. Such a text cites its own provisions without an act, so that an
 * act which stands elsewhere in it is no reason to take a provision for one of that act.
 */
export function isStatement(tokens: TokenStream): boolean {
  if (tokens.length < STATEMENT_TOKENS_MIN || REQUESTS.has(tokens.text(0))) return false
  if (tokens.some((token, at) => token.text === '?' || FIRST_PERSON.has(token.text) || isI(tokens, at))) return false
  return tokens.length >= LONG_TOKENS_MIN || ENDS.has(tokens.text(tokens.length - 1))
}

/** `I want …`, and no numeral as in `Annex I applies`. */
function isI(tokens: TokenStream, at: number): boolean {
  if (tokens.get(at)?.raw !== 'I' || !/^\p{Ll}+$/u.test(tokens.raw(at + 1))) return false
  return at === 0 || tokens.reads(at - 1, '.', ',', 'and', 'but', 'if', 'that', 'because')
}

/** The letter of the act's type that `of that Regulation` after a provision refers back to; '' for any act. */
function backwardType(tokens: TokenStream, end: number): string | undefined {
  if (tokens.reads(end, 'thereof')) return ''
  const from = tokens.skip(end, ',')
  const of = tokens.skip(from, 'of', 'to', 'in', 'de', 'du')
  const isBackward =
    (of > from && tokens.reads(of, 'that', 'those', 'meme')) || (of === end && tokens.reads(of, 'dieser'))
  return isBackward ? BACKWARD_NOUNS.get(tokens.text(of + 1)) : undefined
}

/** Gives provisions `of that Regulation` the nearest act before them that is of this type. */
export function withBackwardActs(citations: readonly Citation[], tokens: TokenStream): Citation[] {
  const resolved: Citation[] = []
  for (const citation of citations) {
    const isOpen = citation.act === undefined && citation.kind !== 'act'
    const act = isOpen ? backwardAct(citation, resolved, tokens) : undefined
    resolved.push(act === undefined ? citation : { ...citation, act, scope: undefined })
    if (act !== undefined) disown(resolved)
  }
  return resolved
}

/** `Artikeln 19 bis 26 dieser Verordnung`: the items before the last are no self-citations either. */
function disown(citations: Citation[]): void {
  for (let index = citations.length - 2; index >= 0; index -= 1) {
    const citation = citations[index]
    if (citation?.scope !== 'self-citation') return
    citations[index] = { ...citation, scope: undefined }
  }
}

function backwardAct(citation: Citation, before: readonly Citation[], tokens: TokenStream): string | undefined {
  const type = backwardType(tokens, citation.to)
  return type === undefined
    ? actOfException(citation, before.at(-1), tokens)
    : before.findLast((other) => isOfType(other.act, type))?.act
}

/** `the second book of the HGB, with the exception of § 5`: the act that is named before it. */
function actOfException({ from }: Citation, before: Citation | undefined, tokens: TokenStream): string | undefined {
  const isGerman = tokens.reads(from - 1, 'der', 'des', 'von') && tokens.reads(from - 2, 'ausnahme')
  const isException = isGerman || (tokens.reads(from - 1, 'of') && tokens.reads(from - 2, 'exception'))
  return isException && before?.kind === 'act' ? before.act : undefined
}

function isOfType(act: string | undefined, type: string): boolean {
  const celex = /^celex:(\d)\d{4}([A-Z]+)/.exec(act ?? '')
  if (act === undefined || celex === null || type === '') return act !== undefined
  return celex[2] === type || celex[1] === type
}

/** Acts by their year alone become the acts of that year that the text names. */
export function withActsOfYears(citations: readonly Citation[]): readonly Citation[] {
  const acts = citations.flatMap(({ act }) => act ?? [])
  return citations.map((citation) =>
    citation.act === undefined ? citation : { ...citation, act: actOfYear(citation.act, acts) },
  )
}

/** `section 5 of the 1998 Act`: of the acts of the text, the one that has this year and is meant. */
function actOfYear(act: string, others: readonly string[]): string {
  const [, year] = NAMED_BY_YEAR.exec(act) ?? []
  if (year === undefined) return act
  const sameYear = new Set(others.filter((other) => other !== act && yearOf(other) === year))
  const [only] = sameYear.size === 1 ? sameYear : []
  return only ?? act
}

function yearOf(act: string): string | undefined {
  return /^name:.*-(\d{4})$/.exec(act)?.[1] ?? /^(?:ukpga|uksi):(\d{4})\//.exec(act)?.[1]
}

/**
 * The act that a provision of a statement takes from another one: a comment from the section that it explains, and a
 * part of an article from another part of it (`Article 35(9) and forms under Article 35(10) of Directive 2009/138/EC`).
 */
export function actOfSameProvision(citation: Citation, citations: readonly Citation[]): string | undefined {
  const givers = citations.filter(({ act, path }) => act !== undefined && path.length > 0)
  if (citation.kind !== 'comment') return onlyActOf(givers.filter((giver) => isSameProvision(citation, giver)))
  // `§ 1003.4` is section 4 of its part.
  const sections = givers.filter(({ pointed, act }) => pointed && act?.startsWith('cfr:') === true)
  const explained = sections.filter(({ path }) => path[1] === citation.path[0])
  return onlyActOf(explained.length > 0 ? explained : sections.filter(({ act }) => /^cfr:\d+\/\d/.test(act ?? '')))
}

/**
 * The act that a text amends: `The Waste Act 2003 is amended as follows: after section 3 insert`, `In the Police Act
 * 1997, after section 9 insert`.
 */
export function amendedAct(
  citation: Citation,
  citations: readonly Citation[],
  tokens: TokenStream,
): string | undefined {
  if (!INDEPENDENTLY_NUMBERED.has(citation.kind)) return undefined
  const before = citations.findLast(({ kind, from }) => kind === 'act' && from < citation.from)
  if (before === undefined) return undefined
  const isAmended = tokens.reads(before.to, 'is', 'are') && tokens.reads(before.to + 1, 'amended')
  return isAmended || isInsertion(before, citation, tokens) ? before.act : undefined
}

/** `In the Police Act 1997, after section 9`: a place in an act. */
function isInsertion({ from, to }: Citation, citation: Citation, tokens: TokenStream): boolean {
  const start = tokens.reads(from - 1, 'the') ? from - 2 : from - 1
  const index = tokens.skip(to, ',')
  return tokens.reads(start, 'in') && tokens.reads(index, 'in', 'after', 'before') && citation.from === index + 1
}

/** `Article 35(9)` and `Article 35(10)`, `COBS, Chapter 8` and `Rule 8.5`. */
function isSameProvision({ kind, path: [number] }: Citation, { kind: other, path: [first], act }: Citation): boolean {
  if (act?.startsWith('name:') === true) return false
  return (kind === other && number === first) || (kind === 'rule' && first === `chapter-${number ?? ''}`)
}

/** `CBAM certificates`, `CRR-Kreditinstitute`: initials before a noun name what the act is about. */
export function isAttributive({ kind, from, to }: Citation, tokens: TokenStream): boolean {
  const next = tokens.get(to)
  if (kind !== 'act' || to !== from + 1 || next === undefined || !/^\p{Lu}{2,}$/u.test(tokens.raw(from))) return false
  if (next.text === '-') return next.glued && tokens.isGlued(to + 1) && tokens.isWord(to + 1)
  return /^\p{L}{3,}$/u.test(next.raw) && !FUNCTION_WORD_FORMS.has(next.text) && !isLegalNoun(next.text)
}

function onlyActOf(citations: readonly Citation[]): string | undefined {
  const acts = new Set(citations.map((citation) => actOf(citation)))
  const [only] = acts.size === 1 ? acts : []
  return only
}

/** The act of a provision; of `12 CFR 1026.61` part 1026 of the title. */
export function actOf({ act, pointed, path: [part] }: Citation): string | undefined {
  return act !== undefined && pointed && /^cfr:\d+$/.test(act) ? `${act}/${part ?? ''}` : act
}
