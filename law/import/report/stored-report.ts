import { z } from 'zod'
import { facetsSchema } from '#core/index/facets/layout.ts'
import { referencesSchema } from '#core/index/references/layout.ts'

const location = z.object({ source: z.string(), line: z.int(), id: z.string().optional() })

function withoutAbsentId<T extends { readonly id?: string | undefined }>({
  id,
  ...rest
}: T): Omit<T, 'id'> & { readonly id?: string } {
  return id === undefined ? rest : { ...rest, id }
}

const otherLocation = location.transform(withoutAbsentId)
const skipped = location
  .extend({ reason: z.string(), text: z.string().optional(), other: otherLocation.optional() })
  .transform(({ text, other, ...rest }) => ({
    ...withoutAbsentId(rest),
    ...(text === undefined ? {} : { text }),
    ...(other === undefined ? {} : { other }),
  }))
const loss = location
  .extend({ name: z.string(), reason: z.string(), text: z.string().optional(), accepted: z.boolean() })
  .transform(({ text, ...rest }) => ({ ...withoutAbsentId(rest), ...(text === undefined ? {} : { text }) }))
const warning = location
  .extend({ message: z.string(), other: otherLocation.optional() })
  .transform(({ other, ...rest }) => ({ ...withoutAbsentId(rest), ...(other === undefined ? {} : { other }) }))

/** Schema of the stored report of an import. */
export const importReportSchema = z.object({
  files: z.int(),
  records_read: z.int(),
  passages: z.int(),
  documents: z.int(),
  revisions: z.int(),
  ends_derived: z.int(),
  split: z.int(),
  skipped: z.int(),
  lost: z.int(),
  reasons: z.record(z.string(), z.int()),
  entries: z.array(skipped),
  entries_omitted: z.int(),
  splits: z.array(location.extend({ parts: z.int() }).transform(withoutAbsentId)),
  losses: z.array(loss),
  losses_unnamed: z.int(),
  derived_ends: z.array(location.extend({ day: z.string() }).transform(withoutAbsentId)),
  omissions: z.array(location.extend({ rule: z.string(), text: z.string() }).transform(withoutAbsentId)),
  coverage: z.object({
    characters: z.int(),
    uncovered: z.int(),
    by: z.record(z.string(), z.int()),
    remainder: z.array(location.extend({ xpath: z.string(), text: z.string() }).transform(withoutAbsentId)),
  }),
  unread_fields: z.record(z.string(), z.int()),
  derived_values: z.record(z.string(), z.int()),
  warnings: z.object({ count: z.int(), entries: z.array(warning) }),
  facets: facetsSchema,
  referenced: z.int(),
  acts: referencesSchema.shape.acts,
})

/** What reviewers see of the report: what was accepted as lost, and what is derived or left out by a rule. */
export const importLossesSchema = importReportSchema
  .pick({ losses: true, derived_ends: true, derived_values: true, omissions: true })
  .partial()
