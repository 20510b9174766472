import { z } from 'zod'
import type { StagedLocation, Staging } from './staging.ts'

/** A record that is left out although it is evidence; `other` is kept. */
export interface LeftOut {
  readonly record: StagedLocation
  /** Whether `other` has the same id and content, or is of a source that has precedence. */
  readonly why: 'repetition' | 'outranked'
  readonly other: StagedLocation
}

const LEFT_OUT = `
select r.source, r.line, r.id, o.by,
  (select s.seq from record s where s.identity = r.identity and s.digest = r.digest and s.kept = 1 limit 1) as same
from record r left join outranked o on o.seq = r.seq
where r.kept = 0 order by r.seq`
const leftOutSchema = z.object({
  source: z.int(),
  line: z.int(),
  id: z.string(),
  by: z.int().nullable(),
  same: z.int().nullable(),
})

/** A record, whether it was kept, and the record that it gave way to. */
const GAVE_WAY = `
select r.source, r.line, r.id, r.kept, ifnull(o.by, r.repeats) as by
from record r left join outranked o on o.seq = r.seq where r.seq = ?`
const gaveWaySchema = z.object({
  source: z.int(),
  line: z.int(),
  id: z.string(),
  kept: z.int(),
  by: z.int().nullable(),
})

/** Yields the records that are left out once conflicts are settled, in the order of the sources. */
export function* readLeftOut({ connection }: Staging): Generator<LeftOut> {
  const gaveWay = connection.prepare(GAVE_WAY)
  function keptFor(seq: number): StagedLocation {
    const { source, line, id, kept, by } = gaveWaySchema.parse(gaveWay.get(seq))
    return kept === 1 || by === null ? { source, line, id } : keptFor(by)
  }
  for (const row of connection.prepare(LEFT_OUT).iterate()) {
    const { by, same, ...record } = leftOutSchema.parse(row)
    const why = same === null ? 'outranked' : 'repetition'
    const other = same ?? by
    if (other === null) throw new Error('a record is left out for no other')
    yield { record, why, other: keptFor(other) }
  }
}
