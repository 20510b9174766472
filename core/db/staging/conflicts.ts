import type { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import type { Staging, StagedPlace } from './staging.ts'

export const CONFLICT_KINDS = ['id', 'document', 'provision', 'overlap'] as const
/**
 * Two records of one id, of one document and day from two sources, or of one provision and day, with different texts;
 * or of two overlapping revisions, where nothing says what a revision replaces.
 */
export type ConflictKind = (typeof CONFLICT_KINDS)[number]

export interface Conflict {
  readonly kind: ConflictKind
  readonly first: StagedPlace
  readonly second: StagedPlace
}

/** A record that is left out because another source has precedence. */
export interface Outranked {
  readonly record: StagedPlace
  readonly by: StagedPlace
}

export interface ConflictRules {
  /** A document of one language and day must come from one source as a whole. */
  readonly wholeDocuments: boolean
  /** Rank of a source in the mapping's order of precedence, from 0; undefined for a source that is not listed. */
  rank(source: number): number | undefined
  onConflict(conflict: Conflict): void
  onOutranked(outranked: Outranked): void
}

/** The index also serves the ends that follow from successors. */
const INDEX = 'create index record_day on record (document, language, provision, day, effective_at, source)'

/**
 * Finds the records that contradict each other. Where the order of precedence lists every source of a contradiction,
 * the records of the first source stay and the others are left out. Documents are compared first, then ids, then
 * provisions; the first kind with a contradiction that stays is the last one, so that each is named once.
 */
export function settleConflicts(staging: Staging, rules: ConflictRules): void {
  staging.flush()
  staging.connection.exec(INDEX)
  let conflicts = 0
  const counting: ConflictRules = {
    ...rules,
    onConflict(conflict) {
      conflicts += 1
      rules.onConflict(conflict)
    },
  }
  if (rules.wholeDocuments) settleGroups(staging.connection, counting, 'document')
  if (conflicts === 0) settleIds(staging.connection, counting)
  if (conflicts === 0) settleGroups(staging.connection, counting, 'provision')
}

const memberSchema = z.object({ seq: z.int(), source: z.int(), line: z.int(), id: z.string() })
type Member = z.infer<typeof memberSchema>

const ID_CONFLICTS = 'select seq, earlier from conflict order by seq'
const idConflictSchema = z.object({ seq: z.int(), earlier: z.int() })
const KEPT_MEMBERS = 'select seq, source, line, id from record where seq in (?, ?) and kept = 1 order by seq'
const DROP_RECORD = 'update record set kept = 0 where seq = ?'
/** The source that has precedence may repeat a record that is left out. */
const KEEP_DUPLICATE = 'update record set kept = 1 where seq in (select seq from duplicate where of = ?) and source = ?'

function settleIds(connection: DatabaseSync, rules: ConflictRules): void {
  const members = connection.prepare(KEPT_MEMBERS)
  const drop = connection.prepare(DROP_RECORD)
  const keepDuplicate = connection.prepare(KEEP_DUPLICATE)
  for (const row of connection.prepare(ID_CONFLICTS).all()) {
    const { seq, earlier } = idConflictSchema.parse(row)
    const pair = members.all(earlier, seq).map((each) => memberSchema.parse(each))
    const winner = winnerOf(pair, rules, 'id')
    for (const member of winner === undefined ? [] : pair) {
      if (winner === undefined || member.seq === winner.seq) continue
      drop.run(member.seq)
      keepDuplicate.run(member.seq, winner.source)
      rules.onOutranked({ record: member, by: winner })
    }
  }
}

const DROP_CONTESTED = 'drop table if exists contested'
const CONTESTED_DOCUMENTS = `
create table contested as
select document, language, day from record where kept = 1
group by document, language, day having min(source) <> max(source)`
const CONTESTED_PROVISIONS = `
create table contested as
select document, language, provision, day from record where kept = 1
group by document, language, provision, day
having min(source) <> max(source) or min(effective_at) <> max(effective_at) or min(published_at) <> max(published_at)
  or min(ifnull(effective_to, 9e15)) <> max(ifnull(effective_to, 9e15))`
const COUNT_CONTESTED = 'select count(*) as count from contested'
const countSchema = z.object({ count: z.int() })

/** The first record of each source of a document's day; of each source and revision of a provision's day. */
const DOCUMENT_MEMBERS = `
select min(r.seq) as seq, r.source, r.line, r.id
from contested c join record r on r.document = c.document and r.language = c.language and r.day = c.day
where c.rowid = ? and r.kept = 1 group by r.source order by min(r.seq)`
const PROVISION_MEMBERS = `
select min(r.seq) as seq, r.source, r.line, r.id
from contested c join record r on r.document = c.document and r.language = c.language and r.day = c.day
  and r.provision = c.provision
where c.rowid = ? and r.kept = 1 group by r.source, r.effective_at, r.effective_to, r.published_at order by min(r.seq)`
const DROP_OF_DOCUMENT = `
update record set kept = 0 where seq in (
  select r.seq from contested c join record r on r.document = c.document and r.language = c.language and r.day = c.day
  where c.rowid = ? and r.kept = 1 and r.source <> ?)
returning seq, source, line, id`
const DROP_OF_PROVISION = `
update record set kept = 0 where seq in (
  select r.seq from contested c join record r on r.document = c.document and r.language = c.language and r.day = c.day
    and r.provision = c.provision
  where c.rowid = ? and r.kept = 1 and r.source <> ?)
returning seq, source, line, id`

function settleGroups(connection: DatabaseSync, rules: ConflictRules, kind: 'document' | 'provision'): void {
  connection.exec(DROP_CONTESTED)
  connection.exec(kind === 'document' ? CONTESTED_DOCUMENTS : CONTESTED_PROVISIONS)
  const { count } = countSchema.parse(connection.prepare(COUNT_CONTESTED).get())
  const members = connection.prepare(kind === 'document' ? DOCUMENT_MEMBERS : PROVISION_MEMBERS)
  const keepDuplicate = connection.prepare(KEEP_DUPLICATE)
  const drop = connection.prepare(kind === 'document' ? DROP_OF_DOCUMENT : DROP_OF_PROVISION)
  for (let group = 1; group <= count; group += 1) {
    const found = members.all(group).map((each) => memberSchema.parse(each))
    const winner = winnerOf(found, rules, kind)
    if (winner === undefined) continue
    for (const row of drop.all(group, winner.source)) {
      const record = memberSchema.parse(row)
      keepDuplicate.run(record.seq, winner.source)
      rules.onOutranked({ record, by: winner })
    }
  }
}

/** Returns the member whose source has precedence. Reports a conflict and returns undefined where none has. */
function winnerOf(members: readonly Member[], rules: ConflictRules, kind: ConflictKind): Member | undefined {
  const [first, second] = members
  if (first === undefined || second === undefined) return undefined
  const ranked = members.map((member) => ({ member, rank: rules.rank(member.source) ?? Number.NaN }))
  const best = Math.min(...ranked.map(({ rank }) => rank))
  const winners = ranked.filter(({ rank }) => rank === best)
  const [winner] = winners
  if (winner !== undefined && winners.length === 1) return winner.member
  rules.onConflict({ kind, first, second })
  return undefined
}

const DUPLICATES = `
select r.source, r.line, r.id, f.source as first_source, f.line as first_line, f.id as first_id
from duplicate d join record r on r.seq = d.seq join record f on f.seq = d.of
where r.kept = 0 order by r.seq`
const duplicateSchema = z.object({
  source: z.int(),
  line: z.int(),
  id: z.string(),
  first_source: z.int(),
  first_line: z.int(),
  first_id: z.string(),
})

/** Yields the records that are left out because they repeat a record of another source. */
export function* readDuplicates({ connection }: Staging): Generator<{ record: StagedPlace; first: StagedPlace }> {
  for (const row of connection.prepare(DUPLICATES).iterate()) {
    const { source, line, id, ...other } = duplicateSchema.parse(row)
    const first = { source: other.first_source, line: other.first_line, id: other.first_id }
    yield { record: { source, line, id }, first }
  }
}
