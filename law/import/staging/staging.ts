import { closeSync, openSync, unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { z } from 'zod'
import { DAY_MS } from '#core/platform/time.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'

/**
 * The records of one import in a SQLite file: what identifies, dates and orders each record, not its text. Memory is
 * bounded by the page cache, whatever the size of the corpus.
 */
export type Staging = ReturnType<typeof openStaging>

/** Position of a record: index of its source in the import from 0, line from 1, and the publisher's id. */
export const locationSchema = z.object({ source: z.int(), line: z.int(), id: z.string() })
export type StagedLocation = Readonly<z.infer<typeof locationSchema>>

/** Two records of one row; columns of the second begin with `other_`. */
export const pairSchema = locationSchema.extend({ other_source: z.int(), other_line: z.int(), other_id: z.string() })

/** The columns of `pairSchema` from two aliases of `record`. */
export function pairColumns(first: string, second: string): string {
  const columns = ['source', 'line', 'id']
  return [
    ...columns.map((name) => `${first}.${name}`),
    ...columns.map((name) => `${second}.${name} as other_${name}`),
  ].join(', ')
}

export function pairOf(row: z.infer<typeof pairSchema>) {
  const { source, line, id, other_source, other_line, other_id } = row
  return { first: { source, line, id }, second: { source: other_source, line: other_line, id: other_id } }
}

/** Yields the rows of a query as they are read. */
export function* rowsOf<Row>(
  { connection }: Pick<Staging, 'connection'>,
  sql: string,
  schema: z.ZodType<Row>,
  ...parameters: readonly number[]
): Generator<Row> {
  for (const row of connection.prepare(sql).iterate(...parameters)) yield schema.parse(row)
}

/** What the staging file keeps of a record. */
export interface StagedRow extends StagedLocation {
  /** Hash of what is unique in the format. */
  readonly identity: Uint8Array
  readonly document: { readonly id: string; readonly key: string }
  /** Language and script. */
  readonly written: string
  /** Within one law, a day has one text of each key: what is written in one language for one jurisdiction. */
  readonly law: string
  /** Whether replies show it; what they do not show ends and contradicts nothing that they do. */
  readonly served: boolean
  readonly label: string
  /** Hash of the provision's key. */
  readonly provision: Uint8Array
  /** Hash of the key of what the record is cited as. */
  readonly cited: Uint8Array
  /** Hash of the key of its URL with the publisher's fragment; null where the publisher has none. */
  readonly anchor: Uint8Array | null
  /** Hash of the text, whatever its white space. */
  readonly text: Uint8Array
  /** Instants in milliseconds since 1970. */
  readonly effective_at: number
  readonly effective_to: number | null
  readonly published_at: number
  /** Hash of the text and of every other field that is served. */
  readonly digest: Uint8Array
  /** JSON of the record's facets and of its act. */
  readonly facets: string
  readonly act: string | null
  readonly parts: number
  /** Parts whose own provision is known. */
  readonly referenced: number
  /** Sorts as the row order of an artifact does, up to the document. */
  readonly order_key: Uint8Array
  /** Sequence number of the first record that has the same identity and digest; it is of another source. */
  readonly repeats: number | null
  /** Position of the staged record in its file; 0 bytes where none is kept. */
  readonly at: number
  readonly bytes: number
}

const sameSchema = locationSchema.extend({ first: z.int() })

/** No journal: a file that was left by a killed process is discarded. One process has it open. */
const SETTINGS = `
pragma journal_mode = off;
pragma synchronous = off;
pragma locking_mode = exclusive;
pragma temp_store = file;
pragma cache_size = -${IMPORT_BOUNDS.stagingCacheKib};`

const SCHEMA = `
create table document (id integer primary key, uuid text not null unique, key text not null, passages integer) strict;
create table described (id integer primary key, json text not null unique) strict;
create table record (
  seq integer primary key, source integer not null, line integer not null, id text not null, identity blob not null,
  document integer not null, written text not null, law text not null, served integer not null, label text not null,
  provision blob not null, cited blob not null, anchor blob, text blob not null,
  day integer not null, effective_at integer not null, effective_to integer, published_at integer not null,
  digest blob not null, facets integer not null, act integer, parts integer not null, referenced integer not null,
  order_key blob not null, at integer not null, bytes integer not null, repeats integer,
  kept integer not null default 1
) strict;
create index record_identity on record (identity, digest, kept);
create table numbered (seq integer primary key, number integer not null) strict;`

/** Columns of a record, which `StagedRow` has by these names, and the day on which it takes effect. */
const COLUMNS = [
  ...(['source', 'line', 'id', 'identity', 'document', 'written', 'law', 'served', 'label', 'provision'] as const),
  ...(['cited', 'anchor', 'text', 'day', 'effective_at', 'effective_to', 'published_at', 'digest'] as const),
  ...(['facets', 'act', 'parts', 'referenced', 'order_key', 'at', 'bytes', 'repeats'] as const),
]
const INSERT_RECORD = `insert into record (${COLUMNS.join(', ')}) values (${COLUMNS.map(() => '?').join(', ')})`

/** While sources are read every record is kept, so both are read from the end of a range of the index. */
const SAME = `
select source, line, id, (
    select seq from record where identity = ?1 and digest = ?2 and kept = 1 order by seq limit 1
  ) as first
from record where identity = ?1 and digest = ?2 and kept = 1 order by seq desc limit 1`
/** A text that is there gives its row too. */
const INSERT_DOCUMENT =
  'insert into document (uuid, key) values (?, ?) on conflict do update set key = key returning id'
const INSERT_DESCRIBED = 'insert into described (json) values (?) on conflict do update set json = json returning id'

/**
 * Opens an empty staging file at a path where no file exists. Large sorts use its folder. With `unnamed`, it loses
 * its name at once, so nothing is left of it however the process ends.
 */
export function openStaging(path: string, { unnamed = false } = {}) {
  // SQLite does not say why it cannot make a file.
  closeSync(openSync(path, 'a'))
  // The defensive mode, which is the default, would keep a journal.
  const connection = new DatabaseSync(path, { defensive: false })
  if (unnamed) unlinkSync(path)
  connection.exec(SETTINGS)
  // The temporary folder of the system may be a small file system in memory.
  connection.exec(`pragma temp_store_directory = '${dirname(path).replaceAll("'", "''")}'`)
  connection.exec(SCHEMA)
  const insertRecord = createInsert(connection)
  const same = connection.prepare(SAME)
  let uncommitted = 0
  function flush(): void {
    if (uncommitted > 0) connection.exec('commit')
    uncommitted = 0
  }
  return {
    connection,
    /** Adds a record at the end of the sources' order. */
    add(row: StagedRow): void {
      if (uncommitted === 0) connection.exec('begin')
      uncommitted += 1
      insertRecord(row)
      if (uncommitted >= IMPORT_BOUNDS.stagingTransactionRows) flush()
    },
    /** Returns the last of the earlier records with one identity and digest, and the sequence number of the first. */
    same: (identity: Uint8Array, digest: Uint8Array) => sameSchema.optional().parse(same.get(identity, digest)),
    /** Commits what was added; called once all sources are read. */
    flush,
    [Symbol.dispose]: () => connection.close(),
  }
}

function createInsert(connection: DatabaseSync): (row: StagedRow) => void {
  const insert = connection.prepare(INSERT_RECORD)
  const documents = createIds(connection.prepare(INSERT_DOCUMENT))
  const described = createIds(connection.prepare(INSERT_DESCRIBED))
  return ({ document, served, facets, act, ...rest }) => {
    const row = {
      ...rest,
      document: documents(document.id, document.key),
      served: served ? 1 : 0,
      day: Math.floor(rest.effective_at / DAY_MS),
      facets: described(facets),
      act: act === null ? null : described(act),
    }
    insert.run(...COLUMNS.map((name) => row[name]))
  }
}

const idSchema = z.object({ id: z.int() })

/** Returns the row of a text, which it inserts where there is none. The most recent texts are cached. */
function createIds(insert: StatementSync): (text: string, ...rest: readonly string[]) => number {
  let known = new Map<string, number>()
  return (text, ...rest) => {
    const cached = known.get(text)
    if (cached !== undefined) return cached
    const { id } = idSchema.parse(insert.get(text, ...rest))
    if (known.size >= IMPORT_BOUNDS.stagingCachedIdsMax) known = new Map()
    known.set(text, id)
    return id
  }
}
