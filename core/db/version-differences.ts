import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { DATABASE_BOUNDS } from './bounds.ts'

/** The active version and the candidate that would replace it. */
export const SIDES = ['before', 'after'] as const
export type Side = (typeof SIDES)[number]

const sideSchema = z.union([z.literal(0), z.literal(1)]).transform((side): Side => SIDES[side])
const flag = z.union([z.literal(0), z.literal(1)]).transform(Boolean)

const provisionSchema = z.object({ document: z.string(), language: z.string(), provision: z.string() })
const keySchema = provisionSchema.extend({
  /** First UTC day in force. */
  day: z.string(),
})
/** Identifies a passage in both versions: one part of a provision, in one language, from one day on. */
export type PassageKey = Readonly<z.infer<typeof keySchema>>

const passageSchema = keySchema.extend({
  /** First UTC day no longer in force; null: none. */
  until: z.string().nullable(),
  /** SHA-256 of what is served. */
  content: z.custom<Uint8Array>((value) => value instanceof Uint8Array),
  side: sideSchema,
  /** Byte offset and length of its line in the artifact of its side. */
  from: z.int(),
  bytes: z.int(),
  snapshot: z.string(),
})
export type PassageEntry = Readonly<z.infer<typeof passageSchema>>

/** Days in force: from `day` on, before `until`; null: without end. */
type InForce = Pick<PassageEntry, 'document' | 'language' | 'day' | 'until'>

const referenceSchema = provisionSchema.extend({
  reference: z.string(),
  label: z.string(),
  before: flag,
  after: flag,
  /** Whether the candidate holds the provision at all. */
  kept: flag,
})
/** A provision that a reference leads to, and the versions in which it does. */
export type HeldReference = Readonly<z.infer<typeof referenceSchema>>

/** What the passages of one revision share. */
export const headerSchema = z.object({
  title: z.string(),
  authority: z.string(),
  canonical_url: z.string(),
  published_at: z.string(),
  effective_at: z.string(),
})

const revisionSchema = headerSchema.extend({ language: z.string(), day: z.string() })
export type RevisionEntry = z.infer<typeof revisionSchema>

const lostSchema = revisionSchema.extend({ total: z.int() })
const documentSchema = z.object({ document: z.string(), before: flag, after: flag })

const queryExpansionSchema = z.object({
  /** `source_id` of its passage. */
  passage: z.string(),
  language: z.string(),
  text: z.string(),
})
const oneSidedSchema = queryExpansionSchema.extend({ side: sideSchema })

/**
 * What two versions hold, in an SQLite file, so that memory does not grow with the corpus. The primary keys give the
 * order in which both are read side by side.
 */
export type VersionDifferences = ReturnType<typeof openVersionDifferences>

const HEADER = 'title, authority, canonical_url, published_at, effective_at'

/** Nothing is kept after a crash: a later run begins with an empty file. */
const SCHEMA = `
pragma journal_mode = off;
pragma synchronous = off;
pragma locking_mode = exclusive;
pragma temp_store = file;
pragma cache_size = -${DATABASE_BOUNDS.comparisonCacheKb};
create table passages (document text not null, language text not null, provision text not null, day text not null,
  content blob not null, side integer not null, start integer not null, bytes integer not null,
  until text, snapshot text not null, primary key (document, language, provision, day, content, side, start)) strict, without rowid;
create table names (document text not null, language text not null, name text not null, provision text not null,
  day text not null, primary key (name, document, language, provision, day)) strict, without rowid;
create table refs (reference text not null, document text not null, language text not null, provision text not null,
  side integer not null, label text not null, primary key (reference, document, language, provision, side))
  strict, without rowid;
create table revisions (document text not null, side integer not null, language text not null, day text not null,
  title text not null, authority text not null, canonical_url text not null, published_at text not null,
  effective_at text not null, primary key (document, side, language, day, ${HEADER})) strict, without rowid;
create table search_questions (passage text not null, language text not null, text text not null, side integer not null,
  primary key (passage, language, text, side)) strict, without rowid;
begin`

