import { z } from 'zod'
import type { StagedLocation, Staging } from './staging.ts'

const placeSchema = z.object({ source: z.int(), line: z.int(), id: z.string() })

/** A text that ends because a later one takes effect. */
export interface DerivedEnd extends StagedLocation {
  /** Instant in milliseconds since 1970. */
  readonly effectiveTo: number
  /** Whether a text that takes effect on that day has its provision, by name or by citation. */
  readonly restated: boolean
}

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
const derivedSchema = placeSchema.extend({ effective_to: z.int(), restated: z.int() })

/** Yields the kept records whose end is derived, in the order of the sources. */
export function* readDerivedEnds({ connection }: Staging): Generator<DerivedEnd> {
  for (const row of connection.prepare(DERIVED_ENDS).iterate()) {
    const { effective_to: effectiveTo, restated, ...place } = derivedSchema.parse(row)
    yield { ...place, effectiveTo, restated: restated === 1 }
  }
}

const ONLY_OUTRANKED = `
select r.source, r.line, r.id from record r join outranked o on o.seq = r.seq
where r.kept = 0 and not exists (
  select 1 from record k where k.document = r.document and k.law = r.law and k.provision = r.provision
    and k.day = r.day and k.kept = 1
) order by r.seq`

/** Yields the records that give way to a source with precedence which holds nothing of their provision. */
export function* readOnlyOutranked({ connection }: Staging): Generator<StagedLocation> {
  for (const row of connection.prepare(ONLY_OUTRANKED).iterate()) yield placeSchema.parse(row)
}
