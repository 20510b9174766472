import { type Family, familyOf } from './aliases.ts'
import type { Candidate } from './readings.ts'
import type { Reference } from './reference.ts'
import { underRulebook } from './rulebook.ts'
import type { Token } from './tokens.ts'
import { underUsAct } from './us.ts'

/** Tokens allowed between two provisions of one act: `and`, `i.V.m.`, `read with`. */
const JOINING = new Set(
  (
    ', ; and or und oder et ou & sowie i v m . in verbindung conjunction with mit read together to bis ' +
    'through – - both vs versus or'
  ).split(' '),
)
const JOINING_MAX = 8

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

/**
 * Gives provisions without an act the act of a neighbour, or the only act in the query. That act then no longer counts
 * by itself. Provisions that remain ambiguous are dropped.
 */
export function withActs(candidates: readonly Candidate[], tokens: readonly Token[]): Candidate[] {
  const resolved = withinContainers(candidates, tokens)
  for (let index = resolved.length - 2; index >= 0; index -= 1) share(resolved, tokens, index, index + 1)
  for (let index = 1; index < resolved.length; index += 1) share(resolved, tokens, index, index - 1)
  for (let index = 1; index < resolved.length; index += 1) strengthen(resolved, tokens, index)
  const only = onlyAct(resolved.filter(({ strong, kind }) => strong || kind !== 'act')) ?? onlyWeakAct(resolved)
  const givers = new Set(resolved.flatMap(({ act, kind }) => (act === only ? [kind] : [])))
  const placed = resolved.map((candidate) =>
    only !== undefined && takesDistantly(candidate, only, givers) ? given(candidate, only) : candidate,
  )
  const isActGiven = placed.some((candidate, index) => candidate !== resolved[index])
  return placed.filter((candidate) =>
    candidate.kind === 'act' ? candidate.strong && !isActGiven : candidate.act !== undefined || candidate.strong,
  )
}

const CONTAINING: ReadonlySet<Candidate['kind']> = new Set(['part', 'chapter', 'title', 'schedule', 'annex'])
/** Provisions that have a number of their own in the act, whatever chapter they are in. */
const NUMBERED_ALONE: ReadonlySet<Candidate['kind']> = new Set(['article', 'section', 'sign', 'rule', 'regulation'])

/** `Chapter 2 of Part 1 of the Data Act` is one provision of that act. */
function withinContainers(candidates: readonly Candidate[], tokens: readonly Token[]): Candidate[] {
  const merged: Candidate[] = []
  for (const outer of candidates) {
    const inner = merged.at(-1)
    if (inner === undefined || !isWithin(inner, outer, tokens)) merged.push(outer)
    else {
      const path = NUMBERED_ALONE.has(inner.kind) ? inner.path : [...outer.path, ...inner.path]
      merged[merged.length - 1] = { ...inner, path, act: outer.act, strong: true, to: outer.to }
    }
  }
  return merged
}

function isWithin(inner: Candidate, outer: Candidate, tokens: readonly Token[]): boolean {
  if (outer.act === undefined || !CONTAINING.has(outer.kind) || inner.act !== undefined || inner.kind === 'act')
    return false
  const [of, article] = [tokens[inner.to]?.text, tokens[inner.to + 1]?.text]
  return of === 'of' && (outer.from === inner.to + 1 || (article === 'the' && outer.from === inner.to + 2))
}

/**
 * Whether a provision takes the only act of the query from afar. A name of its own in the query (`the GDPR`) gives its
 * act to all; a provision gives its act to others of the same kind, unless only its own words name the act.
 */
function takesDistantly(candidate: Candidate, act: string, givers: ReadonlySet<Candidate['kind']>): boolean {
  if (!KINDS_WITH_DISTANT_ACT.has(candidate.kind) || (candidate.ofAnAct === true && act.startsWith('cfr:')))
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
function onlyWeakAct(candidates: readonly Candidate[]): string | undefined {
  const isNone = candidates.every(({ act, kind, strong }) => act === undefined || (kind === 'act' && !strong))
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

function share(resolved: Candidate[], tokens: readonly Token[], index: number, neighbourIndex: number): void {
  const candidate = resolved[index]
  const neighbour = resolved[neighbourIndex]
  if (candidate === undefined || neighbour?.act === undefined || neighbour.kind === 'act') return
  const [left, right] = index < neighbourIndex ? [candidate, neighbour] : [neighbour, candidate]
  // `§ 312d in Verbindung mit Artikel 246a EGBGB`: an act is cited by articles or by sections, not by both.
  if (candidate.kind !== neighbour.kind && neighbour.act.startsWith('de:')) return
  if (!areJoined(left, right, tokens) || startsAnew(candidate, neighbour, tokens)) return
  resolved[index] = given(candidate, neighbour.act)
}

/** `sections 4(2) or 6(1) and section 7`: what follows a clear provision of the same kind is one as well. */
function strengthen(resolved: Candidate[], tokens: readonly Token[], index: number): void {
  const [before, candidate] = [resolved[index - 1], resolved[index]]
  if (before === undefined || candidate === undefined || candidate.strong || candidate.kind === 'act') return
  if (before.strong && before.kind === candidate.kind && areJoined(before, candidate, tokens))
    resolved[index] = { ...candidate, strong: true }
}

/** `§ 3 des Beispielgesetzes, §§ 240, 261`: after a comma, a provision follows that is not one of the act before it. */
function startsAnew(candidate: Candidate, neighbour: Candidate, tokens: readonly Token[]): boolean {
  const isUnlisted = neighbour.act?.startsWith('name:') === true || neighbour.act?.startsWith('de:') === true
  // `Pub. L. 109–135, title IV, § 401`: the section of a title is one of its act.
  if (CONTAINING.has(neighbour.kind) && neighbour.from < candidate.from) return false
  return isUnlisted && neighbour.from < candidate.from && tokens[candidate.from - 1]?.text === ','
}

function areJoined(left: Candidate, right: Candidate, tokens: readonly Token[]): boolean {
  if (right.from - left.to > JOINING_MAX) return false
  for (let place = left.to; place < right.from; place += 1) if (!JOINING.has(tokens[place]?.text ?? '')) return false
  return true
}

function given(candidate: Candidate, act: string): Candidate {
  const families = FAMILIES_OF_KIND[candidate.kind]
  const fits = act.startsWith('name:')
    ? families.some((family) => family !== 'rulebook')
    : families.includes(familyOf(act))
  return candidate.act === undefined && candidate.own !== true && fits ? { ...candidate, act } : candidate
}
