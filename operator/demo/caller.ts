import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { findEntitlements } from '#core/db/entitlements.ts'
import { findOrganization } from '#core/db/organizations.ts'
import { findClients } from '#core/db/clients.ts'
import { findPlan } from '#core/db/plans.ts'
import { findKnowledgeBase } from '#core/db/knowledge-bases.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { parsePeppers, parseServiceSecrets } from '#core/credentials/settings.ts'
import { changeEntitlement, grantEntitlement, setEntitlementActive } from '#operator/actions/entitlements.ts'
import { issueKeyFor, revokeKeyNow, rotateKey } from '#operator/actions/api-keys.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { createClient, createKnowledgeBase, createOrganization } from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import type { DemoKeys, DemoState } from './state.ts'

export const INACTIVE_KNOWLEDGE_BASE = 'demo-archive'

export interface CallerWanted {
  /** Prefix of the names of organization and client. */
  readonly application: string
  readonly knowledgeBase: string
  readonly languages: readonly string[]
  readonly jurisdictions: readonly string[]
  /** Any of the plan's fields; other fields have the defaults. */
  readonly limits: unknown
  /** Whether a chat model may see questions. */
  readonly assistance: boolean
}

/** Creates the knowledge base unless one with that slug exists. */
export async function ensureKnowledgeBase(operator: Operator, slug: string, title: string) {
  return (await findKnowledgeBase(operator.database, slug)) ?? (await createKnowledgeBase(operator, { slug, title }))
}

/**
 * Creates what is missing for a caller: one organization with one application, a plan, an entitlement to the knowledge
 * base, an inactive entitlement, and keys. One key is valid and four must be refused. `state` keeps the keys.
 */
export async function ensureCaller(operator: Operator, state: DemoState, wanted: CallerWanted): Promise<DemoKeys> {
  const serviceSecrets = parseServiceSecrets(state.secrets.SERVICE_SECRET)
  const client = `${wanted.application}-${wanted.knowledgeBase}`
  if ((await findOrganization(operator.database, client)) === undefined)
    await createOrganization(operator, { name: client, serviceSecrets })
  if ((await findClients(operator.database, client)).length === 0)
    await createClient(operator, { organization: client, name: client })
  const plan = await ensurePlan(operator, wanted.limits)
  const { languages, jurisdictions, assistance } = wanted
  const lists = { languages, jurisdictions, assistance }
  await ensureEntitlement(operator, client, 'live', wanted.knowledgeBase, plan, lists, true)
  await ensureEntitlement(operator, client, 'test', wanted.knowledgeBase, plan, lists, true)
  await ensureKnowledgeBase(operator, INACTIVE_KNOWLEDGE_BASE, 'A knowledge base that is not active for the caller')
  await ensureEntitlement(operator, client, 'live', INACTIVE_KNOWLEDGE_BASE, plan, lists, false)
  const keys = state.keys[client] ?? (await issueKeys(operator, client, state))
  state.keys[client] = keys
  return keys
}

async function ensureEntitlement(
  operator: Operator,
  client: string,
  environment: 'live' | 'test',
  knowledgeBase: string,
  plan: string,
  lists: Pick<CallerWanted, 'languages' | 'jurisdictions' | 'assistance'>,
  active: boolean,
): Promise<void> {
  const name = `${client}/${environment}/${knowledgeBase}`
  const [existing] = await findEntitlements(operator.database, name)
  const granted = { client, environment, knowledgeBase, plan, ...lists, subjects: null }
  if (existing === undefined) await grantEntitlement(operator, granted)
  else await changeEntitlement(operator, name, { plan, ...lists })
  if (!active && existing === undefined) await setEntitlementActive(operator, name, false)
}

/** Creates a plan named after a hash of its limits. Plans are immutable, so other limits make another plan. */
async function ensurePlan(operator: Operator, limits: unknown): Promise<string> {
  const name = `demo-${sha256(JSON.stringify(limits)).toString('hex').slice(0, 12)}`
  if ((await findPlan(operator.database, name)) === undefined) await createPlan(operator, { name, limits })
  return name
}

/** @throws OperatorError when the file is not JSON or not a valid plan, before anything is started or built. */
export function readPlan(path: string): unknown {
  try {
    const limits: unknown = JSON.parse(readFileSync(path, 'utf8'))
    planLimitsSchema.parse(limits)
    return limits
  } catch (cause) {
    if (cause instanceof z.ZodError)
      throw new OperatorError(`The plan ${path} does not fit: ${z.prettifyError(cause).replaceAll(/\s*\n\s*/g, ' ')}`, {
        cause,
      })
    throw new OperatorError(`The plan ${path} cannot be read as JSON: give a file like {"requests_per_minute": 600}.`, {
      cause,
    })
  }
}

async function issueKeys(operator: Operator, client: string, state: DemoState): Promise<DemoKeys> {
  const peppers = parsePeppers(state.secrets.KEY_PEPPERS)
  const issue = (environment: 'live' | 'test', scopes?: readonly string[]): ReturnType<typeof issueKeyFor> =>
    issueKeyFor(operator, { client, environment, peppers, ...(scopes === undefined ? {} : { scopes }) })
  const valid = await issue('live')
  const noScope = await issue('live', ['usage:read'])
  const expired = await issue('live')
  const revoked = await issue('live')
  const wrongEnvironment = await issue('test')
  // A key that is rotated without an overlap expires at once; its successor is not needed.
  const { id: successor } = await rotateKey(operator, { key: expired.id, overlapHours: 0, peppers })
  for (const id of [successor, revoked.id]) await revokeKeyNow(operator, id)
  return {
    valid: valid.key,
    no_scope: noScope.key,
    expired: expired.key,
    revoked: revoked.key,
    wrong_environment: wrongEnvironment.key,
  }
}
