import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'

/** The active version and the candidate that would replace it. */
export const SIDES = ['before', 'after'] as const
export type Side = (typeof SIDES)[number]

/** Identifies a passage in both versions: one part of a provision, in one language, from one day on. */
export interface PassageKey {
  readonly document: string
  readonly language: string
  readonly provision: string
  /** First UTC day in force. */
  readonly day: string
}

export interface PassageEntry extends PassageKey {
  /** SHA-256 of what is served. */
  readonly content: Uint8Array
  readonly side: Side
  readonly row: number
}

/** What the passages of one revision share. */
const headerSchema = z.object({
  title: z.string(),
  authority: z.string(),
  canonical_url: z.string(),
  published_at: z.string(),
  effective_at: z.string(),
})

const revisionSchema = headerSchema.extend({ language: z.string(), day: z.string() })
export type RevisionEntry = z.infer<typeof revisionSchema>

/** A document and the versions that hold it. */
export interface HeldDocument {
  readonly document: string
  readonly before: boolean
  readonly after: boolean
}

/**
 * What two versions hold, in an SQLite file, so that memory does not grow with the corpus. The primary keys give the
 * order in which both are read side by side.
 */
export interface VersionDifferences {
  addPassage(entry: PassageEntry): void
  /** Adds a header; the same one again changes nothing. */
  addRevision(side: Side, document: string, revision: RevisionEntry): void
  /** Every passage by document, language, provision and day; equal content stands together. */
  passages(): Iterable<PassageEntry>
  documents(): Iterable<HeldDocument>
  /** The newest header of a document. */
  newest(side: Side, document: string): RevisionEntry | undefined
  /** Headers that only the active version has: the first ones, and how many there are. */
  lostRevisions(document: string): { readonly first: readonly RevisionEntry[]; readonly total: number }
  /** The candidate's header of the same language and day. */
  revisionOn(document: string, revision: RevisionEntry): RevisionEntry | undefined
  close(): void
}

const HEADER = 'title, authority, canonical_url, published_at, effective_at'

/** Nothing is kept after a crash: a later run begins with an empty file. */
const SCHEMA = `
pragma journal_mode = off;
pragma synchronous = off;
pragma locking_mode = exclusive;
pragma temp_store = file;
pragma cache_size = -${BOUNDS.comparisonCacheKb};
create table passages (document text not null, language text not null, provision text not null, day text not null,
  content blob not null, side integer not null, row integer not null,
  primary key (document, language, provision, day, content, side, row)) strict, without rowid;
create table revisions (document text not null, side integer not null, language text not null, day text not null,
  title text not null, authority text not null, canonical_url text not null, published_at text not null,
  effective_at text not null, primary key (document, side, language, day, ${HEADER})) strict, without rowid;
begin`

const INSERT_PASSAGE =
  'insert into passages (document, language, provision, day, content, side, row) values (?, ?, ?, ?, ?, ?, ?)'
const INSERT_REVISION = `
insert or ignore into revisions (document, side, language, day, ${HEADER}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const PASSAGES = `
select document, language, provision, day, content, side, row from passages
order by document, language, provision, day, content, side, row`
const DOCUMENTS = `
select document, max(side = 0) as before, max(side = 1) as after from revisions group by document order by document`
const NEWEST = `
select language, day, ${HEADER} from revisions where document = ? and side = ?
order by day desc, language, ${HEADER} limit 1`
const LOST_REVISIONS = `
select b.language, b.day, b.title, b.authority, b.canonical_url, b.published_at, b.effective_at,
  count(*) over () as total
from revisions b
where b.document = ? and b.side = 0 and not exists (select 1 from revisions a where a.document = b.document
  and a.side = 1 and a.language = b.language and a.day = b.day and a.title = b.title and a.authority = b.authority
  and a.canonical_url = b.canonical_url and a.published_at = b.published_at and a.effective_at = b.effective_at)
order by b.language, b.day, b.title limit ?`
const REVISION_ON = `
select language, day, ${HEADER} from revisions where document = ? and side = 1 and language = ? and day = ?
order by ${HEADER} limit 1`

const passageSchema = z
  .object({
    document: z.string(),
    language: z.string(),
    provision: z.string(),
    day: z.string(),
    content: z.instanceof(Uint8Array),
    side: z.union([z.literal(0), z.literal(1)]),
    row: z.int(),
  })
  .transform((row): PassageEntry => ({ ...row, side: SIDES[row.side] }))
const flag = z.union([z.literal(0), z.literal(1)]).transform(Boolean)
const documentSchema = z.object({ document: z.string(), before: flag, after: flag })
const lostSchema = revisionSchema.extend({ total: z.int() })

/** @param path of a file that does not exist yet. */
export function openVersionDifferences(path: string): VersionDifferences {
  const database = new DatabaseSync(path)
  database.exec(SCHEMA)
  const [insertPassage, insertRevision] = [database.prepare(INSERT_PASSAGE), database.prepare(INSERT_REVISION)]
  const [newest, lost, on] = [NEWEST, LOST_REVISIONS, REVISION_ON].map((sql) => database.prepare(sql))
  return {
    addPassage({ document, language, provision, day, content, side, row }) {
      insertPassage.run(document, language, provision, day, content, SIDES.indexOf(side), row)
    },
    addRevision(side, document, { language, day, ...header }) {
      const { title, authority, canonical_url: url, published_at: published, effective_at: effective } = header
      insertRevision.run(document, SIDES.indexOf(side), language, day, title, authority, url, published, effective)
    },
    *passages() {
      for (const row of database.prepare(PASSAGES).iterate()) yield passageSchema.parse(row)
    },
    *documents() {
      for (const row of database.prepare(DOCUMENTS).iterate()) yield documentSchema.parse(row)
    },
    newest: (side, document) => revisionSchema.optional().parse(newest?.get(document, SIDES.indexOf(side))),
    lostRevisions(document) {
      const rows = z.array(lostSchema).parse(lost?.all(document, BOUNDS.changedRevisionsNamedMax))
      return { first: rows.map(({ total: _total, ...revision }) => revision), total: rows[0]?.total ?? 0 }
    },
    revisionOn: (document, { language, day }) => revisionSchema.optional().parse(on?.get(document, language, day)),
    close: () => database.close(),
  }
}
