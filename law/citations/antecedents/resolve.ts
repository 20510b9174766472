import { familyOf } from '#law/citations/citation.ts'
import type { Citation, Family, Reference } from '#law/citations/citation.ts'
import { underRulebook } from '#law/citations/grammars/rulebook.ts'
import { underUsAct } from '#law/citations/grammars/us.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { areParts } from '#law/citations/provisions/qualifiers.ts'
import {
  actOf,
  actOfSameProvision,
  amendedAct,
  INDEPENDENTLY_NUMBERED,
  isAttributive,
  isStatement,
  withActsOfYears,
  withBackwardActs,
} from './distant.ts'

/** Tokens allowed between two provisions of one act: `and`, `i.V.m.`, `read with`. */
const JOINING = new Set(
  (
    ', ; and or und oder et ou & sowie i v m . in verbindung conjunction with mit read together to bis ' +
    'through – - both vs versus des der den dem the'
  ).split(' '),
)
const JOINING_MAX = 8
const NEW_CITATION = new Set([',', 'des', 'der', 'den', 'dem'])

/**
 * Families whose acts have provisions of this kind. `paragraph` has none: it is as often part of guidance or of the
 * question itself.
 */
const FAMILIES_OF_KIND: Readonly<Record<Citation['kind'], readonly Family[]>> = {
  act: [],
  article: ['eu', 'de', 'fr', 'uk'],
  section: ['us', 'uk', 'rulebook'],
  sign: ['de', 'us'],
  rule: ['rulebook'],
  regulation: ['uk'],
  recital: ['eu'],
  annex: ['eu'],
  schedule: ['uk', 'rulebook'],
  chapter: ['eu', 'uk', 'de', 'fr', 'rulebook'],
  part: ['uk', 'rulebook'],
  title: ['eu', 'fr'],
  appendix: ['us', 'rulebook'],
  supplement: ['us'],
  paragraph: [],
  comment: ['us'],
}
/** Kinds whose act may be elsewhere in the query (`Under the GDPR, what does Article 17 say`). */
const KINDS_WITH_DISTANT_ACT: ReadonlySet<Citation['kind']> = new Set([
  'article',
  'section',
  'sign',
  'rule',
  'recital',
  'annex',
  'comment',
])

/** Citations that count, and those that count only if the corpus holds them in one document. */
export interface Counted {
  readonly certain: readonly Citation[]
  readonly ifHeld: readonly Citation[]
}

/**
 * Gives provisions without an act the act of a neighbour, or the only act in the query. That act then no longer counts
 * by itself. Other provisions that remain ambiguous are dropped. A text that states law, or that names an act, has no
 * citations that count only if the corpus holds them.
 */
export function resolveCitations(citations: readonly Citation[], tokens: TokenStream): Counted {
  if (citations.length === 0) return { certain: [], ifHeld: [] }
  const resolved = withBackwardActs(withActsOfYears(mergeContained(citations, tokens)), tokens)
  for (let index = resolved.length - 2; index >= 0; index -= 1) shareScope(resolved, tokens, index)
  for (let index = resolved.length - 2; index >= 0; index -= 1) share(resolved, tokens, index, index + 1)
  for (let index = 1; index < resolved.length; index += 1) share(resolved, tokens, index, index - 1)
  for (let index = 1; index < resolved.length; index += 1) shareConfidence(resolved, tokens, index)
  const states = isStatement(tokens)
  const resolvedCitations = states ? withSameActs(resolved, tokens) : withOnlyAct(resolved)
  const withoutAct = new Set(citations.flatMap(({ from, act }) => (act === undefined ? [from] : [])))
  const givenActs = new Set(resolvedCitations.flatMap(({ from, act }) => (withoutAct.has(from) ? [act] : [])))
  const certain = resolvedCitations.filter((citation) => {
    const isCertain = citation.confidence === 'certain'
    if (citation.confidence === 'if held') return false
    if (citation.kind !== 'act') return citation.act !== undefined || isCertain
    return isCertain && !givenActs.has(citation.act) && !(states && isAttributive(citation, tokens))
  })
  const mayHold = !states && resolvedCitations.every(({ act }) => act === undefined)
  const ifHeld = resolvedCitations.filter(({ confidence, scope }) =>
    confidence === 'if held' ? !states : mayHold && confidence === 'if held once' && scope !== 'self-citation',
  )
  return { certain, ifHeld }
}

