import { randomUUID } from 'node:crypto'
import { foldKey } from '#core/identity/fold.ts'
import { OperatorError } from '#core/platform/errors.ts'
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
import { canonicalJurisdictions, canonicalLanguages, checkedSubjects } from './codes.ts'
import { clientNamed, entitlementNamed, isUuid, knowledgeBaseNamed, planNamed, versionNamed } from './names.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'

const PROFILES_MAX = 64

export interface GrantInput {
  readonly client: string
  readonly environment: KeyEnvironment
  readonly knowledgeBase: string
  readonly plan: string
  readonly languages: readonly string[]
  readonly jurisdictions: readonly string[]
  /** Null allows every subject, and passages without one. */
  readonly subjects: readonly string[] | null
}

/** Grants one client access to part of one knowledge base in one environment. The entitlement is active at once. */
export async function grantEntitlement(operator: Operator, input: GrantInput): Promise<EntitlementRow> {
  const lists = {
    languages: canonicalLanguages(input.languages),
    jurisdictions: canonicalJurisdictions(input.jurisdictions),
    subjects: checkedSubjects(input.subjects),
  }
  return withAudit(operator, async (database) => {
    const client = await clientNamed(database, input.client)
    const knowledgeBase = await knowledgeBaseNamed(database, input.knowledgeBase)
    const plan = await planNamed(database, input.plan)
    const id = randomUUID()
    if (
      !(await insertEntitlement(database, {
        id,
        clientId: client.id,
        environment: input.environment,
        knowledgeBaseId: knowledgeBase.id,
        planId: plan.id,
        ...lists,
      }))
    ) {
      const name = `${client.name}/${input.environment}/${knowledgeBase.slug}`
      throw new OperatorError(
        `The entitlement "${name}" exists already: change it with "operator entitlements change ${name}".`,
      )
    }
    const row = await byId(database, id)
    return {
      result: row,
      audit: { action: 'entitlement.grant', subject: `entitlement:${id}`, detail: auditDetail(row) },
    }
  })
}

export interface ChangeInput {
  readonly plan?: string | undefined
  readonly languages?: readonly string[] | undefined
  readonly jurisdictions?: readonly string[] | undefined
  readonly subjects?: readonly string[] | null | undefined
}

/** Changes plan or lists; absent fields stay. Counters continue: a change of plan gives no fresh allowance. */
export async function changeEntitlement(
  operator: Operator,
  nameOrId: string,
  input: ChangeInput,
): Promise<EntitlementRow> {
  if (Object.values(input).every((value) => value === undefined))
    throw new OperatorError(
      'Nothing to change was named: give at least one of --plan, --languages, --jurisdictions, --subjects.',
    )
  return changed(operator, nameOrId, 'entitlement.change', async (database) => ({
    planId: input.plan === undefined ? undefined : (await planNamed(database, input.plan)).id,
    languages: input.languages === undefined ? undefined : canonicalLanguages(input.languages),
    jurisdictions: input.jurisdictions === undefined ? undefined : canonicalJurisdictions(input.jurisdictions),
    subjects: input.subjects === undefined ? undefined : checkedSubjects(input.subjects),
  }))
}

/**
 * Activates or deactivates an entitlement. While it is inactive, every request is refused, from five seconds after the
 * change at the latest. Reactivation restores it unchanged.
 */
export async function setEntitlementActive(
  operator: Operator,
  nameOrId: string,
  active: boolean,
): Promise<EntitlementRow> {
  return changed(
    operator,
    nameOrId,
    active ? 'entitlement.activate' : 'entitlement.deactivate',
    async (_database, row) => {
      if (row.active === active)
        throw new OperatorError(
          `The entitlement "${nameOrId}" is ${active ? 'active' : 'inactive'} already: nothing was changed.`,
        )
      return { active }
    },
  )
}

/** Lets the client request a profile of the knowledge base by its UUID, besides the active one. */
export async function addEntitledProfile(
  operator: Operator,
  nameOrId: string,
  profileId: string,
): Promise<EntitlementRow> {
  return changed(operator, nameOrId, 'entitlement.add-profile', async (database, row) => {
    const id = foldKey(profileId)
    if (!isUuid(id) || !(await profileServable(database, id, row.knowledge_base_id))) {
      throw new OperatorError(
        `The knowledge base "${row.knowledge_base}" has no profile "${profileId}" of a version that ` +
          'is or was active: "operator versions show" prints the profile of a version.',
      )
    }
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

export async function removeEntitledProfile(
  operator: Operator,
  nameOrId: string,
  profileId: string,
): Promise<EntitlementRow> {
  return changed(operator, nameOrId, 'entitlement.remove-profile', async (_database, row) => {
    const id = foldKey(profileId)
    if (!row.profile_ids.includes(id))
      throw new OperatorError(
        `The entitlement has no profile "${profileId}": "operator entitlements show" lists those it has.`,
      )
    return { profileIds: row.profile_ids.filter((held) => held !== id) }
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

type Decide = (database: Queryable, row: EntitlementRow) => Promise<EntitlementChange>

/** Reads the entitlement under its row lock, so that the audit row holds the values actually replaced. */
async function changed(operator: Operator, nameOrId: string, action: string, decide: Decide): Promise<EntitlementRow> {
  const { id } = await entitlementNamed(operator.database, nameOrId)
  return withAudit(operator, async (database) => {
    await lockEntitlement(database, id)
    const before = await byId(database, id)
    await updateEntitlement(database, id, await decide(database, before))
    const after = await byId(database, id)
    return {
      result: after,
      audit: {
        action,
        subject: `entitlement:${id}`,
        detail: { before: auditDetail(before), after: auditDetail(after) },
      },
    }
  })
}

async function byId(database: Queryable, id: string): Promise<EntitlementRow> {
  const [row] = await findEntitlements(database, id)
  if (row === undefined) throw new OperatorError(`There is no entitlement ${id}: see "operator entitlements list".`)
  return row
}

/** Returns what the operator decides of an entitlement, for the audit trail. */
export function auditDetail(row: EntitlementRow): Readonly<Record<string, unknown>> {
  return Object.fromEntries(DECIDED.map((field) => [field, row[field]]))
}

const DECIDED = [
  'organization',
  'client',
  'environment',
  'knowledge_base',
  'plan',
  'active',
  'languages',
  'jurisdictions',
  'subjects',
  'profile_ids',
] as const
