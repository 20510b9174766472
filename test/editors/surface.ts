import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decideOn } from '#core/domain/decision.ts'
import { rankingOf } from '#core/domain/retrieval-profile.ts'
import type { Filters } from '#core/domain/search.ts'
import { utcDay } from '#core/platform/time.ts'
import type { BuiltLaw, Laboratory } from './laboratory.ts'

/** A line of `passages.jsonl`, as far as a caller sees it or it decides what a caller gets. */
export interface HeldPassage {
  readonly text: string
  readonly heading: string
  readonly document: Readonly<Record<string, string>>
  readonly citation: { readonly label: string; readonly source_anchor: string }
  readonly metadata: { readonly language: string; readonly jurisdiction: string; readonly verification_status: string }
  readonly subjects: readonly string[]
  readonly references: readonly string[]
  readonly in_force_from: string
  readonly in_force_to: string | null
  readonly source_id: string
  readonly provision: string
}

/** Everything that a version serves, read from its files and not through the code that writes or compares them. */
export interface Surface {
  readonly passages: readonly HeldPassage[]
  readonly facets: Readonly<Record<string, readonly string[]>>
  /** Names of acts in questions, and the acts that have them. */
  readonly names: ReadonlyMap<string, readonly string[]>
}

export function surfaceOf({ artifact: { folder } }: BuiltLaw): Surface {
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const lines = read('passages.jsonl').split('\n').slice(0, -1)
  const { acts } = JSON.parse(read('references.json')) as { acts: { id: string; aliases: string[] }[] }
  return {
    passages: lines.map((line) => JSON.parse(line) as HeldPassage),
    facets: JSON.parse(read('facets.json')) as Surface['facets'],
    names: namesOf(acts),
  }
}

function namesOf(acts: readonly { readonly id: string; readonly aliases: readonly string[] }[]): Surface['names'] {
  const claims = acts.flatMap(({ id, aliases }) => aliases.map((alias) => ({ id, name: alias.toLowerCase() })))
  const byName = Map.groupBy(claims, ({ name }) => name)
  // One act may be named twice in spellings that are alike here.
  return new Map([...byName].map(([name, claimed]) => [name, [...new Set(claimed.map(({ id }) => id))]]))
}

/** What a caller sees of a passage, in one text. */
export function viewOf(passage: HeldPassage): string {
  const { document, citation, metadata, subjects, references, in_force_from: from, in_force_to: to } = passage
  const { id, title, authority, canonical_url, published_at, effective_at } = document
  const { label, source_anchor: anchor } = citation
  const header = [id, title, authority, canonical_url, published_at, effective_at]
  const { language, jurisdiction, verification_status: status } = metadata
  const rest = [label, anchor, language, jurisdiction, status, subjects, references, from, to]
  return JSON.stringify([passage.text, passage.heading, header, rest])
}

export const TODAY = utcDay(new Date())

/** A label or a question, asked on a day. */
export interface Probe {
  readonly text: string
  readonly day: string
  readonly filters?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
}

export type Answer = Awaited<ReturnType<typeof ask>>

const DEPTH = 10
const LIST = (value: string | readonly string[] | undefined, all: readonly string[]): readonly string[] =>
  value === undefined ? all : typeof value === 'string' ? [value] : value

/** Asks a version as the gateway does for a caller who is entitled to all of it. */
export async function ask({ node }: Laboratory, law: BuiltLaw, { text, day, filters = {} }: Probe) {
  const { artifact, corpus, profile } = law
  const entitled: Filters = {
    languages: corpus.facets.languages,
    jurisdictions: corpus.facets.jurisdictions,
    subjects: [],
    anySubject: true,
    verificationStatuses: profile.verification_statuses,
    inForceOn: day,
    documents: [],
  }
  const { language, jurisdiction, subject } = filters
  const narrowed: Filters = {
    ...entitled,
    languages: LIST(language, entitled.languages),
    jurisdictions: LIST(jurisdiction, entitled.jurisdictions),
    subjects: LIST(subject, []),
    anySubject: subject === undefined,
  }
  const ranking = rankingOf(profile, day)
  const query = { versionId: artifact.versionId, vector: undefined, text, limit: DEPTH, ranking, rowsOnly: true }
  const found = await node.search({ ...query, filters: narrowed, entitled }, 0)
  return {
    /** Rows of the passages, best first. */
    rows: found.rows.map(({ row }) => row),
    /** Whether the question names the provision of the first passage. */
    named: found.rows[0]?.named ?? false,
    decision: decideOn(law.evaluation.profile.calibration, { ...found, passages: found.rows }).decision,
    unsupported: found.unsupported,
  }
}

/** The days on which what is in force may change: the first and the last day of each passage, and today. */
export function daysOf(passages: readonly HeldPassage[]): readonly string[] {
  const ends = passages.flatMap(({ in_force_from: from, in_force_to: to }) => (to === null ? [from] : [from, to]))
  return [...new Set([...ends, ...ends.map(dayBefore), TODAY])].toSorted()
}

function dayBefore(day: string): string {
  return utcDay(new Date(Date.parse(day) - 86_400_000))
}

export function isInForce({ in_force_from: from, in_force_to: to }: HeldPassage, day: string): boolean {
  return from <= day && (to === null || day < to)
}