/** Provisions of a question take its only act. */
function withOnlyAct(resolved: readonly Citation[]): readonly Citation[] {
  const only =
    onlyAct(resolved.filter(({ confidence, kind }) => confidence === 'certain' || kind !== 'act')) ??
    onlyUncertainAct(resolved)
  const givers = new Set(resolved.flatMap(({ act, kind }) => (act === only ? [kind] : [])))
  return resolved.map((citation) =>
    only !== undefined && takesDistantly(citation, only, givers) ? takeAct(citation, only) : citation,
  )
}

function withSameActs(resolved: readonly Citation[], tokens: TokenStream): readonly Citation[] {
  return resolved.map((citation, index) => {
    if (citation.act !== undefined) return citation
    const next = resolved[index + 1]
    const act =
      next?.kind === 'act' && areParts(tokens, citation.to, next.from)
        ? next.act
        : (actOfSameProvision(citation, resolved) ?? amendedAct(citation, resolved, tokens))
    return act === undefined ? citation : takeAct(citation, act)
  })
}

const CONTAINING: ReadonlySet<Citation['kind']> = new Set(['part', 'chapter', 'title', 'schedule', 'annex'])

/** `Chapter 2 of Part 1 of the Data Act` is one provision of that act. */
function mergeContained(citations: readonly Citation[], tokens: TokenStream): Citation[] {
  const merged: Citation[] = []
  for (const inner of citations.toReversed()) {
    const outer = merged.at(-1)
    if (outer === undefined || !isContained(inner, outer, tokens)) merged.push(inner)
    else {
      const path = INDEPENDENTLY_NUMBERED.has(inner.kind) ? inner.path : [...outer.path, ...inner.path]
      merged[merged.length - 1] = { ...inner, path, act: outer.act, confidence: 'certain', to: outer.to }
    }
  }
  return merged.toReversed()
}

function isContained(inner: Citation, outer: Citation, tokens: TokenStream): boolean {
  if (outer.act === undefined || !CONTAINING.has(outer.kind) || inner.act !== undefined || inner.kind === 'act')
    return false
  const of = tokens.skip(inner.to, 'of', 'du', 'des', 'der')
  return of > inner.to && (outer.from === of || (outer.from === of + 1 && tokens.reads(of, 'the')))
}

/**
 * Whether a provision takes the only act of the query from afar. A name of its own in the query (`the GDPR`) gives its
 * act to all; a provision gives its act to others of the same kind, unless only its own words name the act.
 */
function takesDistantly(citation: Citation, act: string, givers: ReadonlySet<Citation['kind']>): boolean {
  if (!KINDS_WITH_DISTANT_ACT.has(citation.kind) || (citation.scope === 'an act' && act.startsWith('cfr:')))
    return false
  if (givers.has('act')) return true
  if (act.startsWith('name:')) return false
  return !/^(?:de|fr):/.test(act) || givers.has(citation.kind)
}

/** The act of all citations that have one, if it is the same. */
function onlyAct(citations: readonly Citation[]): string | undefined {
  const acts = new Set(citations.flatMap((citation) => citation.act ?? []))
  const [only] = acts.size === 1 ? acts : []
  return only
}

/** The only act, if the query names no act in a form that counts by itself. */
function onlyUncertainAct(citations: readonly Citation[]): string | undefined {
  const isNone = citations.every(
    ({ act, kind, confidence }) => act === undefined || (kind === 'act' && confidence !== 'certain'),
  )
  return isNone ? onlyAct(citations) : undefined
}

