import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { z } from 'zod'
import { locationSchema, pairColumns, pairOf, pairSchema, rowsOf } from './staging.ts'
import type { StagedLocation, Staging } from './staging.ts'

/** Something that the kept records hold, which is allowed and which an operator should look at. */
export interface Notice {
  readonly first: StagedLocation
  readonly second: StagedLocation
  readonly message: string
  /** Some more records of the same kind. */
  readonly others: readonly StagedLocation[]
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
    const message = `the document of one day comes from ${sources} sources: they must be parts of one text`
    if (first !== undefined && second !== undefined) yield { first, second, message, others }
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
  const message = 'records of one document take effect on one day and have different days of publication'
  for (const row of rowsOf(staging, SEVERAL_PUBLICATIONS, pairSchema)) yield { ...pairOf(row), message, others: [] }
}

const SHORTER_REVISIONS = `
select ${pairColumns('n', 'f')}, s.next_provisions, s.provisions
from start s join record f on f.seq = s.seq join record n on n.seq = s.next_seq
where s.next_provisions * 2 < s.provisions and s.last_to > s.next_at
order by n.seq`
const shorterSchema = pairSchema.extend({ next_provisions: z.int(), provisions: z.int() })

/** Yields the revisions that hold fewer than half of the provisions of the one that they end; only where a revision replaces its document. */
export function* readShorterRevisions(staging: Staging): Generator<Notice> {
  for (const row of rowsOf(staging, SHORTER_REVISIONS, shorterSchema)) {
    const message = `a revision of ${row.next_provisions} provisions ends one of ${row.provisions}: correct its day, or add the rest`
    yield { ...pairOf(row), message, others: [] }
  }
}
