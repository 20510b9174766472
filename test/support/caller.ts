import { randomUUID } from 'node:crypto'
import { openDatabase } from '#core/db/pool.ts'
import type { KeyEnvironment } from '#core/credentials/api-key.ts'
import { createLog } from '#core/platform/log.ts'
import { parsePeppers, parseServiceSecrets } from '#core/credentials/settings.ts'
import type { StackSettings } from '#operator/demo/local/stack.ts'
import { grantEntitlement, setEntitlementActive } from '#operator/actions/entitlements.ts'
import { issueKeyFor } from '#operator/actions/api-keys.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { createClient, createOrganization } from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import { ask, type AskOptions } from './http.ts'
import { CALL_TIMEOUT_MS } from './until.ts'

/** The limits are, unless given, rates and allowances that no test exhausts by accident. */
export interface CallerOptions extends Partial<Omit<Access, 'name' | 'keys' | 'limits'>> {
  readonly limits?: object | undefined
  readonly active?: boolean
}

export type Caller = Awaited<ReturnType<typeof createCaller>>

/** What another process needs to use a running service as operator and as caller; plain values only. */
export interface ServiceAccess {
  readonly settings: StackSettings
  readonly ownerUrl: string
  readonly operatorUrl: string
  readonly gateways: readonly { readonly baseUrl: string; readonly internalUrl: string; readonly logFile: string }[]
  readonly searchNodes: readonly { readonly address: string; readonly logFile: string }[]
  readonly versionId: string
}

export type ServiceConnection = ReturnType<typeof connectToService>

export const KNOWLEDGE_BASE = 'hsfa-rulebook'
/** Answered by COB-M 2.1 of the demo rulebook, language en, jurisdiction HS-M, subject conduct. */
export const ANSWERED_QUERY =
  'How many days does a retail client have to cancel a distance contract during the cooling-off period?'
/** On a topic that the demo rulebook lacks. */
export const ABSTAINED_QUERY = 'How much may an unsophisticated backer pledge to a crowdfunding campaign in one year?'
const GENEROUS = {
  requests_per_minute: 100_000,
  concurrency: 1_000,
  requests_per_day: 1_000_000,
  requests_per_month: 10_000_000,
  exposure: { floors: { corpus: 1_000_000, document: 1_000_000 } },
}

const CONNECTIONS_MAX = 4

/** A running service with operator and caller access. */
export function connectToService(access: ServiceAccess) {
  const log = createLog('test', 'silent')
  const owner = openDatabase(access.ownerUrl, log, CONNECTIONS_MAX, CALL_TIMEOUT_MS)
  const operator: Operator = {
    database: openDatabase(access.operatorUrl, log, CONNECTIONS_MAX, CALL_TIMEOUT_MS),
    actor: 'test',
  }
  const baseUrl = access.gateways[0]?.baseUrl ?? ''
  return {
    ...access,
    /** Owns the schema: for what a test arranges or inspects beyond the operator's rights. */
    owner,
    operator,
    createCaller: (options?: CallerOptions) => createCaller(operator, access.settings, baseUrl, options),
    close: async () => {
      await Promise.all([owner.end(), operator.database.end()])
    },
  }
}

/** What a client is given: an organization and a plan of its own name unless said otherwise, an entitlement and keys. */
export interface Access {
  readonly name: string
  readonly limits: object
  readonly knowledgeBase: string
  readonly languages: readonly string[]
  readonly jurisdictions: readonly string[]
  readonly subjects?: readonly string[] | null
  /** Whether a chat model may see questions; absent: it may. */
  readonly assistance?: boolean | undefined
  readonly scopes?: readonly string[] | undefined
  readonly environment?: KeyEnvironment
  /** One that exists. */
  readonly organization?: string | undefined
  readonly keys?: number
}

/** Makes a client with access as an operator does. @returns an empty `organizationId` where it existed. */
export async function grantAccess(
  operator: Operator,
  { keyEnvironment, secrets }: Pick<StackSettings, 'keyEnvironment' | 'secrets'>,
  access: Access,
) {
  const { name, limits, organization, environment = keyEnvironment, scopes, keys = 1, ...entitled } = access
  const serviceSecrets = parseServiceSecrets(secrets.SERVICE_SECRET)
  const created = organization === undefined ? await createOrganization(operator, { name, serviceSecrets }) : undefined
  await createClient(operator, { organization: organization ?? name, name })
  await createPlan(operator, { name, limits })
  const { knowledgeBase, languages, jurisdictions, subjects = null, assistance = true } = entitled
  const lists = { languages, jurisdictions, subjects }
  const entitlement = { client: name, environment, knowledgeBase, plan: name, ...lists, assistance }
  const granted = await grantEntitlement(operator, entitlement)
  const issued: { readonly id: string; readonly key: string }[] = []
  const key = { client: name, environment, peppers: parsePeppers(secrets.KEY_PEPPERS) }
  for (let n = 0; n < keys; n++)
    issued.push(await issueKeyFor(operator, { ...key, ...(scopes === undefined ? {} : { scopes }) }))
  return { organizationId: created?.id ?? '', entitlementId: granted.id, keys: issued }
}

/** One client of the service with a key of its own. */
async function createCaller(operator: Operator, settings: StackSettings, baseUrl: string, options: CallerOptions = {}) {
  const name = `t-${randomUUID()}`
  const { active = true, environment = 'live', knowledgeBase = KNOWLEDGE_BASE, ...asked } = options
  const { organization = name } = asked
  const { entitlementId, keys } = await grantAccess(operator, settings, {
    name,
    knowledgeBase,
    environment,
    languages: ['en'],
    jurisdictions: ['HS-M', 'HS-F'],
    ...asked,
    limits: { ...GENEROUS, ...asked.limits },
  })
  const [issued] = keys
  if (issued === undefined) throw new Error('no key was issued')
  /** As the operator's actions name it. */
  const entitlement = `${name}/${environment}/${knowledgeBase}`
  if (!active) await setEntitlementActive(operator, entitlement, false)
  return {
    key: issued.key,
    keyId: issued.id,
    organization,
    client: name,
    entitlement,
    entitlementId,
    /** A request with this caller's key and knowledge base; given fields override them. */
    ask: (body: object = {}, askOptions: AskOptions = {}) =>
      ask(
        baseUrl,
        { query: ANSWERED_QUERY, knowledge_base: knowledgeBase, ...body },
        { key: issued.key, ...askOptions },
      ),
    /** The body as it is given: text, bytes, anything that becomes JSON, or none at all. */
    send: (body: unknown, askOptions: AskOptions = {}) => ask(baseUrl, body, { key: issued.key, ...askOptions }),
  }
}
