import { z } from 'zod'

/**
 * What a candidate may lose, change or add against the active version. A knowledge base has a limit for each kind.
 * Beyond the limit, the candidate becomes active only if every approval accepts that kind by name.
 *
 * - `histories_rewritten`: a repository lacks a commit by which the active version holds a text.
 * - `passages_repeated`: an added passage that takes the citation, the anchor, a reference or nearly the text of one
 *   that the active version holds, in force at the same time.
 * - `references_changed`: a reference that the active version holds leads to other provisions.
 * - `aliases_changed`: a name leads to another act.
 * - `vectors_changed`: an endpoint sent other vectors for the same texts.
 * - `profile_changed`: a setting of the profile or the embedding space; fitted values are listed and not counted.
 * - `questions_changed`: a question of the active version's set that the candidate's set lacks or alters.
 * - `search_questions_changed`: a query expansion that only one of both versions holds.
 * - `answers_lost`: the active version answers the question from a relevant passage, and the candidate abstains.
 * - `answers_wrong`: both answer, and the candidate no longer from the relevant passage that was first.
 */
export const CHANGE_KINDS = [
  'histories_rewritten',
  'documents_removed',
  'documents_changed',
  'documents_added',
  'provisions_removed',
  'provisions_changed',
  'passages_removed',
  'passages_changed',
  'passages_repeated',
  'passages_added',
  'facet_values_removed',
  'references_changed',
  'aliases_changed',
  'vectors_changed',
  'profile_changed',
  'questions_changed',
  'search_questions_changed',
  'answers_lost',
  'answers_wrong',
] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

const count = z.int().nonnegative()
const sizes = z.strictObject({ documents: count, provisions: count, passages: count })

/** Differences between the active version (`before`) and a candidate (`after`). */
export const changesSchema = z.strictObject({
  before: sizes,
  after: sizes,
  added: sizes,
  /** An earlier release did not count every kind. */
  counts: z.partialRecord(z.enum(CHANGE_KINDS), count).transform((found) => countsOf((kind) => found[kind] ?? 0)),
  /** SHA-256 (hex) of the file that names every change. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})
export type Changes = z.infer<typeof changesSchema>

/** The counts of two versions that hold the same. */
export const NO_CHANGES = countsOf(() => 0)

export function countsOf(of: (kind: ChangeKind) => number): Record<ChangeKind, number> {
  return z.record(z.enum(CHANGE_KINDS), count).parse(Object.fromEntries(CHANGE_KINDS.map((kind) => [kind, of(kind)])))
}

/** Share of the active version that may be added without an acceptance, where the knowledge base sets no limit. */
const ADDED_SHARE = 0.1

/** The largest count of each kind that needs no acceptance by name, where the knowledge base sets one. */
export const changeLimitsSchema = z.partialRecord(z.enum(CHANGE_KINDS), count)
export type ChangeLimits = Readonly<z.infer<typeof changeLimitsSchema>>

/** Returns the limit of a kind: what the knowledge base sets, else a tenth for additions, else 0. */
export function limitOf(kind: ChangeKind, { before }: Pick<Changes, 'before'>, limits: ChangeLimits): number {
  const set = limits[kind]
  if (set !== undefined) return set
  if (kind === 'passages_added') return Math.ceil(before.passages * ADDED_SHARE)
  return kind === 'documents_added' ? Math.ceil(before.documents * ADDED_SHARE) : 0
}

/** Returns the kinds whose count exceeds its limit, in the order of `CHANGE_KINDS`. */
export function kindsBeyond(changes: Changes, limits: ChangeLimits): readonly ChangeKind[] {
  return CHANGE_KINDS.filter((kind) => changes.counts[kind] > limitOf(kind, changes, limits))
}

/** What the kinds with other names are about, one of it and several. */
const THINGS: Readonly<Partial<Record<string, readonly [one: string, several: string]>>> = {
  histories: ['history', 'histories'],
  aliases: ['alias', 'aliases'],
  vectors: ['table of vectors', 'tables of vectors'],
  profile: ['setting of the profile', 'settings of the profile'],
}

/** `1 passage changed`, `2 aliases changed`, as the name of the kind says it. */
export function changeInWords(kind: ChangeKind, number: number): string {
  const at = kind.lastIndexOf('_')
  const [plural, what] = [kind.slice(0, at).replaceAll('_', ' '), kind.slice(at + 1)]
  const [one, several] = THINGS[plural] ?? [plural.slice(0, -1), plural]
  return `${number} ${number === 1 ? one : several} ${what === 'wrong' ? 'made wrong' : what}`
}

/** Returns the differences in one line: `169 → 10 passages, 159 removed, 3 changed`. */
export function changesInWords({ before, after, added, counts }: Changes): string {
  const parts = [
    `${before.passages} → ${after.passages} passages`,
    `${counts.passages_removed} removed`,
    `${counts.passages_changed} changed`,
    ...(added.passages > 0 ? [`${added.passages} added`] : []),
  ]
  const others = CHANGE_KINDS.filter((kind) => counts[kind] > 0 && !/^passages_(?!repeated)/.test(kind))
  return [...parts, ...others.map((kind) => changeInWords(kind, counts[kind]))].join(', ')
}

const storedSchema = z.object({ comparison: z.object({ changes: changesSchema }) })

/** Returns the changes of a stored evaluation; undefined if the version was compared with none. */
export function changesOf(evaluation: unknown): Changes | undefined {
  return storedSchema.safeParse(evaluation).data?.comparison.changes
}
