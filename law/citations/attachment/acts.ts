import { underRulebook } from '#law/citations/grammars/rulebook.ts'
import { underUsAct } from '#law/citations/grammars/us.ts'
import type { TokenStream } from '#law/citations/lexer/token-stream.ts'
import { areParts } from '#law/citations/provisions/qualifiers.ts'
import { familyOf } from '#law/citations/act.ts'
import type { Family } from '#law/citations/act.ts'
import type { Reference } from '#law/citations/reference.ts'
import type { Candidate } from './candidates.ts'
import {
  INDEPENDENTLY_NUMBERED,
  actOf,
  actOfSameProvision,
  amendedAct,
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
const FAMILIES_OF_KIND: Readonly<Record<Candidate['kind'], readonly Family[]>> = {
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
const KINDS_WITH_DISTANT_ACT: ReadonlySet<Candidate['kind']> = new Set([
  'article',
  'section',
  'sign',
  'rule',
  'recital',
  'annex',
  'comment',
])

/** Candidates that count, and those that count only if the corpus holds them in one document. */
export interface Counted {
  readonly certain: readonly Candidate[]
  readonly ifHeld: readonly Candidate[]
}

/**
 * Gives provisions without an act the act of a neighbour, or the only act in the query. That act then no longer counts
 * by itself. Other provisions that remain ambiguous are dropped. A text that states law, or that names an act, has no
 * candidates that count only if the corpus holds them.
 */
export function attachActs(candidates: readonly Candidate[], tokens: TokenStream): Counted {
  if (candidates.length === 0) return { certain: [], ifHeld: [] }
  const resolved = withBackwardActs(withActsOfYears(mergeContained(candidates, tokens)), tokens)
  for (let index = resolved.length - 2; index >= 0; index -= 1) shareScope(resolved, tokens, index)
  for (let index = resolved.length - 2; index >= 0; index -= 1) share(resolved, tokens, index, index + 1)
  for (let index = 1; index < resolved.length; index += 1) share(resolved, tokens, index, index - 1)
  for (let index = 1; index < resolved.length; index += 1) shareConfidence(resolved, tokens, index)
  const states = isStatement(tokens)
  const attached = states ? withSameActs(resolved, tokens) : withOnlyAct(resolved)
  const withoutAct = new Set(candidates.flatMap(({ from, act }) => (act === undefined ? [from] : [])))
  const givenActs = new Set(attached.flatMap(({ from, act }) => (withoutAct.has(from) ? [act] : [])))
  const certain = attached.filter((candidate) => {
    const isCertain = candidate.confidence === 'certain'
    if (candidate.confidence === 'if held') return false
    if (candidate.kind !== 'act') return candidate.act !== undefined || isCertain
    return isCertain && !givenActs.has(candidate.act) && !(states && isAttributive(candidate, tokens))
  })
  const mayHold = !states && attached.every(({ act }) => act === undefined)
  const ifHeld = attached.filter(({ confidence, scope }) =>
    confidence === 'if held' ? !states : mayHold && confidence === 'if held once' && scope !== 'self-citation',
  )
  return { certain, ifHeld }
}

/** Provisions of a question take its only act. */
function withOnlyAct(resolved: readonly Candidate[]): readonly Candidate[] {
  const only =
    onlyAct(resolved.filter(({ confidence, kind }) => confidence === 'certain' || kind !== 'act')) ??
    onlyUncertainAct(resolved)
  const givers = new Set(resolved.flatMap(({ act, kind }) => (act === only ? [kind] : [])))
  return resolved.map((candidate) =>
    only !== undefined && takesDistantly(candidate, only, givers) ? takeAct(candidate, only) : candidate,
  )
}

function withSameActs(resolved: readonly Candidate[], tokens: TokenStream): readonly Candidate[] {
  return resolved.map((candidate, index) => {
    if (candidate.act !== undefined) return candidate
    const next = resolved[index + 1]
    const act =
      next?.kind === 'act' && areParts(tokens, candidate.to, next.from)
        ? next.act
        : (actOfSameProvision(candidate, resolved) ?? amendedAct(candidate, resolved, tokens))
    return act === undefined ? candidate : takeAct(candidate, act)
  })
}

const CONTAINING: ReadonlySet<Candidate['kind']> = new Set(['part', 'chapter', 'title', 'schedule', 'annex'])

/** `Chapter 2 of Part 1 of the Data Act` is one provision of that act. */
function mergeContained(candidates: readonly Candidate[], tokens: TokenStream): Candidate[] {
  const merged: Candidate[] = []
  for (const inner of candidates.toReversed()) {
    const outer = merged.at(-1)
    if (outer === undefined || !isContained(inner, outer, tokens)) merged.push(inner)
    else {
      const path = INDEPENDENTLY_NUMBERED.has(inner.kind) ? inner.path : [...outer.path, ...inner.path]
      merged[merged.length - 1] = { ...inner, path, act: outer.act, confidence: 'certain', to: outer.to }
    }
  }
  return merged.toReversed()
}

function isContained(inner: Candidate, outer: Candidate, tokens: TokenStream): boolean {
  if (outer.act === undefined || !CONTAINING.has(outer.kind) || inner.act !== undefined || inner.kind === 'act')
    return false
  const of = tokens.skip(inner.to, 'of', 'du', 'des', 'der')
  return of > inner.to && (outer.from === of || (outer.from === of + 1 && tokens.reads(of, 'the')))
}

/**
 * Whether a provision takes the only act of the query from afar. A name of its own in the query (`the GDPR`) gives its
 * act to all; a provision gives its act to others of the same kind, unless only its own words name the act.
 */
function takesDistantly(candidate: Candidate, act: string, givers: ReadonlySet<Candidate['kind']>): boolean {
  if (!KINDS_WITH_DISTANT_ACT.has(candidate.kind) || (candidate.scope === 'an act' && act.startsWith('cfr:')))
    return false
  if (givers.has('act')) return true
  if (act.startsWith('name:')) return false
  return !/^(?:de|fr):/.test(act) || givers.has(candidate.kind)
}

/** The act of all candidates that have one, if it is the same. */
function onlyAct(candidates: readonly Candidate[]): string | undefined {
  const acts = new Set(candidates.flatMap((candidate) => candidate.act ?? []))
  const [only] = acts.size === 1 ? acts : []
  return only
}

/** The only act, if the query names no act in a form that counts by itself. */
function onlyUncertainAct(candidates: readonly Candidate[]): string | undefined {
  const isNone = candidates.every(
    ({ act, kind, confidence }) => act === undefined || (kind === 'act' && confidence !== 'certain'),
  )
  return isNone ? onlyAct(candidates) : undefined
}

/** Returns the reference in the numbering scheme of the act's family. */
export function referenceOf(candidate: Candidate): Reference {
  const { act, kind, path } = candidate
  if (act === undefined) return { act, path: kind === 'rule' ? underRulebook(path) : withComment(kind, path) }
  const family = familyOf(act)
  if (family === 'rulebook') return { act, path: underRulebook(path) }
  if (family !== 'us') return { act, path }
  const under = underUsAct(act, path)
  return { act: under.act, path: withComment(kind, under.path) }
}

function withComment(kind: Candidate['kind'], path: readonly string[]): readonly string[] {
  return kind === 'comment' ? ['comment', ...path] : path
}

/** `Article 5 or Articles 34 and 35 of this Directive`: what is joined to a self-citation is one. */
function shareScope(resolved: Candidate[], tokens: TokenStream, index: number): void {
  const [candidate, next] = [resolved[index], resolved[index + 1]]
  if (candidate?.act !== undefined || candidate === undefined || candidate.kind === 'act') return
  if (next?.scope !== 'self-citation' || next.act !== undefined) return
  if (candidate.kind === next.kind && areJoined(candidate, next, tokens))
    resolved[index] = { ...candidate, scope: 'self-citation' }
}

function share(resolved: Candidate[], tokens: TokenStream, index: number, neighbourIndex: number): void {
  const candidate = resolved[index]
  const neighbour = resolved[neighbourIndex]
  if (candidate === undefined || neighbour?.act === undefined || neighbour.kind === 'act') return
  const [left, right] = index < neighbourIndex ? [candidate, neighbour] : [neighbour, candidate]
  // `§ 312d in Verbindung mit Artikel 246a EGBGB`: an act is cited by articles or by sections, not by both.
  if (candidate.kind !== neighbour.kind && neighbour.act.startsWith('de:')) return
  if (!areJoined(left, right, tokens) || startsNewCitation(candidate, neighbour, tokens)) return
  resolved[index] = takeAct(candidate, candidate.kind === 'comment' ? (actOf(neighbour) ?? '') : neighbour.act)
}

/** `sections 4(2) or 6(1) and section 7`: what follows a clear provision of the same kind is one as well. */
function shareConfidence(resolved: Candidate[], tokens: TokenStream, index: number): void {
  const [before, candidate] = [resolved[index - 1], resolved[index]]
  if (before === undefined || candidate === undefined || candidate.kind === 'act') return
  if (candidate.confidence === 'certain' || candidate.confidence === 'if held') return
  if (before.confidence === 'certain' && before.kind === candidate.kind && areJoined(before, candidate, tokens))
    resolved[index] = { ...candidate, confidence: 'certain' }
}

/** `§ 3 des Beispielgesetzes, §§ 240, 261`, `… oder des § 20`: what follows is not one of the act before it. */
function startsNewCitation(candidate: Candidate, neighbour: Candidate, tokens: TokenStream): boolean {
  const isUnresolved = neighbour.act?.startsWith('name:') === true || neighbour.act?.startsWith('de:') === true
  // `Pub. L. 109–135, title IV, § 401`: the section of a title is one of its act.
  if (CONTAINING.has(neighbour.kind) && neighbour.from < candidate.from) return false
  return isUnresolved && neighbour.from < candidate.from && NEW_CITATION.has(tokens.text(candidate.from - 1))
}

function areJoined(left: Candidate, right: Candidate, tokens: TokenStream): boolean {
  if (right.from - left.to > JOINING_MAX) return false
  for (let index = left.to; index < right.from; index += 1) if (!JOINING.has(tokens.text(index))) return false
  return true
}

function takeAct(candidate: Candidate, act: string): Candidate {
  const families = FAMILIES_OF_KIND[candidate.kind]
  const fits = act.startsWith('name:')
    ? families.some((family) => family !== 'rulebook')
    : families.includes(familyOf(act))
  return candidate.act === undefined && candidate.scope !== 'self-citation' && fits ? { ...candidate, act } : candidate
}
