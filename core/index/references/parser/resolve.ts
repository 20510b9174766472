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
  const resolved = [...candidates]
  for (let index = resolved.length - 2; index >= 0; index -= 1) share(resolved, tokens, index, index + 1)
  for (let index = 1; index < resolved.length; index += 1) share(resolved, tokens, index, index - 1)
  const only = onlyAct(resolved.filter(({ strong, kind }) => strong || kind !== 'act')) ?? onlyWeakAct(resolved)
  const placed =
    only === undefined
      ? resolved
      : resolved.map((candidate) => (KINDS_WITH_DISTANT_ACT.has(candidate.kind) ? given(candidate, only) : candidate))
  const isActGiven = placed.some((candidate, index) => candidate !== resolved[index])
  return placed.filter((candidate) =>
    candidate.kind === 'act' ? candidate.strong && !isActGiven : candidate.act !== undefined || candidate.strong,
  )
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
  if (right.from - left.to > JOINING_MAX) return
  for (let place = left.to; place < right.from; place += 1) if (!JOINING.has(tokens[place]?.text ?? '')) return
  resolved[index] = given(candidate, neighbour.act)
}

function given(candidate: Candidate, act: string): Candidate {
  const families = FAMILIES_OF_KIND[candidate.kind]
  const fits = act.startsWith('name:')
    ? families.some((family) => family !== 'rulebook')
    : families.includes(familyOf(act))
  return candidate.act === undefined && fits ? { ...candidate, act } : candidate
}
