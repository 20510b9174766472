import { z } from 'zod'
import { locationSchema, rowsOf, type StagedLocation, type Staging } from './staging.ts'

/**
 * A text that ends because a later one takes effect, at an instant in milliseconds since 1970. It is restated where a
 * text that takes effect on that day has its provision, by name or by citation.
 */
const derivedSchema = locationSchema.extend({ effective_to: z.int(), restated: z.int().transform((one) => one === 1) })

/** The indexes of provisions and citations exist once the kept records are ordered and the notices are read. */
const DERIVED_ENDS = `
select r.source, r.line, r.id, p.effective_to,
  exists (
    select 1 from record n where n.document = r.document and n.law = r.law and n.provision = r.provision
      and n.day = p.effective_to / 86400000 and n.kept = 1
  ) or exists (
    select 1 from record n where n.document = r.document and n.law = r.law and n.cited = r.cited
      and n.day = p.effective_to / 86400000 and n.kept = 1
  ) as restated
from kept_record p join record r on r.seq = p.seq
where p.derived = 1 order by r.seq`

/** Yields the kept records whose end is derived, in the order of the sources. */
export const readDerivedEnds = (staging: Staging) => rowsOf(staging, DERIVED_ENDS, derivedSchema)

const ONLY_OUTRANKED = `
select r.source, r.line, r.id from record r join outranked o on o.seq = r.seq
where r.kept = 0 and not exists (
  select 1 from record k where k.document = r.document and k.law = r.law and k.provision = r.provision
    and k.day = r.day and k.kept = 1
) order by r.seq`

/** Yields the records that give way to a source with precedence which holds nothing of their provision. */
export const readOnlyOutranked = (staging: Staging) => rowsOf(staging, ONLY_OUTRANKED, locationSchema)

const LEFT_OUT = `
select r.source, r.line, r.id, o.by,
  (select s.seq from record s where s.identity = r.identity and s.digest = r.digest and s.kept = 1 limit 1) as same
from record r left join outranked o on o.seq = r.seq
where r.kept = 0 order by r.seq`
const leftOutSchema = locationSchema.extend({ by: z.int().nullable(), same: z.int().nullable() })

/** A record, whether it was kept, and the record that it gave way to. */
const GAVE_WAY = `
select r.source, r.line, r.id, r.kept, ifnull(o.by, r.repeats) as by
from record r left join outranked o on o.seq = r.seq where r.seq = ?`
const gaveWaySchema = locationSchema.extend({ kept: z.int(), by: z.int().nullable() })

/**
 * Yields the records that are left out although they are evidence, once conflicts are resolved, in the order of the
 * sources. `other` is kept: it has the same id and content (a repetition), or is of a source that has precedence.
 */
export function* readLeftOut(staging: Staging) {
  const gaveWay = staging.connection.prepare(GAVE_WAY)
  function keptFor(seq: number): StagedLocation {
    const { source, line, id, kept, by } = gaveWaySchema.parse(gaveWay.get(seq))
    return kept === 1 || by === null ? { source, line, id } : keptFor(by)
  }
  for (const { by, same, ...record } of rowsOf(staging, LEFT_OUT, leftOutSchema)) {
    const isRepetition = same !== null
    const other = same ?? by
    if (other === null) throw new Error('a record is left out for no other')
    yield { record, isRepetition, other: keptFor(other) }
  }
}
