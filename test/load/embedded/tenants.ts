import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { parsePeppers, parseServiceSecrets } from '#core/credentials/settings.ts'
import { issueKeyFor } from '#operator/actions/api-keys.ts'
import { grantEntitlement } from '#operator/actions/entitlements.ts'
import { createClient, createOrganization } from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import type { Tenant, TenantWanted } from '../tenant.ts'
import type { Installation } from './installation.ts'

const MANY = 1_000_000
/** Limits that nothing reaches, so that a scenario meets only those that it names. */
const UNREACHED = {
  requests_per_minute: MANY,
  concurrency: 10_000,
  requests_per_day: MANY,
  requests_per_month: MANY,
}
/** The whole of the demo's rulebook. */
const ENTITLED = { languages: ['en'], jurisdictions: ['HS-M', 'HS-F'], subjects: null }
const EXPOSURE_UNREACHED = { floors: { corpus: MANY, document: MANY } }

/** One organization, client, plan and entitlement with as many keys as wanted. @param scenario begins its name. */
export async function createTenant(
  { operator, settings, knowledgeBase }: Installation,
  scenario: string,
  wanted: TenantWanted,
): Promise<Tenant> {
  const name = `${scenario}-${wanted.name}`
  const organization = await createOrganization(operator, {
    name,
    serviceSecrets: parseServiceSecrets(settings.secrets.SERVICE_SECRET),
  })
  await createClient(operator, { organization: name, name })
  const limits = planLimitsSchema.parse({ ...UNREACHED, exposure: EXPOSURE_UNREACHED, ...wanted.limits })
  await createPlan(operator, { name, limits })
  const entitlement = await grantEntitlement(operator, {
    client: name,
    environment: settings.keyEnvironment,
    knowledgeBase,
    plan: name,
    ...ENTITLED,
  })
  const secrets: string[] = []
  for (let n = 0; n < wanted.keys; n++) {
    const peppers = parsePeppers(settings.secrets.KEY_PEPPERS)
    secrets.push((await issueKeyFor(operator, { client: name, environment: settings.keyEnvironment, peppers })).key)
  }
  return {
    name: wanted.name,
    secrets,
    concurrency: limits.concurrency,
    limits,
    ids: { organizationId: organization.id, entitlementId: entitlement.id },
  }
}
