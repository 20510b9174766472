import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { z } from 'zod'
import type { StagedLocation, Staging } from './staging.ts'

/** Something that the kept records hold, which is allowed and which an operator should look at. */
export type Notice =
  /** Records of one document, language and day come from several sources. `others` has the location of some of them. */
  | {
      readonly kind: 'several_sources'
      readonly location: StagedLocation
      readonly other: StagedLocation
      readonly others: readonly StagedLocation[]
      readonly sources: number
    }
  /** Records of one document, language and day have different days of publication. */
  | { readonly kind: 'several_publications'; readonly location: StagedLocation; readonly other: StagedLocation }
  /** A revision of a document holds fewer than half of the provisions of the one that it ends. */
  | {
      readonly kind: 'shorter_revision'
      readonly location: StagedLocation
      readonly other: StagedLocation
      readonly provisions: number
      readonly provisionsBefore: number
    }

const locationSchema = z.object({ source: z.int(), line: z.int(), id: z.string() })
const pairSchema = locationSchema.extend({ other_source: z.int(), other_line: z.int(), other_id: z.string() })

function pairOf(row: z.infer<typeof pairSchema>): {
  readonly location: StagedLocation
  readonly other: StagedLocation
} {
  const other = { source: row.other_source, line: row.other_line, id: row.other_id }
  return { location: { source: row.source, line: row.line, id: row.id }, other }
}

/** The first record of each source, where several hold one document of one language and day. */
const SEVERAL_SOURCES = `
select r.document, r.law, r.day, min(r.seq) as seq, r.source, r.line, r.id
from (
  select document, law, day from record where kept = 1
  group by document, law, day having min(source) <> max(source)
) g
join record r on r.document = g.document and r.law = g.law and r.day = g.day
where r.kept = 1
group by r.document, r.law, r.day, r.source
order by r.document, r.law, r.day, r.source`
const sourceSchema = locationSchema.extend({ document: z.int(), law: z.string(), day: z.int() })

/** Yields one notice for each document, language and day that several sources hold. */
export function* readSeveralSources({ connection }: Staging): Generator<Notice> {
  let [key, locations, sources]: [string, StagedLocation[], number] = ['', [], 0]
  function* collected(): Generator<Notice> {
    const [location, other, ...others] = locations
    if (location !== undefined && other !== undefined)
      yield { kind: 'several_sources', location, other, others, sources }
  }
  for (const row of connection.prepare(SEVERAL_SOURCES).iterate()) {
    const { document, law, day, ...location } = sourceSchema.parse(row)
    const of = `${document} ${law} ${day}`
    if (of !== key) {
      yield* collected()
      ;[key, locations, sources] = [of, [], 0]
    }
    sources += 1
    if (locations.length < IMPORT_BOUNDS.importSourcesNamedMax) locations.push(location)
  }
  yield* collected()
}

const SEVERAL_PUBLICATIONS = `
select o.source, o.line, o.id, f.source as other_source, f.line as other_line, f.id as other_id
from (
  select min(r.seq) as seq, g.first
  from (
    select document, law, day, min(seq) as first from record where kept = 1
    group by document, law, day having min(published_at) <> max(published_at)
  ) g
  join record f on f.seq = g.first
  join record r on r.document = g.document and r.law = g.law and r.day = g.day
  where r.kept = 1 and r.published_at <> f.published_at
  group by g.first
) pair
join record o on o.seq = pair.seq
join record f on f.seq = pair.first
order by o.seq`

/** Yields one notice for each document, language and day whose records have different days of publication. */
export function* readSeveralPublications({ connection }: Staging): Generator<Notice> {
  for (const row of connection.prepare(SEVERAL_PUBLICATIONS).iterate())
    yield { kind: 'several_publications', ...pairOf(pairSchema.parse(row)) }
}

const SHORTER_REVISIONS = `
select n.source, n.line, n.id, f.source as other_source, f.line as other_line, f.id as other_id,
  s.next_provisions, s.provisions
from start s join record f on f.seq = s.seq join record n on n.seq = s.next_seq
where s.next_provisions * 2 < s.provisions and s.last_to > s.next_at
order by n.seq`
const shorterSchema = pairSchema.extend({ next_provisions: z.int(), provisions: z.int() })

/** Yields the revisions that end a much longer one; only where a revision replaces its document. */
export function* readShorterRevisions({ connection }: Staging): Generator<Notice> {
  for (const found of connection.prepare(SHORTER_REVISIONS).iterate()) {
    const row = shorterSchema.parse(found)
    const { next_provisions: provisions, provisions: provisionsBefore } = row
    yield { kind: 'shorter_revision', ...pairOf(row), provisions, provisionsBefore }
  }
}
