import type { Citation } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { areParts } from '#law/citations/provisions/qualifiers.ts'
import { actOf, INDEPENDENTLY_NUMBERED, takeAct, type Text } from './neighbours.ts'

/** Verbs that ask, so that a text which ends with a full stop is a request all the same. */
const REQUESTS =
  /^(?:explain|summari[sz]e|describe|list|compare|show|tell|give|find|name|please|outline|erklare|nenne|vergleiche|beschreibe|zeige|expli(?:quez|que)|citez|decrivez|comparez)$/
/** No law speaks of itself in the first person. */
const FIRST_PERSON = /^(?:my|me|we|our|ich|mein(?:e[nmr]?)?|wir|unsere?r?|je|mon|mes|nous)$/
const STATEMENT_TOKENS_MIN = 10
/** No question is as long without a question mark. */
const LONG_TOKENS_MIN = 25
const ENDS = ['.', ';', ':', ',', 'and', 'or', 'und', 'oder', 'et', 'ou']
/** Kinds whose act may be elsewhere in the question (`Under the GDPR, what does Article 17 say`). */
const KINDS_WITH_DISTANT_ACT = /^(?:article|section|sign|rule|recital|annex|comment)$/

/**
 * Whether a text states law rather than asks about it. Such a text cites its own provisions without an act, so that an
 * act which stands elsewhere in it is no reason to take a provision for one of that act.
 */
export function isStatement(tokens: TokenStream): boolean {
  if (tokens.length < STATEMENT_TOKENS_MIN || REQUESTS.test(tokens.text(0))) return false
  if (tokens.some(({ text }, at) => text === '?' || FIRST_PERSON.test(text) || isI(tokens, at))) return false
  return tokens.length >= LONG_TOKENS_MIN || tokens.reads(tokens.length - 1, ...ENDS)
}

/** `I want …`, and no numeral as in `Annex I applies`. */
function isI(tokens: TokenStream, at: number): boolean {
  if (tokens.raw(at) !== 'I' || !/^\p{Ll}+$/u.test(tokens.raw(at + 1))) return false
  return at === 0 || tokens.reads(at - 1, '.', ',', 'and', 'but', 'if', 'that', 'because')
}

/** Provisions of a question take its only act. */
export function takeOnlyAct(citations: readonly Citation[], { states }: Text): readonly Citation[] {
  if (states) return citations
  const certain = citations.filter(
    ({ act, kind, confidence }) => act !== undefined && (confidence === 'certain' || kind !== 'act'),
  )
  // An act in a form that does not count by itself is one where there is no other.
  const only = onlyOne((certain.length > 0 ? certain : citations).map(({ act }) => act))
  if (only === undefined) return citations
  const givers = new Set(citations.flatMap(({ act, kind }) => (act === only ? [kind] : [])))
  return citations.map((citation) => (takesDistantly(citation, only, givers) ? takeAct(citation, only) : citation))
}

/**
 * Whether a provision takes the only act of the question from afar. A name of its own (`the GDPR`) gives its act to all;
 * a provision gives its act to others of the same kind, unless only its own words name the act.
 */
function takesDistantly({ kind, scope }: Citation, act: string, givers: ReadonlySet<Citation['kind']>): boolean {
  if (!KINDS_WITH_DISTANT_ACT.test(kind) || (scope === 'an act' && act.startsWith('cfr:'))) return false
  if (givers.has('act')) return true
  return !act.startsWith('name:') && (!/^(?:de|fr):/.test(act) || givers.has(kind))
}

/** Provisions of a statement take the act that stands after their parts, that another part of them has, or that changes. */
export function takeSameAct(citations: readonly Citation[], { tokens, states }: Text): readonly Citation[] {
  if (!states) return citations
  return citations.map((citation, index) => {
    if (citation.act !== undefined) return citation
    const next = citations[index + 1]
    const isBeforeAct = next?.kind === 'act' && areParts(tokens, citation.to, next.from)
    const act = isBeforeAct
      ? next.act
      : (actOfSameProvision(citation, citations) ?? amendedAct(citation, citations.slice(0, index), tokens))
    return takeAct(citation, act)
  })
}

/**
 * The act that a provision of a statement takes from another one: a comment from the section that it explains, and a
 * part of an article from another part of it (`Article 35(9) and forms under Article 35(10) of Directive 2009/138/EC`).
 */
function actOfSameProvision(citation: Citation, citations: readonly Citation[]): string | undefined {
  const givers = citations.filter(({ act, path }) => act !== undefined && path.length > 0)
  if (citation.kind !== 'comment') return onlyOne(givers.filter((giver) => isSameProvision(citation, giver)).map(actOf))
  // `§ 1003.4` is section 4 of its part.
  const sections = givers.filter(({ pointed, act }) => pointed && act?.startsWith('cfr:') === true)
  const explained = sections.filter(({ path }) => path[1] === citation.path[0])
  const ofPart = sections.filter(({ act }) => /^cfr:\d+\/\d/.test(act ?? ''))
  return onlyOne((explained.length > 0 ? explained : ofPart).map(actOf))
}

/** `Article 35(9)` and `Article 35(10)`, `COBS, Chapter 8` and `Rule 8.5`. */
function isSameProvision({ kind, path: [number] }: Citation, { kind: other, path: [first], act }: Citation): boolean {
  if (act?.startsWith('name:') === true) return false
  return (kind === other && number === first) || (kind === 'rule' && first === `chapter-${number ?? ''}`)
}

/**
 * The act that a text amends: `The Waste Act 2003 is amended as follows: after section 3 insert`, `In the Police Act
 * 1997, after section 9 insert`.
 */
function amendedAct({ kind, from }: Citation, before: readonly Citation[], tokens: TokenStream): string | undefined {
  const act = INDEPENDENTLY_NUMBERED.test(kind) ? before.findLast((other) => other.kind === 'act') : undefined
  if (act === undefined) return undefined
  const isAmended = tokens.reads(act.to, 'is', 'are') && tokens.reads(act.to + 1, 'amended')
  const place = tokens.skip(act.to, ',')
  const start = tokens.reads(act.from - 1, 'the') ? act.from - 2 : act.from - 1
  const isPlace = tokens.reads(start, 'in') && tokens.reads(place, 'in', 'after', 'before') && from === place + 1
  return isAmended || isPlace ? act.act : undefined
}

/** The act of all that have one, if it is the same. */
function onlyOne(acts: readonly (string | undefined)[]): string | undefined {
  const [only, another] = new Set(acts.filter((act) => act !== undefined))
  return another === undefined ? only : undefined
}
