import { randomUUID } from 'node:crypto'
import type { KeyEnvironment } from '#core/credentials/api-key.ts'
import {
  findEntitlements,
  insertEntitlement,
  lockEntitlement,
  profileServable,
  updateEntitlement,
} from '#core/db/entitlements.ts'
import type { EntitlementChange, EntitlementRow } from '#core/db/entitlements.ts'
import type { Queryable } from '#core/db/pool.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { foldCode, foldKey } from '#core/identity/fold.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { clientNamed, entitlementNamed, isUuid, knowledgeBaseNamed, planNamed, versionNamed } from './names.ts'
import { withAudit, type Operator } from './operator.ts'

const PROFILES_MAX = 64

interface Decided {
  readonly plan: string
  readonly languages: readonly string[]
  readonly jurisdictions: readonly string[]
  /** Null allows every subject, and passages without one. */
  readonly subjects: readonly string[] | null
  /** Whether a chat model may see questions and passages; absent: no. */
  readonly assistance?: boolean | undefined
}

interface Grant extends Decided {
  readonly client: string
  readonly environment: KeyEnvironment
  readonly knowledgeBase: string
}

/** Grants one client access to part of one knowledge base in one environment. The entitlement is active at once. */
export async function grantEntitlement(operator: Operator, input: Grant): Promise<EntitlementRow> {
  const { environment } = input
  const lists = {
    languages: canonicalLanguages(input.languages),
    jurisdictions: canonicalJurisdictions(input.jurisdictions),
    subjects: checkedSubjects(input.subjects),
  }
  return withAudit(operator, 'entitlement.grant', async (database) => {
    const client = await clientNamed(database, input.client)
    const base = await knowledgeBaseNamed(database, input.knowledgeBase)
    const plan = await planNamed(database, input.plan)
    const id = randomUUID()
    const { assistance = false } = input
    const owner = { client_id: client.id, environment, knowledge_base_id: base.id, plan_id: plan.id }
    const granted = { id, ...owner, ...lists, assistance }
    if (!(await insertEntitlement(database, granted))) {
      const name = `${client.name}/${environment}/${base.slug}`
      throw new OperatorError(
        `The entitlement "${name}" exists already. Next: operator entitlements change "${client.organization}/${name}"`,
      )
    }
    const row = await byId(database, id)
    return [row, `entitlement:${id}`, auditDetail(row)]
  })
}

/** Changes plan or lists; absent fields stay. Counters continue: a change of plan gives no fresh allowance. */
export async function changeEntitlement(
  operator: Operator,
  nameOrId: string,
  { plan, languages, jurisdictions, subjects, assistance }: { readonly [K in keyof Decided]?: Decided[K] | undefined },
): Promise<EntitlementRow> {
  if ([plan, languages, jurisdictions, subjects, assistance].every((value) => value === undefined))
    throw new OperatorError(
      'Nothing to change was named: give at least one of --plan, --languages, --jurisdictions, --subjects, --assistance.',
    )
  return changed(operator, nameOrId, 'change', async (database) => ({
    planId: plan === undefined ? undefined : (await planNamed(database, plan)).id,
    languages: languages && canonicalLanguages(languages),
    jurisdictions: jurisdictions && canonicalJurisdictions(jurisdictions),
    subjects: subjects === undefined ? undefined : checkedSubjects(subjects),
    assistance,
  }))
}

/**
 * Activates or deactivates an entitlement. While it is inactive, every request is refused, from five seconds after the
 * change at the latest. Reactivation restores it unchanged.
 */
export async function setEntitlementActive(operator: Operator, nameOrId: string, active: boolean) {
  return changed(operator, nameOrId, active ? 'activate' : 'deactivate', (_database, row) => {
    if (row.active === active)
      throw new OperatorError(
        `The entitlement "${nameOrId}" is ${active ? 'active' : 'inactive'} already: nothing was changed.`,
      )
    return { active }
  })
}

/** Lets the client request a profile of the knowledge base by its UUID, besides the active one. */
export async function addEntitledProfile(operator: Operator, nameOrId: string, profile: string) {
  return changed(operator, nameOrId, 'add-profile', async (database, row) => {
    const id = foldKey(profile)
    if (!isUuid(id) || !(await profileServable(database, id, row.knowledge_base_id)))
      throw new OperatorError(
        `The knowledge base "${row.knowledge_base}" has no profile "${profile}" of a version that ` +
          'is or was active: "operator versions show" prints the profile of a version.',
      )
    if (row.profile_ids.includes(id))
      throw new OperatorError('The entitlement has that profile already: nothing was changed.')
    if (row.profile_ids.length >= PROFILES_MAX)
      throw new OperatorError(
        `An entitlement has at most ${PROFILES_MAX} profiles: remove one first with "operator ` +
          'entitlements remove-profile".',
      )
    return { profileIds: [...row.profile_ids, id] }
  })
}

