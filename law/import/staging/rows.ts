import { z } from 'zod'
import { rowsOf, type Staging } from './staging.ts'

const keptSchema = z.object({
  offset: z.int(),
  bytes: z.int(),
  occurrence: z.int(),
  effective_to: z.int().nullable(),
  derived: z.int().transform((derived) => derived === 1),
  ordinal: z.int(),
  number: z.int().nullable(),
})
/** Where a staged record lies in its file, and what the other records decide. */
export type KeptRecord = z.infer<typeof keptSchema>

/** Selects the kept records with more columns, by which other tables are joined and the records are ordered. */
const keptSql = (columns: string, rest: string): string => `
select r.at as offset, r.bytes, p.occurrence, p.effective_to, p.derived, p.ordinal, n.number${columns}
from kept_record p join record r on r.seq = p.seq left join numbered n on n.seq = p.seq ${rest}`

/** Yields the kept records in the order of the sources. */
export function keptRecords(staging: Staging): Generator<KeptRecord> {
  return rowsOf(staging, keptSql('', 'order by p.seq'), keptSchema)
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
const BY_REVISION = keptSql(', p.revision', 'order by p.revision, p.seq')

/** Yields the kept records revision by revision, within each in the order of the sources. */
export function recordsByRevision(staging: Staging): Generator<KeptRecord & { readonly revision: number }> {
  staging.connection.exec(INDEX_REVISIONS)
  staging.connection.exec(COUNT_DOCUMENTS)
  return rowsOf(staging, BY_REVISION, keptSchema.extend({ revision: z.int() }))
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
const IN_ROW_ORDER = keptSql(
  ', v.uuid as revision_id, d.passages as document_passages',
  `join document d on d.id = r.document join revision v on v.id = p.revision
order by r.order_key, d.uuid, v.uuid, p.ordinal`,
)
const orderedSchema = keptSchema.extend({ revision_id: z.string(), document_passages: z.int() })

/** Yields the kept records in the row order of an artifact, after the id of every revision is noted. */
export const recordsInRowOrder = (staging: Staging) => rowsOf(staging, IN_ROW_ORDER, orderedSchema)

const DOCUMENTS = 'select uuid as id, key from document where passages > 0 order by uuid'
const documentSchema = z.object({ id: z.string(), key: z.string() })

/** Yields the documents that hold a passage. */
export const stagedDocuments = (staging: Staging) => rowsOf(staging, DOCUMENTS, documentSchema)

/** Returns bytes that compare as the code units of the texts do, one after the other. No text holds a NUL. */
export function orderKeyOf(texts: readonly string[]): Uint8Array {
  return Buffer.from(texts.map((text) => `${text}\0`).join(''), 'utf16le').swap16()
}
