import { z } from 'zod'
import type { Conflict } from './conflicts.ts'
import { locationSchema, pairColumns, pairOf, pairSchema, rowsOf } from './staging.ts'
import type { Staging } from './staging.ts'

/** What a new revision replaces; undefined where the mapping does not say. */
export type Revises = 'document' | 'provision' | undefined

/**
 * The first record of each day of a document or provision in one law, with the day's first instant and the next day's.
 * `provision` is empty where a revision replaces the document. A revision that is not served starts nothing, so that it
 * ends no text.
 */
const STARTS_OF_DOCUMENTS = `
create table start as
select document, law, x'' as provision, day, seq, provisions, last_to,
  lead(effective_at) over w as next_at, lead(seq) over w as next_seq, lead(provisions) over w as next_provisions
from (
  select document, law, day, min(effective_at) as effective_at, min(seq) as seq, count(*) as provisions,
    max(ifnull(effective_to, 9e15)) as last_to
  from record where kept = 1 and served = 1 group by document, law, day
)
window w as (partition by document, law order by day)`
const STARTS_OF_PROVISIONS = `
create table start as
select document, law, provision, day, seq,
  lead(effective_at) over w as next_at, lead(seq) over w as next_seq
from (
  select document, law, provision, day, min(effective_at) as effective_at, min(seq) as seq
  from record where kept = 1 and served = 1 group by document, law, provision, day
)
window w as (partition by document, law, provision order by day)`
const INDEX_STARTS = 'create index start_day on start (document, law, provision, day)'

/** Records whose stated end lies behind the start of a later revision of their document. */
const OVERLAPS = `
select ${pairColumns('r', 'n')}
from record r
cross join start s on s.document = r.document and s.law = r.law and s.provision = x'' and s.day = r.day
cross join record n on n.seq = s.next_seq
where r.kept = 1 and (r.effective_to is null or r.effective_to > s.next_at)
order by r.seq limit ?`

const KEPT_RECORDS = `
create table kept_record (
  seq integer primary key, effective_to integer, derived integer not null, occurrence integer not null,
  revision integer not null, ordinal integer not null
) strict`

/**
 * A revision is what one document has between the same two instants and with one day of publication; its number is the
 * first record's. The ordinal counts the parts of the whole text, whose provisions may end on different days. Records of
 * one provision in one revision as it is stated are numbered in the order of the sources.
 */
const insertKept = (provision: string): string => `
insert into kept_record (seq, effective_to, derived, occurrence, revision, ordinal)
select seq, effective_to, derived, occurrence, first_value(seq) over w,
  sum(parts) over (t rows between unbounded preceding and current row) - parts
from (
  select r.seq, r.document, r.effective_at, r.published_at, r.parts,
    iif(s.next_at < ifnull(r.effective_to, 9e15), s.next_at, r.effective_to) as effective_to,
    iif(s.next_at < ifnull(r.effective_to, 9e15), 1, 0) as derived,
    row_number() over (
      partition by r.document, r.written, r.effective_at, r.effective_to, r.published_at, r.provision
      order by r.seq
    ) - 1 as occurrence
  from record r
  left join start s on s.document = r.document and s.law = r.law and s.provision = ${provision}
    and s.day = r.day
  where r.kept = 1
)
window w as (partition by document, effective_at, effective_to, published_at order by seq),
  t as (partition by document, effective_at, published_at order by seq)`

/**
 * Derives the fields of every kept record: the end of its text, its revision, its ordinal, and its number among the records of its
 * provision. A text ends on its stated day or when its successor takes effect, whichever is earlier. Where `revises` is
 * undefined, returns the overlaps as conflicts.
 */
export function orderKept(staging: Staging, revises: Revises, conflictsMax: number): readonly Conflict[] {
  const { connection } = staging
  connection.exec(revises === 'provision' ? STARTS_OF_PROVISIONS : STARTS_OF_DOCUMENTS)
  connection.exec(INDEX_STARTS)
  const overlaps = revises === undefined ? [...rowsOf(staging, OVERLAPS, pairSchema, conflictsMax)] : []
  connection.exec(KEPT_RECORDS)
  connection.exec(insertKept(revises === 'provision' ? 'r.provision' : "x''"))
  return overlaps.map((row) => ({ kind: 'overlap', ...pairOf(row) }))
}

const TOTALS = `
select count(*) as records, ifnull(sum(r.parts), 0) as passages, ifnull(sum(r.parts > 1), 0) as split,
  ifnull(sum(r.referenced), 0) as referenced, count(distinct r.document) as documents,
  count(distinct p.revision) as revisions, ifnull(sum(p.derived), 0) as ends_derived
from kept_record p join record r on r.seq = p.seq`
const totalsSchema = z.object({
  records: z.int(),
  passages: z.int(),
  split: z.int(),
  referenced: z.int(),
  documents: z.int(),
  revisions: z.int(),
  ends_derived: z.int(),
})
export type StagedTotals = z.infer<typeof totalsSchema>

export function readTotals({ connection }: Staging): StagedTotals {
  return totalsSchema.parse(connection.prepare(TOTALS).get())
}

const SPLITS = 'select source, line, id, parts from record where kept = 1 and parts > 1 order by seq limit ?'
const splitSchema = locationSchema.extend({ parts: z.int() })

/** Returns the first kept records of several parts, in the order of the sources. */
export function readSplits(staging: Staging, splitsMax: number): readonly z.infer<typeof splitSchema>[] {
  return [...rowsOf(staging, SPLITS, splitSchema, splitsMax)]
}

const REPEATED_IDS = `
select r.seq, r.source, r.line, r.id, r.identity, d.key as document_key, r.written, r.effective_at
from record r join document d on d.id = r.document
where r.kept = 1 and r.identity in (
  select identity from record where kept = 1 group by identity having count(*) > 1)
order by r.identity, r.seq`
const numberedSchema = locationSchema.extend({
  seq: z.int(),
  identity: z.instanceof(Uint8Array),
  document_key: z.string(),
  written: z.string(),
  effective_at: z.int(),
})
export type NumberedRecord = z.infer<typeof numberedSchema>

const IN_USE = 'select seq from record where identity = ? limit 1'
const INSERT_NUMBER = 'insert into numbered (seq, number) values (?, ?)'

/**
 * Numbers the kept records of one identity, after the first, in the order of the sources. An id that the publisher uses
 * is passed over, and no number of an id is tried twice, so the cost is linear. Yields each numbered record, with the
 * number of kept records of its identity so far; all are numbered once the last is taken. The import writes a number,
 * which is at least 2, behind the publisher's id.
 * @param identityOf returns the identity of the id that a record would get by a number; fails for an id that is too
 * long.
 */
export function* numberIds(staging: Staging, identityOf: (record: NumberedRecord, number: number) => Uint8Array) {
  const { connection } = staging
  const inUse = connection.prepare(IN_USE)
  const insert = connection.prepare(INSERT_NUMBER)
  let first: NumberedRecord | undefined
  let [next, records] = [2, 1]
  connection.exec('begin')
  for (const record of rowsOf(staging, REPEATED_IDS, numberedSchema)) {
    if (first === undefined || !Buffer.from(first.identity).equals(record.identity)) {
      ;[first, next, records] = [record, 2, 1]
      continue
    }
    records += 1
    while (inUse.get(identityOf(record, next)) !== undefined) next += 1
    insert.run(record.seq, next)
    yield { record, first, number: next, records }
    next += 1
  }
  connection.exec('commit')
}
