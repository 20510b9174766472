import { z } from 'zod'

/**
 * What a candidate may lose or change against the active version. A passage is repeated if the candidate adds another
 * one beside it: of the same document and language, with its citation, in force at the same time. A knowledge base has
 * a limit for each kind. Beyond the limit, the candidate becomes active only if every approval accepts that kind by
 * name.
 */
export const CHANGE_KINDS = [
  'documents_removed',
  'documents_changed',
  'provisions_removed',
  'provisions_changed',
  'passages_removed',
  'passages_changed',
  'passages_repeated',
  'facet_values_removed',
] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

const count = z.int().nonnegative()
const sizes = z.strictObject({ documents: count, provisions: count, passages: count })

/** Differences between the active version (`before`) and a candidate (`after`). */
export const changesSchema = z.strictObject({
  before: sizes,
  after: sizes,
  added: sizes,
  counts: z.record(z.enum(CHANGE_KINDS), count),
  /** SHA-256 (hex) of the file that names every change. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})
export type Changes = z.infer<typeof changesSchema>

/** The largest count of each kind that needs no acceptance by name. Zero unless the knowledge base sets another. */
export const changeLimitsSchema = z.partialRecord(z.enum(CHANGE_KINDS), count).transform((limits): ChangeLimits => {
  const of = (kind: ChangeKind): readonly [ChangeKind, number] => [kind, limits[kind] ?? 0]
  return new Map(CHANGE_KINDS.map(of))
})
export type ChangeLimits = ReadonlyMap<ChangeKind, number>

/** Returns the kinds whose count exceeds its limit, in the order of `CHANGE_KINDS`. */
export function kindsBeyond(changes: Changes, limits: ChangeLimits): readonly ChangeKind[] {
  return CHANGE_KINDS.filter((kind) => changes.counts[kind] > (limits.get(kind) ?? 0))
}

/** Returns the differences in one line: `169 → 10 passages, 159 removed, 3 changed`. */
export function changesInWords({ before, after, added, counts }: Changes): string {
  const parts = [
    `${before.passages} → ${after.passages} passages`,
    `${counts.passages_removed} removed`,
    `${counts.passages_changed} changed`,
    ...(added.passages > 0 ? [`${added.passages} added`] : []),
  ]
  const lost = [
    [counts.passages_repeated, 'passage', 'repeated'],
    [counts.documents_removed, 'document', 'removed'],
    [counts.documents_changed, 'document', 'changed'],
    [counts.provisions_removed, 'provision', 'removed'],
    [counts.provisions_changed, 'provision', 'changed'],
    [counts.facet_values_removed, 'facet value', 'removed'],
  ] as const
  const named = lost.flatMap(([number, unit, what]) =>
    number > 0 ? [`${number} ${unit}${number === 1 ? '' : 's'} ${what}`] : [],
  )
  return [...parts, ...named].join(', ')
}

const storedSchema = z.object({ comparison: z.object({ changes: changesSchema }) })

/** Returns the changes of a stored evaluation; undefined if the version was compared with none. */
export function changesOf(evaluation: unknown): Changes | undefined {
  return storedSchema.safeParse(evaluation).data?.comparison.changes
}
