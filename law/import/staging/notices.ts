import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { z } from 'zod'
import { locationSchema, pairColumns, pairOf, pairSchema, rowsOf } from './staging.ts'
import type { StagedLocation, Staging } from './staging.ts'

/** Something that the kept records hold, which is allowed and which an operator should look at. */
export type Notice =
  /** Records of one document, language and day come from several sources. `others` has some more of them. */
  | {
      readonly kind: 'several_sources'
      readonly first: StagedLocation
      readonly second: StagedLocation
      readonly others: readonly StagedLocation[]
      readonly sources: number
    }
  /** Records of one document, language and day have different days of publication. */
  | { readonly kind: 'several_publications'; readonly first: StagedLocation; readonly second: StagedLocation }
  /** A revision of a document holds fewer than half of the provisions of the one that it ends. */
  | {
      readonly kind: 'shorter_revision'
      readonly first: StagedLocation
      readonly second: StagedLocation
      readonly provisions: number
      readonly provisionsBefore: number
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
export function* readSeveralSources(staging: Staging): Generator<Notice> {
  let [key, locations, sources]: [string, StagedLocation[], number] = ['', [], 0]
  function* collected(): Generator<Notice> {
    const [first, second, ...others] = locations
    if (first !== undefined && second !== undefined) yield { kind: 'several_sources', first, second, others, sources }
  }
  for (const { document, law, day, ...location } of rowsOf(staging, SEVERAL_SOURCES, sourceSchema)) {
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
select ${pairColumns('o', 'f')}
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
export function* readSeveralPublications(staging: Staging): Generator<Notice> {
  for (const row of rowsOf(staging, SEVERAL_PUBLICATIONS, pairSchema))
    yield { kind: 'several_publications', ...pairOf(row) }
}

const SHORTER_REVISIONS = `
select ${pairColumns('n', 'f')}, s.next_provisions, s.provisions
from start s join record f on f.seq = s.seq join record n on n.seq = s.next_seq
where s.next_provisions * 2 < s.provisions and s.last_to > s.next_at
order by n.seq`
const shorterSchema = pairSchema.extend({ next_provisions: z.int(), provisions: z.int() })

/** Yields the revisions that end a much longer one; only where a revision replaces its document. */
export function* readShorterRevisions(staging: Staging): Generator<Notice> {
  for (const row of rowsOf(staging, SHORTER_REVISIONS, shorterSchema))
    yield {
      kind: 'shorter_revision',
      ...pairOf(row),
      provisions: row.next_provisions,
      provisionsBefore: row.provisions,
    }
}
