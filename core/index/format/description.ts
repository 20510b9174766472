import { z } from 'zod'

const DESCRIPTION_BOUNDS = { titleCharactersMax: 200, actsMax: 100, actCharactersMax: 200 } as const

const values = z.array(z.string().max(100)).max(64).readonly()

/** What a rewriter is told of a knowledge base. A build makes it from the version; reviewers see it. */
export const descriptionSchema = z.strictObject({
  title: z.string().max(DESCRIPTION_BOUNDS.titleCharactersMax),
  /** The acts with most passages first. */
  acts: z
    .array(
      z.strictObject({
        title: z.string().max(DESCRIPTION_BOUNDS.actCharactersMax),
        languages: values,
        jurisdictions: values,
      }),
    )
    .max(DESCRIPTION_BOUNDS.actsMax)
    .readonly(),
})
export type Description = z.infer<typeof descriptionSchema>

/** Acts of a version, with the passages of each. */
export interface DescribedAct {
  readonly title: string
  readonly languages: readonly string[]
  readonly jurisdictions: readonly string[]
  readonly passages: number
}

export function describe(title: string, acts: Iterable<DescribedAct>): Description {
  const { titleCharactersMax, actsMax, actCharactersMax } = DESCRIPTION_BOUNDS
  const largest = [...acts].toSorted((a, b) => b.passages - a.passages || (a.title < b.title ? -1 : 1))
  return {
    title: cut(title, titleCharactersMax),
    acts: largest.slice(0, actsMax).map(({ title: act, languages, jurisdictions }) => ({
      title: cut(act, actCharactersMax),
      languages,
      jurisdictions,
    })),
  }
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).toWellFormed()
}

/** Returns what a request may be told: no act outside of its filters is named. */
export function withinFilters(
  { title, acts }: Description,
  { languages, jurisdictions }: Readonly<Record<'languages' | 'jurisdictions', readonly string[]>>,
): { readonly title: string; readonly languages: readonly string[]; readonly acts: readonly string[] } {
  const isAllowed = (act: Description['acts'][number]): boolean =>
    act.languages.some((language) => languages.includes(language)) &&
    act.jurisdictions.some((jurisdiction) => jurisdictions.includes(jurisdiction))
  const allowed = acts.filter(isAllowed)
  const held = new Set(allowed.flatMap((act) => act.languages))
  return { title, languages: languages.filter((language) => held.has(language)), acts: allowed.map((act) => act.title) }
}

/** Returns what a request may be told whose filters leave everything. */
export function wholly(description: Description): ReturnType<typeof withinFilters> {
  const languages = [...new Set(description.acts.flatMap((act) => act.languages))]
  const jurisdictions = [...new Set(description.acts.flatMap((act) => act.jurisdictions))]
  return withinFilters(description, { languages, jurisdictions })
}
