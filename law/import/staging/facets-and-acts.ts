import type { Facets } from '#core/index/facets/layout.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { namesOfAct } from '#law/citations/parser.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { z } from 'zod'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { locationSchema, rowsOf, type StagedLocation, type Staging } from './staging.ts'

const facetsSchema = z.tuple([z.string(), z.string(), z.string(), z.array(z.string())])
const actSchema = z.object({ id: z.string(), aliases: z.array(z.string()) })

const FACETS = 'select json from described where id in (select facets from record where kept = 1) order by id'
const ACTS = 'select json from described where id in (select act from record where kept = 1) order by id'
/** The distinct acts of the kept records as they were added, each with the first record that has it. */
const CLAIMS = `
select d.json, r.source, r.line, r.id
from (select act, min(seq) as seq from record where kept = 1 and act is not null group by act) f
join described d on d.id = f.act join record r on r.seq = f.seq order by f.seq`
const claimSchema = locationSchema.extend({ json: z.string() })
const jsonSchema = z.object({ json: z.string() })

/** Returns the facets of the kept records, sorted. @throws OperatorError when the mapping yields too many values. */
export function facetsOf(staging: Staging): Facets {
  const found = {
    languages: new Set<string>(),
    jurisdictions: new Set<string>(),
    subjects: new Set<string>(),
    statuses: new Set<string>(),
  }
  for (const { json } of rowsOf(staging, FACETS, jsonSchema)) {
    const [language, jurisdiction, status, subjects] = facetsSchema.parse(JSON.parse(json))
    found.languages.add(language)
    found.jurisdictions.add(jurisdiction)
    found.statuses.add(status)
    for (const subject of subjects) found.subjects.add(subject)
    for (const [name, values] of Object.entries(found))
      if (values.size > IMPORT_BOUNDS.facetValuesMax)
        throw new OperatorError(
          `the mapping yields more than ${IMPORT_BOUNDS.facetValuesMax} different ${name}: map them to fewer`,
        )
  }
  return {
    languages: [...found.languages].sort(),
    jurisdictions: [...found.jurisdictions].sort(),
    subjects: [...found.subjects].sort(),
    statuses: [...found.statuses].sort(),
  }
}

/**
 * Returns the acts of the kept records by id, each with the aliases of all its records.
 * @throws OperatorError when the mapping yields too many acts or aliases.
 */
export function actsOf(staging: Staging): ActEntry[] {
  const acts = new Map<string, Set<string>>()
  for (const { json } of rowsOf(staging, ACTS, jsonSchema)) {
    const { id, aliases } = actSchema.parse(JSON.parse(json))
    const known = acts.get(id) ?? new Set<string>()
    for (const alias of aliases) known.add(alias)
    acts.set(id, known)
    if (known.size > IMPORT_BOUNDS.aliasesPerActMax)
      throw new OperatorError(
        `the mapping yields more than ${IMPORT_BOUNDS.aliasesPerActMax} aliases of ${id}: map them to fewer`,
      )
    if (acts.size > IMPORT_BOUNDS.actsMax)
      throw new OperatorError(`the mapping yields more than ${IMPORT_BOUNDS.actsMax} different acts: map them to fewer`)
  }
  return [...acts].map(([id, aliases]) => ({ id, aliases: [...aliases].sort() })).sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Returns the alias that has this name, as its source writes it; undefined where the id alone gives the name. */
function aliasOf({ id, aliases }: ActEntry, name: string): string | undefined {
  if (namesOfAct({ id, aliases: [] }).includes(name)) return undefined
  return aliases.find((alias) => namesOfAct({ id, aliases: [alias] }).includes(name))
}

/**
 * Yields the names that two acts of the kept records have, with a record of each: a question by that name would be
 * answered by either.
 */
export function* contestedNames(staging: Staging) {
  const holders = new Map<string, { readonly act: string; readonly first: StagedLocation }>()
  const contested = new Set<string>()
  for (const { json, ...second } of rowsOf(staging, CLAIMS, claimSchema)) {
    const act = actSchema.parse(JSON.parse(json))
    for (const name of namesOfAct(act)) {
      const holder = holders.get(name)
      if (holder === undefined) holders.set(name, { act: act.id, first: second })
      else if (holder.act !== act.id && !contested.has(`${holder.act} ${act.id}`)) {
        contested.add(`${holder.act} ${act.id}`)
        yield { name: aliasOf(act, name) ?? name, acts: [holder.act, act.id], first: holder.first, second }
      }
    }
  }
}