export async function removeEntitledProfile(operator: Operator, nameOrId: string, profile: string) {
  return changed(operator, nameOrId, 'remove-profile', (_database, { profile_ids: held }) => {
    const id = foldKey(profile)
    if (!held.includes(id))
      throw new OperatorError(
        `The entitlement has no profile "${profile}": "operator entitlements show" lists those it has.`,
      )
    return { profileIds: held.filter((one) => one !== id) }
  })
}

/**
 * Returns values of an entitlement that no passage of the active version has. They are probably typing errors, unless
 * the corpus will contain them later.
 */
export async function unmatchedValues(database: Queryable, row: EntitlementRow): Promise<readonly string[]> {
  const active = (await knowledgeBaseNamed(database, row.knowledge_base_id)).active_version_id
  if (active === null) return []
  const { facets } = await versionNamed(database, active)
  const held = new Set(
    [...(facets.languages ?? []), ...(facets.jurisdictions ?? []), ...(facets.subjects ?? [])].map(foldKey),
  )
  return [...row.languages, ...row.jurisdictions, ...(row.subjects ?? [])].filter((value) => !held.has(foldKey(value)))
}

type Decide = (database: Queryable, row: EntitlementRow) => Promise<EntitlementChange> | EntitlementChange

/** Reads the entitlement under its row lock, so that the audit row holds the values actually replaced. */
async function changed(operator: Operator, nameOrId: string, verb: string, decide: Decide): Promise<EntitlementRow> {
  const { id } = await entitlementNamed(operator.database, nameOrId)
  return withAudit(operator, `entitlement.${verb}`, async (database) => {
    await lockEntitlement(database, id)
    const before = await byId(database, id)
    await updateEntitlement(database, id, await decide(database, before))
    const after = await byId(database, id)
    return [after, `entitlement:${id}`, { before: auditDetail(before), after: auditDetail(after) }]
  })
}

async function byId(database: Queryable, id: string): Promise<EntitlementRow> {
  const [row] = await findEntitlements(database, id)
  if (row === undefined) throw new OperatorError(`There is no entitlement ${id}: see "operator entitlements list".`)
  return row
}

/** Returns whose entitlement it is and what the operator decides of it, for the audit trail. */
export function auditDetail({ created_at: _created, updated_at: _updated, ...row }: EntitlementRow) {
  const { id: _id, client_id: _client, knowledge_base_id: _base, plan_id: _plan, ...detail } = row
  return detail
}

/** Returns the BCP 47 canonical form: `EN-us` becomes `en-US`. */
function canonicalLanguages(languages: readonly string[]): string[] {
  return bounded('language', 'a BCP 47 code like en or fr', languages, (text) => {
    try {
      return Intl.getCanonicalLocales(text)[0]
    } catch {
      return undefined
    }
  })
}

/** Returns codes in upper case: `hs-m` becomes `HS-M`. */
function canonicalJurisdictions(jurisdictions: readonly string[]): string[] {
  return bounded('jurisdiction', 'a code like US or HS-M', jurisdictions, (text) =>
    isCode(text) ? foldCode(text) : undefined,
  )
}

/** Returns the keys of subjects. @param subjects null: every subject. */
function checkedSubjects(subjects: readonly string[] | null): string[] | null {
  if (subjects === null) return null
  return bounded('subject', 'a slug like data-protection, or all by itself', subjects, (text) =>
    isCode(text) && foldKey(text) !== 'all' ? foldKey(text) : undefined,
  )
}

function isCode(text: string): boolean {
  return text !== '' && text.length <= SEARCH_BOUNDS.filterValueCharactersMax && !/[,\p{Cc}]/u.test(text)
}

/** A list as an entitlement stores it: canonical, without repeats, sorted. */
function bounded(
  what: string,
  wanted: string,
  values: readonly string[],
  canonical: (text: string) => string | undefined,
): string[] {
  if (values.length === 0)
    throw new OperatorError(`An entitlement needs at least one ${what}: name those it covers, separated by commas.`)
  if (values.length > SEARCH_BOUNDS.filterValuesMax)
    throw new OperatorError(`An entitlement has at most ${SEARCH_BOUNDS.filterValuesMax} values a list: name fewer.`)
  const found = values.map((value) => {
    const form = canonical(value.trim())
    if (form !== undefined) return form
    const text = value.trim().slice(0, SEARCH_BOUNDS.filterValueCharactersMax)
    throw new OperatorError(`"${text}" is not a ${what}: write ${wanted}.`)
  })
  return [...new Set(found)].sort()
}
