import { unlinkSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { dirname } from 'node:path'
import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'

/**
 * The records of one import in a SQLite file: what identifies, dates and orders each record, not its text. Memory is
 * bounded by the page cache, whatever the size of the corpus.
 */
export interface Staging {
  readonly connection: DatabaseSync
  /** Adds a record at the end of the sources' order and returns its sequence number, from 1. */
  add(record: StagedRecord): number
  /** Returns the earlier records that use an identity, in the order of the sources. */
  earlier(identity: Uint8Array): readonly EarlierRecord[]
  /** Notes the identity of the id that a record is given in place of the publisher's. */
  noteGivenId(record: number, identity: Uint8Array): void
  /** Notes that two records have one id and different texts. */
  noteConflict(record: number, earlier: number): void
  /** Commits what was added; called once all sources are read. */
  flush(): void
  close(): void
}

/** Position of a record in its source. */
export interface StagedPlace {
  /** Index of the source in the import, from 0. */
  readonly source: number
  /** From 1. */
  readonly line: number
  /** The publisher's id. */
  readonly id: string
}

export interface StagedRecord extends StagedPlace {
  /** Hash of what is unique in the format. */
  readonly identity: Uint8Array
  readonly document: { readonly id: string; readonly key: string }
  readonly language: string
  /** Hash of the provision's name. */
  readonly provision: Uint8Array
  /** Instants in milliseconds since 1970. */
  readonly effectiveAtMs: number
  readonly effectiveToMs: number | null
  readonly publishedAtMs: number
  /** Hash of the text and of every other field that is served. */
  readonly digest: Uint8Array
  /** JSON of the record's facets and of its act. */
  readonly facets: string
  readonly act: string | null
  readonly parts: number
  /** Parts whose own provision is known. */
  readonly referenced: number
  /** Sorts as the row order of an artifact does, up to the document. */
  readonly orderKey: Uint8Array
  /** The record of another source that this one repeats; it then stays out unless that one does. */
  readonly duplicateOf: number | null
  /** Position of the drafts in their file; 0 bytes where no drafts are kept. */
  readonly offset: number
  readonly bytes: number
}

const earlierSchema = z.object({
  seq: z.int(),
  source: z.int(),
  line: z.int(),
  id: z.string(),
  document: z.string(),
  language: z.string(),
  day: z.int(),
  digest: z.instanceof(Uint8Array),
  given: z.int().transform((given) => given === 1),
})
/**
 * An earlier record that uses the identity. `document` is its UUID, `day` its first day in force. `given` means that
 * the import gave it the id in place of the publisher's.
 */
export type EarlierRecord = z.infer<typeof earlierSchema>

/** No journal: a file that was left by a killed process is discarded. One process has it open. */
const SETTINGS = `
pragma journal_mode = off;
pragma synchronous = off;
pragma locking_mode = exclusive;
pragma temp_store = file;
pragma cache_size = -${BOUNDS.stagingCacheKib};`

const SCHEMA = `
create table document (id integer primary key, uuid text not null unique, key text not null, passages integer) strict;
create table described (id integer primary key, json text not null unique) strict;
create table record (
  seq integer primary key, source integer not null, line integer not null, id text not null, identity blob not null,
  document integer not null, language text not null, provision blob not null, day integer not null,
  effective_at integer not null, effective_to integer, published_at integer not null, digest blob not null,
  facets integer not null, act integer, parts integer not null, referenced integer not null, order_key blob not null,
  at integer not null, bytes integer not null, kept integer not null default 1
) strict;
create index record_identity on record (identity);
create table given_id (identity blob not null primary key, seq integer not null) strict, without rowid;
create table duplicate (of integer not null, seq integer not null, primary key (of, seq)) strict, without rowid;
create table conflict (seq integer not null, earlier integer not null) strict;`

const INSERT_RECORD = `
insert into record (source, line, id, identity, document, language, provision, day, effective_at, effective_to,
  published_at, digest, facets, act, parts, referenced, order_key, at, bytes, kept)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const INSERT_DUPLICATE = 'insert into duplicate (of, seq) values (?, ?)'

/** Bounded, because a corpus that repeats one id costs quadratic time. */
const EARLIER = `
select r.seq, r.source, r.line, r.id, d.uuid as document, r.language, r.day, r.digest, u.given
from (
  select seq, 0 as given from record where identity = ?1
  union all
  select seq, 1 from given_id where identity = ?1
) u
join record r on r.seq = u.seq
join document d on d.id = r.document
order by r.seq limit ${BOUNDS.recordsPerIdMax}`
const INSERT_GIVEN_ID = 'insert into given_id (identity, seq) values (?, ?)'

const INSERT_CONFLICT = 'insert into conflict (seq, earlier) values (?, ?)'
const INSERT_DOCUMENT = 'insert into document (uuid, key) values (?, ?) on conflict do nothing'
const FIND_DOCUMENT = 'select id from document where uuid = ?'
const INSERT_DESCRIBED = 'insert into described (json) values (?) on conflict do nothing'
const FIND_DESCRIBED = 'select id from described where json = ?'

const MS_PER_DAY = 86_400_000

/** UTC day of an instant in milliseconds, as the number of days since 1970. */
export function dayNumberOf(instantMs: number): number {
  return Math.floor(instantMs / MS_PER_DAY)
}

interface StagingOptions {
  readonly unnamed?: boolean
}

/**
 * Opens an empty staging file at a path where no file exists. Large sorts use its folder. With `unnamed`, it loses
 * its name at once, so nothing is left of it however the process ends.
 */
export function openStaging(path: string, { unnamed = false }: StagingOptions = {}): Staging {
  // The defensive mode, which is the default, would keep a journal.
  const connection = new DatabaseSync(path, { defensive: false })
  connection.exec(SETTINGS)
  setTemporaryFolder(connection, dirname(path))
  connection.exec(SCHEMA)
  if (unnamed) unlinkSync(path)
  const insertRecord = createInsert(connection)
  const earlier = connection.prepare(EARLIER)
  const duplicate = connection.prepare(INSERT_DUPLICATE)
  const givenId = connection.prepare(INSERT_GIVEN_ID)
  const conflict = connection.prepare(INSERT_CONFLICT)
  let uncommitted = 0
  function write<T>(change: () => T): T {
    if (uncommitted === 0) connection.exec('begin')
    uncommitted += 1
    const result = change()
    if (uncommitted >= BOUNDS.stagingTransactionRows) flush()
    return result
  }
  function flush(): void {
    if (uncommitted > 0) connection.exec('commit')
    uncommitted = 0
  }
  return {
    connection,
    add: (record) =>
      write(() => {
        const seq = insertRecord(record)
        if (record.duplicateOf !== null) duplicate.run(record.duplicateOf, seq)
        return seq
      }),
    earlier: (identity) => earlier.all(identity).map((row) => earlierSchema.parse(row)),
    noteGivenId: (record, identity) => void write(() => givenId.run(identity, record)),
    noteConflict: (record, before) => void write(() => conflict.run(record, before)),
    flush,
    close: () => connection.close(),
  }
}

/** Returns a function that inserts a record with its document, facets and act, and returns its sequence number. */
function createInsert(connection: DatabaseSync): (record: StagedRecord) => number {
  const insert = connection.prepare(INSERT_RECORD)
  const documents = createIds(connection.prepare(INSERT_DOCUMENT), connection.prepare(FIND_DOCUMENT))
  const described = createIds(connection.prepare(INSERT_DESCRIBED), connection.prepare(FIND_DESCRIBED))
  return (record) =>
    Number(
      insert.run(
        record.source,
        record.line,
        record.id,
        record.identity,
        documents(record.document.id, record.document.key),
        record.language,
        record.provision,
        dayNumberOf(record.effectiveAtMs),
        record.effectiveAtMs,
        record.effectiveToMs,
        record.publishedAtMs,
        record.digest,
        described(record.facets),
        record.act === null ? null : described(record.act),
        record.parts,
        record.referenced,
        record.orderKey,
        record.offset,
        record.bytes,
        record.duplicateOf === null ? 1 : 0,
      ).lastInsertRowid,
    )
}

/** The temporary folder of the system may be a small file system in memory. */
function setTemporaryFolder(connection: DatabaseSync, folder: string): void {
  connection.exec(`pragma temp_store_directory = '${folder.replaceAll("'", "''")}'`)
}

const idSchema = z.object({ id: z.int() })

/** Returns the row of a text, which it inserts where there is none. The most recent texts are cached. */
function createIds(insert: StatementSync, find: StatementSync): (text: string, ...rest: readonly string[]) => number {
  let known = new Map<string, number>()
  return (text, ...rest) => {
    const cached = known.get(text)
    if (cached !== undefined) return cached
    insert.run(text, ...rest)
    const { id } = idSchema.parse(find.get(text))
    if (known.size >= BOUNDS.stagingCachedIdsMax) known = new Map()
    known.set(text, id)
    return id
  }
}