const INSERT_PASSAGE = `
insert into passages (document, language, provision, day, until, content, side, start, bytes, snapshot)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const INSERT_NAME = 'insert or ignore into names (document, language, name, provision, day) values (?, ?, ?, ?, ?)'
const INSERT_REVISION = `
insert or ignore into revisions (document, side, language, day, ${HEADER}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const PASSAGES = `
select document, language, provision, day, until, content, side, start as "from", bytes, snapshot from passages
order by document, language, provision, day, content, side, start`
/** A passage that the candidate holds too is in force as the candidate says: an amendment ends it. */
const held = (within: string): string => `
select o.document, o.language, o.provision, o.day, o.until, o.content, o.side, o.start as "from", o.bytes, o.snapshot
from names n join passages o on o.document = n.document and o.language = n.language and o.provision = n.provision
  and o.day = n.day and o.side = 0
where ${within} n.name = :name
  and (:except is null or n.provision <> :except or n.document <> :document or n.language <> :language)
  and (:until is null or n.day < :until)
  and exists (select 1 from passages y where y.document = n.document and y.language = n.language
    and y.provision = n.provision and y.day = n.day and (y.until is null or y.until > :day)
    and (y.side = 1 or not exists (select 1 from passages c where c.document = n.document
      and c.language = n.language and c.provision = n.provision and c.day = n.day and c.side = 1)))
order by n.document, n.language, n.provision, n.day, o.content, o.start limit 1`
const HELD_UNDER = held('n.document = :document and n.language = :language and')
const HELD_ANYWHERE = held('')
const INSERT_REFERENCE = `
insert or ignore into refs (reference, document, language, provision, side, label) values (?, ?, ?, ?, ?, ?)`
const REFERENCES = `
select r.reference, r.document, r.language, r.provision, min(r.label) as label, max(r.side = 0) as before,
  max(r.side = 1) as after, exists (select 1 from passages p where p.document = r.document
    and p.language = r.language and p.provision = r.provision and p.side = 1) as kept
from refs r
where exists (select 1 from refs b where b.reference = r.reference and b.side = 0)
group by r.reference, r.document, r.language, r.provision
having before <> after
order by r.reference, r.document, r.language, r.provision`
const INSERT_QUERY_EXPANSION = `
insert or ignore into search_questions (passage, language, text, side) values (?, ?, ?, ?)`
const QUERY_EXPANSIONS = `
select passage, language, text, min(side) as side from search_questions group by passage, language, text
having count(*) = 1 order by passage, language, text`
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

/** @param path of a file that does not exist yet. */
export function openVersionDifferences(path: string) {
  const database = new DatabaseSync(path)
  database.exec(SCHEMA)
  const [insertPassage, insertName] = [database.prepare(INSERT_PASSAGE), database.prepare(INSERT_NAME)]
  const [insertRevision, insertReference] = [database.prepare(INSERT_REVISION), database.prepare(INSERT_REFERENCE)]
  const [heldUnder, heldAnywhere] = [database.prepare(HELD_UNDER), database.prepare(HELD_ANYWHERE)]
  const insertQueryExpansion = database.prepare(INSERT_QUERY_EXPANSION)
  const [newest, lost, on] = [NEWEST, LOST_REVISIONS, REVISION_ON].map((sql) => database.prepare(sql))
  return {
    addPassage({ document, language, provision, day, until, content, side, from, bytes, snapshot }: PassageEntry) {
      insertPassage.run(document, language, provision, day, until, content, SIDES.indexOf(side), from, bytes, snapshot)
    },
    /** Adds a name under which the active version holds a passage; the same one again changes nothing. */
    addName(name: string, { document, language, provision, day }: PassageKey) {
      insertName.run(document, language, name, provision, day)
    },
    /**
     * The first passage that the active version holds under a name in a document and language, and that is in force at
     * the same time. Where the candidate holds it too, the days in force are those of the candidate.
     * @param except the provision that is left out; null: none.
     */
    heldUnder: (name: string, { document, language, day, until }: InForce, except: string | null) =>
      passageSchema.optional().parse(heldUnder.get({ name, document, language, day, until, except })),
    /** The same in every document and language; `except` is a provision of the document and language of `inForce`. */
    heldAnywhere: (name: string, { document, language, day, until }: InForce, except: string | null) =>
      passageSchema.optional().parse(heldAnywhere.get({ name, document, language, day, until, except })),
    /** Adds a provision to which a reference leads; the same one again changes nothing. */
    addReference(side: Side, reference: string, led: Omit<PassageKey, 'day'> & { readonly label: string }) {
      const { document, language, provision, label } = led
      insertReference.run(reference, document, language, provision, SIDES.indexOf(side), label)
    },
    /** Provisions of the references that both versions hold, or the active one alone, by reference. */
    *references() {
      for (const row of database.prepare(REFERENCES).iterate()) yield referenceSchema.parse(row)
    },
    /** Adds a header; the same one again changes nothing. */
    addRevision(side: Side, document: string, { language, day, ...header }: RevisionEntry) {
      const { title, authority, canonical_url: url, published_at: published, effective_at: effective } = header
      insertRevision.run(document, SIDES.indexOf(side), language, day, title, authority, url, published, effective)
    },
    /** Adds a query expansion; the same one again changes nothing. */
    addQueryExpansion(side: Side, { passage, language, text }: z.infer<typeof queryExpansionSchema>) {
      insertQueryExpansion.run(passage, language, text, SIDES.indexOf(side))
    },
    /** The query expansions that only one of the versions holds, by passage. */
    *queryExpansions() {
      for (const row of database.prepare(QUERY_EXPANSIONS).iterate()) yield oneSidedSchema.parse(row)
    },
    /** Every passage by document, language, provision and day; equal content stands together. */
    *passages() {
      for (const row of database.prepare(PASSAGES).iterate()) yield passageSchema.parse(row)
    },
    *documents() {
      for (const row of database.prepare(DOCUMENTS).iterate()) yield documentSchema.parse(row)
    },
    newest: (side: Side, document: string) =>
      revisionSchema.optional().parse(newest?.get(document, SIDES.indexOf(side))),
    /** Headers that only the active version has: the first ones, and how many there are. */
    lostRevisions(document: string) {
      const rows = z.array(lostSchema).parse(lost?.all(document, DATABASE_BOUNDS.changedRevisionsNamedMax))
      return { first: rows.map(({ total: _total, ...revision }) => revision), total: rows[0]?.total ?? 0 }
    },
    /** The candidate's header of the same language and day. */
    revisionOn: (document: string, { language, day }: Pick<RevisionEntry, 'language' | 'day'>) =>
      revisionSchema.optional().parse(on?.get(document, language, day)),
    close: () => database.close(),
  }
}
