import type { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { locationSchema, type StagedLocation, type Staging } from './staging.ts'

type GroupKind = 'id' | 'document' | 'provision'

/**
 * Records of one id, of one document and day from several sources, or of one provision and day, with different texts;
 * or of two overlapping revisions, where nothing says what a revision replaces.
 */
export interface Conflict {
  readonly kind: GroupKind | 'overlap'
  readonly first: StagedLocation
  readonly second: StagedLocation
}

export interface ConflictRules {
  /**
   * Whether a document of one day comes from one source as a whole, where the order of precedence lists one of its
   * sources and they contradict each other. Sources that share no provision are parts of the document.
   */
  readonly wholeDocuments: boolean
  /** Rank of a source in the mapping's order of precedence, from 0; undefined for a source that is not listed. */
  rank(source: number): number | undefined
}

/** The indexes also serve the ends that follow from successors, and the notices. */
const PREPARE = `
create index record_day on record (document, law, provision, day, effective_at, source);
create index record_document_day on record (document, law, day, source);
create table outranked (seq integer primary key, by integer not null) strict`

/**
 * Finds the records that contradict each other. A group is everything that the sources hold of one document, id or
 * provision on one day, repetitions included. Where the order of precedence lists every source of a contested group,
 * the records of the first source stay and all others of the group are left out. Documents are compared first, then
 * ids, then provisions; the first kind with a contradiction that stays is the last one, so that each is named once.
 * Of records that still repeat each other, the first stays. Yields the contradictions that stay; the records are resolved
 * once all of them are taken.
 */
export function* resolveConflicts(staging: Staging, rules: ConflictRules): Generator<Conflict> {
  const { connection } = staging
  staging.flush()
  connection.exec('begin')
  connection.exec(PREPARE)
  const kinds: readonly GroupKind[] = ['document', 'id', 'provision']
  for (const kind of rules.wholeDocuments ? kinds : kinds.slice(1)) {
    let conflicts = 0
    for (const conflict of resolveGroups(connection, rules, kind)) {
      conflicts += 1
      yield conflict
    }
    if (conflicts > 0) break
  }
  connection.exec(DROP_REPETITIONS)
  connection.exec('commit')
}

/** The copy that a record repeats may itself be left out; the record then stays. */
const DROP_REPETITIONS = `
update record set kept = 0 where seq in (
  select r.seq from record r join record f on f.seq = r.repeats where r.kept = 1 and f.kept = 1)`

/** What the records of one group have in common. */
const KEYS = {
  document: ['document', 'law', 'day'],
  id: ['identity', 'document', 'law', 'day'],
  provision: ['document', 'law', 'provision', 'day'],
} as const satisfies Record<GroupKind, readonly string[]>

const SEVERAL_SOURCES = 'min(source) <> max(source)'
const SEVERAL_REVISIONS = `
  min(effective_at) <> max(effective_at) or min(published_at) <> max(published_at)
  or min(ifnull(effective_to, 9e15)) <> max(ifnull(effective_to, 9e15))`
/** Few ids occur twice, so the others are passed over before anything is sorted. */
const REPEATED_IDS = 'and identity in (select identity from record group by identity having count(*) > 1)'

/** Documents of which two sources hold one provision or one citation with different texts. */
const sharedNames = (name: 'provision' | 'cited'): string => `
  select document, law, day from record where kept = 1
  group by document, law, ${name}, day having min(source) <> max(source) and min(digest) <> max(digest)`
const SHARES_A_NAME = `
  and (document, law, day) in (${sharedNames('provision')} union ${sharedNames('cited')})`

function contestedGroups(kind: GroupKind): string {
  const keys = KEYS[kind].join(', ')
  return `
drop table if exists contested;
create table contested as
select ${keys} from record where kept = 1 ${kind === 'id' ? REPEATED_IDS : ''}
group by ${keys} having ${SEVERAL_SOURCES} ${kind === 'provision' ? `or ${SEVERAL_REVISIONS}` : ''}
  ${kind === 'document' ? SHARES_A_NAME : ''}`
}
const COUNT_CONTESTED = 'select count(*) as count from contested'
const countSchema = z.object({ count: z.int() })

function recordsOfGroup(kind: GroupKind): string {
  const equal = KEYS[kind].map((key) => `r.${key} = c.${key}`).join(' and ')
  return `contested c cross join record r on ${equal}`
}

/** What each source holds of a group, with its first record; `own` records repeat none of a source before it. */
const claimsOf = (kind: GroupKind): string => `
select min(r.seq) as seq, r.source, count(*) as records, sum(f.kept is not 1) as own,
  min(iif(f.kept is 1, null, r.seq)) as own_seq
from ${recordsOfGroup(kind)} left join record f on f.seq = r.repeats
where c.rowid = ? and r.kept = 1 group by r.source order by min(r.seq)`
const claimSchema = z.object({
  seq: z.int(),
  source: z.int(),
  records: z.int(),
  own: z.int(),
  own_seq: z.int().nullable(),
})
type Claim = z.infer<typeof claimSchema>

/** The first records of the first two revisions of a group. */
const revisionsOf = (kind: GroupKind): string => `
select min(r.seq) as seq, r.source, r.line, r.id from ${recordsOfGroup(kind)}
where c.rowid = ? and r.kept = 1
group by r.effective_at, r.effective_to, r.published_at order by min(r.seq) limit 2`
const LOCATION = 'select source, line, id from record where seq = ?'

const dropOthers = (kind: GroupKind): string => `
update record set kept = 0 where seq in (
  select r.seq from ${recordsOfGroup(kind)} where c.rowid = ? and r.kept = 1 and r.source <> ?)
returning seq`
const droppedSchema = z.object({ seq: z.int() })
const INSERT_OUTRANKED = 'insert into outranked (seq, by) values (?, ?)'

function* resolveGroups(connection: DatabaseSync, rules: ConflictRules, kind: GroupKind): Generator<Conflict> {
  connection.exec(contestedGroups(kind))
  const { count } = countSchema.parse(connection.prepare(COUNT_CONTESTED).get())
  const claims = connection.prepare(claimsOf(kind))
  const revisions = connection.prepare(revisionsOf(kind))
  const drop = connection.prepare(dropOthers(kind))
  const location = connection.prepare(LOCATION)
  const outrank = connection.prepare(INSERT_OUTRANKED)
  for (let group = 1; group <= count; group += 1) {
    const found = claims.all(group).map((row) => claimSchema.parse(row))
    const verdict = verdictOn(found, rules, kind)
    if (verdict.kind === 'won')
      for (const row of drop.all(group, verdict.by.source)) outrank.run(droppedSchema.parse(row).seq, verdict.by.seq)
    if (verdict.kind === 'conflict') {
      const [first, second] = [verdict.first, verdict.second].map(({ own_seq }) =>
        locationSchema.parse(location.get(own_seq)),
      )
      if (first !== undefined && second !== undefined) yield { kind, first, second }
    } else if (kind === 'provision') {
      const [first, second] = revisions.all(group).map((row) => locationSchema.parse(row))
      if (first !== undefined && second !== undefined) yield { kind, first, second }
    }
  }
}

type Verdict =
  | { readonly kind: 'agreed' }
  /** All that other sources hold of the group is left out. */
  | { readonly kind: 'won'; readonly by: Claim }
  | { readonly kind: 'conflict'; readonly first: Claim; readonly second: Claim }

/**
 * Decides over all that the sources hold of a group. Sources that hold the same agree. Where the order of precedence
 * does not list them all, a source may repeat what one other source holds.
 */
function verdictOn(claims: readonly Claim[], rules: ConflictRules, kind: GroupKind): Verdict {
  const different = claims.reduce((sum, { own }) => sum + own, 0)
  if (claims.length < 2) return { kind: 'agreed' }
  if (kind !== 'document' && claims.every(({ records }) => records === different)) return { kind: 'agreed' }
  const winner = firstInPrecedence(claims, rules)
  if (winner !== undefined) return { kind: 'won', by: winner }
  const unlisted = claims.every(({ source }) => rules.rank(source) === undefined)
  if (kind === 'document' && unlisted) return { kind: 'agreed' }
  const [first, second] = claims.filter(({ own }) => own > 0)
  return first === undefined || second === undefined ? { kind: 'agreed' } : { kind: 'conflict', first, second }
}

/** Returns the claim of the source that has precedence, where all sources are listed and only one is the first. */
function firstInPrecedence(claims: readonly Claim[], rules: ConflictRules): Claim | undefined {
  let [best, bestRank, ties] = [claims[0], Infinity, 0]
  for (const claim of claims) {
    const rank = rules.rank(claim.source)
    if (rank === undefined) return undefined
    if (rank === bestRank) ties += 1
    if (rank < bestRank) [best, bestRank, ties] = [claim, rank, 0]
  }
  return ties === 0 ? best : undefined
}
