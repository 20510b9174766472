import { z } from 'zod'
import type { Staging } from './staging.ts'

const keptSchema = z.object({
  offset: z.int(),
  bytes: z.int(),
  occurrence: z.int(),
  effective_to: z.int().nullable(),
  derived: z.int().transform((derived) => derived === 1),
  ordinal: z.int(),
  number: z.int().nullable(),
})
/** Where a record's drafts lie in their file, and the fields that the other records decide. */
export type KeptRecord = z.infer<typeof keptSchema>

const IN_SOURCE_ORDER = `
select r.at as offset, r.bytes, p.occurrence, p.effective_to, p.derived, p.ordinal, n.number
from kept_record p join record r on r.seq = p.seq left join numbered n on n.seq = p.seq
order by p.seq`

/** Yields the kept records in the order of the sources. */
export function* keptRecords({ connection }: Staging): Generator<KeptRecord> {
  for (const row of connection.prepare(IN_SOURCE_ORDER).iterate()) yield keptSchema.parse(row)
}

const INDEX_OFFSETS = 'create index record_at on record (at)'
const LEAVE_PARTS = 'update record set parts = ?, kept = ? where at = ?'
const LEAVE_RECORD = 'delete from kept_record where seq = (select seq from record where at = ? and kept = 0)'

/** Returns a function that notes how many parts are left of the kept record at an offset; a record without any goes. */
export function createPartsLeft({ connection }: Staging): (offset: number, parts: number) => void {
  connection.exec(INDEX_OFFSETS)
  const [update, remove] = [connection.prepare(LEAVE_PARTS), connection.prepare(LEAVE_RECORD)]
  return (offset, parts) => {
    update.run(parts, parts === 0 ? 0 : 1, offset)
    if (parts === 0) remove.run(offset)
  }
}

const INDEX_REVISIONS = 'create index kept_record_revision on kept_record (revision, seq)'
const COUNT_DOCUMENTS = `
update document set passages = counted.passages
from (select r.document, sum(r.parts) as passages from kept_record p join record r on r.seq = p.seq group by r.document)
  as counted
where counted.document = document.id`
const REVISIONS = 'create table revision (id integer primary key, uuid text not null) strict'
const BY_REVISION = `
select p.revision, r.at as offset, r.bytes, p.occurrence, p.effective_to, p.derived, p.ordinal, n.number
from kept_record p join record r on r.seq = p.seq left join numbered n on n.seq = p.seq
order by p.revision, p.seq`
const inRevisionSchema = keptSchema.extend({ revision: z.int() })

/** Yields the kept records revision by revision, within each in the order of the sources. */
export function* recordsByRevision({ connection }: Staging): Generator<KeptRecord & { readonly revision: number }> {
  connection.exec(INDEX_REVISIONS)
  connection.exec(COUNT_DOCUMENTS)
  for (const row of connection.prepare(BY_REVISION).iterate()) yield inRevisionSchema.parse(row)
}

const INSERT_REVISION = 'insert into revision (id, uuid) values (?, ?)'

/** Returns a function that notes the final id of a revision. */
export function createRevisionIds({ connection }: Staging): (revision: number, uuid: string) => void {
  connection.exec(REVISIONS)
  const insert = connection.prepare(INSERT_REVISION)
  return (revision, uuid) => {
    insert.run(revision, uuid)
  }
}

/**
 * The order of `rowOrder` (`core/index/format/row-checks.ts`): the key holds language, jurisdiction and first subject in
 * UTF-16, so that its bytes compare as code units do. UUIDs are lower-case ASCII.
 */
const IN_ROW_ORDER = `
select r.at as offset, r.bytes, p.occurrence, p.effective_to, p.derived, p.ordinal, n.number,
  v.uuid as revision_id, d.passages as document_passages
from kept_record p
join record r on r.seq = p.seq
join document d on d.id = r.document
join revision v on v.id = p.revision
left join numbered n on n.seq = p.seq
order by r.order_key, d.uuid, v.uuid, p.ordinal`
const orderedSchema = keptSchema.extend({ revision_id: z.string(), document_passages: z.int() })
export type OrderedRecord = z.infer<typeof orderedSchema>

/** Yields the kept records in the row order of an artifact, after the id of every revision is noted. */
export function* recordsInRowOrder({ connection }: Staging): Generator<OrderedRecord> {
  for (const row of connection.prepare(IN_ROW_ORDER).iterate()) yield orderedSchema.parse(row)
}

const DOCUMENTS = 'select uuid as id, key from document where passages > 0 order by uuid'
const documentSchema = z.object({ id: z.string(), key: z.string() })

/** Yields the documents that hold a passage. */
export function* stagedDocuments({ connection }: Staging): Generator<z.infer<typeof documentSchema>> {
  for (const row of connection.prepare(DOCUMENTS).iterate()) yield documentSchema.parse(row)
}

/** Returns bytes that compare as the code units of the texts do, one after the other. No text holds a NUL. */
export function orderKeyOf(texts: readonly string[]): Uint8Array {
  return Buffer.from(texts.map((text) => `${text}\0`).join(''), 'utf16le').swap16()
}
