import type { Citation } from '#law/citations/citation.ts'
import { FUNCTION_WORD_FORMS, type TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { isOfContract } from '#law/citations/names/non-statutory.ts'
import { isLegalNoun } from '#law/citations/names/nouns.ts'
import {
  mergeContained,
  takeActOfNext,
  takeActOfPrevious,
  actOf,
  INDEPENDENTLY_NUMBERED,
  takeAct,
} from './neighbours.ts'
import type { Text } from './neighbours.ts'
import { areParts } from '#law/citations/provisions/qualifiers.ts'
import WORDS from '#law/citations/lexer/words.json' with { type: 'json' }

/** Citations that count, and those that count only if the corpus holds them in one document. */
export interface Resolved {
  readonly certain: readonly Citation[]
  readonly ifHeld: readonly Citation[]
  /** These and those that are ambiguous. */
  readonly all: readonly Citation[]
}

/** Each step gives citations the act that their antecedents have. Later steps see the result of earlier ones. */
const STEPS: readonly ((citations: readonly Citation[], text: Text) => readonly Citation[])[] = [
  // The number of a section has its part: `§ 1003.4(a)`.
  takeActOfPart,
  dropSectionsOfContract,
  // `Chapter 2 of Part 1 of the Data Act`.
  mergeContained,
  // `section 5 of the 1998 Act`, `Article 34 of that Regulation`.
  takeActsByYear,
  referBack,
  // `Article 5 and Article 6 GDPR`, `section 4 of the Data Act and section 5`.
  takeActOfNext,
  takeActOfPrevious,
  // A statement gives acts to parts of the same provision, a question its only act to all.
  takeSameAct,
  takeOnlyAct,
]

/**
 * Resolves what refers back: provisions without an act take the act of their antecedent. That act then no longer counts
 * by itself, and other provisions that remain ambiguous are dropped. A text that states law, or that names an act, has
 * no citations that count only if the corpus holds them in one document.
 */
export function resolveCitations(found: readonly Citation[], tokens: TokenStream, aliases: ActAliases): Resolved {
  const text = { tokens, aliases, states: isStatement(tokens) }
  const resolved = STEPS.reduce((citations, step) => step(citations, text), found)
  const given = new Set(resolved.flatMap(({ act, isInferred }) => (isInferred === true ? [act] : [])))
  const certain = resolved.filter((citation) => {
    const { kind, act, confidence } = citation
    if (confidence === 'if held' || (confidence !== 'certain' && (kind === 'act' || act === undefined))) return false
    return kind !== 'act' || (!given.has(act) && !(text.states && isAttributive(citation, tokens)))
  })
  const mayHold = !text.states && resolved.every(({ act }) => act === undefined)
  const ifHeld = resolved.filter(({ confidence, scope }) =>
    confidence === 'if held' ? !text.states : mayHold && confidence === 'if held once' && scope !== 'self-citation',
  )
  return { certain, ifHeld, all: resolved }
}

/**
 * `§ 1003.4(a)` contains its part and so determines its act. That act replaces a missing one, another CFR act, and an
 * unresolved one of one word (`HMDA 1003.4(a)`, but not `Minn. Stat. § 1003.4`).
 */
function takeActOfPart(citations: readonly Citation[], { aliases }: Text): readonly Citation[] {
  return citations.map((citation) => {
    const { kind, act, path, pointed } = citation
    const isNumbered = pointed && /^(?:section|rule|sign|comment)$/.test(kind) && /^\d{3,}$/.test(path[0] ?? '')
    const own = isNumbered ? aliases.actOfPart(path[0] ?? '') : undefined
    return own !== undefined && /^(?:cfr:\d+\/|name:[^-]+$|$)/.test(act ?? '') ? { ...citation, act: own } : citation
  })
}

/** Contracts have fewer than a hundred sections. */
function dropSectionsOfContract(citations: readonly Citation[], { tokens }: Text): readonly Citation[] {
  const kept = citations.filter(
    ({ kind, act, path }) =>
      act !== undefined || !/^(?:section|article)$/.test(kind) || !/^\d{1,2}$/.test(path[0] ?? ''),
  )
  return kept.length === citations.length || !isOfContract(tokens) ? citations : kept
}

/** `CBAM certificates`, `CRR-Kreditinstitute`: initials before a noun name what the act is about. */
function isAttributive({ from, to }: Citation, tokens: TokenStream): boolean {
  if (to !== from + 1 || !/^\p{Lu}{2,}$/u.test(tokens.raw(from))) return false
  if (tokens.reads(to, '-')) return tokens.isGlued(to) && tokens.isGlued(to + 1) && tokens.isWord(to + 1)
  const next = tokens.text(to)
  return /^\p{L}{3,}$/u.test(next) && !FUNCTION_WORD_FORMS.has(next) && !isLegalNoun(next)
}

/** Nouns of a backward reference (`of that Regulation`), and the letter of the CELEX numbers that they mean. */
const BACKWARD_NOUNS = Object.entries(WORDS.backward_nouns)

/** Acts by their year alone become the act of that year that the text names: `section 5 of the 1998 Act`. */
function takeActsByYear(citations: readonly Citation[]): readonly Citation[] {
  const acts = new Set(citations.flatMap(({ act }) => act ?? []))
  return citations.map((citation) => {
    const { act } = citation
    const year = /^name:(\d{4})-[a-z]+$/.exec(act ?? '')?.[1]
    if (year === undefined) return citation
    const [only, another] = [...acts].filter((other) => other !== act && yearOf(other) === year)
    return only === undefined || another !== undefined ? citation : { ...citation, act: only }
  })
}

function yearOf(act: string): string | undefined {
  return /^(?:name:.*-(\d{4})$|(?:ukpga|uksi):(\d{4})\/)/
    .exec(act)
    ?.slice(1)
    .find((year) => year !== undefined)
}

/** Gives provisions `of that Regulation` the nearest act before them that is of this type. */
function referBack(citations: readonly Citation[], { tokens }: Text): readonly Citation[] {
  const resolved: Citation[] = []
  for (const citation of citations) {
    const isOpen = citation.act === undefined && citation.kind !== 'act'
    const act = isOpen ? backwardAct(citation, resolved, tokens) : undefined
    if (act === undefined) resolved.push(citation)
    else {
      // `Artikeln 19 bis 26 dieser Verordnung`: the items before the last are no self-citations either.
      for (let at = resolved.length - 1; resolved[at]?.scope === 'self-citation'; at -= 1)
        resolved.splice(at, 1, ...resolved.slice(at, at + 1).map((each) => ({ ...each, scope: undefined })))
      resolved.push({ ...citation, act, isInferred: true, scope: undefined })
    }
  }
  return resolved
}

function backwardAct(citation: Citation, before: readonly Citation[], tokens: TokenStream): string | undefined {
  const type = backwardType(tokens, citation.to)
  return type === undefined
    ? actOfException(citation, before.at(-1), tokens)
    : before.findLast(({ act }) => isOfType(act, type))?.act
}

/** The letter of the act's type that `of that Regulation` after a provision refers back to; '' for any act. */
function backwardType(tokens: TokenStream, end: number): string | undefined {
  if (tokens.reads(end, 'thereof')) return ''
  const from = tokens.skip(end, ',')
  const of = tokens.skip(from, 'of', 'to', 'in', 'de', 'du')
  const isBackward =
    (of > from && tokens.reads(of, 'that', 'those', 'meme')) || (of === end && tokens.reads(of, 'dieser'))
  if (!isBackward) return undefined
  return BACKWARD_NOUNS.find(([, nouns]) => tokens.reads(of + 1, ...nouns.split(' ')))?.[0]
}

/** `the second book of the HGB, with the exception of § 5`: the act that is named before it. */
function actOfException({ from }: Citation, before: Citation | undefined, tokens: TokenStream): string | undefined {
  const isGerman = tokens.reads(from - 1, 'der', 'des', 'von') && tokens.reads(from - 2, 'ausnahme')
  const isException = isGerman || (tokens.reads(from - 1, 'of') && tokens.reads(from - 2, 'exception'))
  return isException && before?.kind === 'act' ? before.act : undefined
}

function isOfType(act: string | undefined, type: string): boolean {
  const [, sector, letters] = /^celex:(\d)\d{4}([A-Z]+)/.exec(act ?? '') ?? []
  return act !== undefined && (sector === undefined || type === '' || letters === type || sector === type)
}

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
function isStatement(tokens: TokenStream): boolean {
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
function takeOnlyAct(citations: readonly Citation[], { states }: Text): readonly Citation[] {
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
function takeSameAct(citations: readonly Citation[], { tokens, states }: Text): readonly Citation[] {
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