/** Returns the reference in the numbering scheme of the act's family. */
export function referenceOf(citation: Citation): Reference {
  const { act, kind, path } = citation
  if (act === undefined) return { act, path: kind === 'rule' ? underRulebook(path) : withComment(kind, path) }
  const family = familyOf(act)
  if (family === 'rulebook') return { act, path: underRulebook(path) }
  if (family !== 'us') return { act, path }
  const under = underUsAct(act, path)
  return { act: under.act, path: withComment(kind, under.path) }
}

function withComment(kind: Citation['kind'], path: readonly string[]): readonly string[] {
  return kind === 'comment' ? ['comment', ...path] : path
}

/** `Article 5 or Articles 34 and 35 of this Directive`: what is joined to a self-citation is one. */
function shareScope(resolved: Citation[], tokens: TokenStream, index: number): void {
  const [citation, next] = [resolved[index], resolved[index + 1]]
  if (citation?.act !== undefined || citation === undefined || citation.kind === 'act') return
  if (next?.scope !== 'self-citation' || next.act !== undefined) return
  if (citation.kind === next.kind && areJoined(citation, next, tokens))
    resolved[index] = { ...citation, scope: 'self-citation' }
}

function share(resolved: Citation[], tokens: TokenStream, index: number, neighbourIndex: number): void {
  const citation = resolved[index]
  const neighbour = resolved[neighbourIndex]
  if (citation === undefined || neighbour?.act === undefined || neighbour.kind === 'act') return
  const [left, right] = index < neighbourIndex ? [citation, neighbour] : [neighbour, citation]
  // `§ 312d in Verbindung mit Artikel 246a EGBGB`: an act is cited by articles or by sections, not by both.
  if (citation.kind !== neighbour.kind && neighbour.act.startsWith('de:')) return
  if (!areJoined(left, right, tokens) || startsNewCitation(citation, neighbour, tokens)) return
  resolved[index] = takeAct(citation, citation.kind === 'comment' ? (actOf(neighbour) ?? '') : neighbour.act)
}

/** `sections 4(2) or 6(1) and section 7`: what follows a clear provision of the same kind is one as well. */
function shareConfidence(resolved: Citation[], tokens: TokenStream, index: number): void {
  const [before, citation] = [resolved[index - 1], resolved[index]]
  if (before === undefined || citation === undefined || citation.kind === 'act') return
  if (citation.confidence === 'certain' || citation.confidence === 'if held') return
  if (before.confidence === 'certain' && before.kind === citation.kind && areJoined(before, citation, tokens))
    resolved[index] = { ...citation, confidence: 'certain' }
}

/** `§ 3 des Beispielgesetzes, §§ 240, 261`, `… oder des § 20`: what follows is not one of the act before it. */
function startsNewCitation(citation: Citation, neighbour: Citation, tokens: TokenStream): boolean {
  const isUnresolved = neighbour.act?.startsWith('name:') === true || neighbour.act?.startsWith('de:') === true
  // `Pub. L. 109–135, title IV, § 401`: the section of a title is one of its act.
  if (CONTAINING.has(neighbour.kind) && neighbour.from < citation.from) return false
  return isUnresolved && neighbour.from < citation.from && NEW_CITATION.has(tokens.text(citation.from - 1))
}

function areJoined(left: Citation, right: Citation, tokens: TokenStream): boolean {
  if (right.from - left.to > JOINING_MAX) return false
  for (let index = left.to; index < right.from; index += 1) if (!JOINING.has(tokens.text(index))) return false
  return true
}

function takeAct(citation: Citation, act: string): Citation {
  const families = FAMILIES_OF_KIND[citation.kind]
  const fits = act.startsWith('name:')
    ? families.some((family) => family !== 'rulebook')
    : families.includes(familyOf(act))
  return citation.act === undefined && citation.scope !== 'self-citation' && fits ? { ...citation, act } : citation
}
