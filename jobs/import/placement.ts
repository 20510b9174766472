import type { PlacedRecord } from '#core/db/staging/rows.ts'
import type { Placement } from './draft.ts'
import type { Mapping } from './mapping.ts'

/** The documented rules by which the end of a text is derived; kept in the lineage of its revision. */
const DERIVED_ENDS = {
  document: 'day on which the next revision of the document takes effect',
  provision: 'day on which the next revision of the provision takes effect',
} as const

/** Returns the place of a record's drafts as the staging file has it. */
export function placementOf(
  { occurrence, effective_to, derived, ordinal, number }: PlacedRecord,
  { revises }: Pick<Mapping, 'revises'>,
): Placement {
  return {
    occurrence,
    effectiveTo: effective_to === null ? null : new Date(effective_to).toISOString(),
    endDerived: derived ? DERIVED_ENDS[revises ?? 'document'] : undefined,
    ordinal,
    number,
  }
}
