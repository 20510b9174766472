import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openArtifactStore } from '#core/artifact/store.ts'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import type { KeyEnvironment } from '#core/keys.ts'
import { createLog } from '#core/log.ts'
import { parsePeppers } from '#core/settings.ts'
import { builtInCorpus } from '#jobs/demo/corpus.ts'
import { publish } from '#jobs/demo/publish.ts'
import type { LocalService } from '#jobs/demo/processes.ts'
import { startGateway, startJobs, startSearchNode, storeUrl } from '#jobs/demo/stack.ts'
import type { LocalGateway, LocalSearchNode, StackSettings } from '#jobs/demo/stack.ts'
import { grantEntitlement, setEntitlementActive } from '#jobs/operator/actions/entitlements.ts'
import { issueKeyFor } from '#jobs/operator/actions/keys.ts'
import type { Operator } from '#jobs/operator/actions/operator.ts'
import { createClient, createKnowledgeBase, createOrganization } from '#jobs/operator/actions/organizations.ts'
import { createPlan } from '#jobs/operator/actions/plans.ts'
import { createTestDatabase } from './database.ts'
import type { TestDatabase } from './database.ts'
import { ask } from './http.ts'
import type { Answer, AskOptions } from './http.ts'
import { createTestRedis } from './redis.ts'
import { testSecrets } from './secrets.ts'

export interface ServiceOptions {
  readonly gateways?: number
  readonly searchNodes?: number
  /** Another Redis than a database of the run's own: for tests that lose it. */
  readonly redisUrl?: string
  readonly embedding?: 'local' | 'openai'
  /** Further variables for every process. */
  readonly environment?: Readonly<Record<string, string>>
}

export interface CallerOptions {
  /** Any of the plan's fields; by default rates and allowances that no test exhausts by accident. */
  readonly limits?: object
  readonly languages?: readonly string[]
  readonly jurisdictions?: readonly string[]
  readonly subjects?: readonly string[] | null
  readonly scopes?: readonly string[]
  readonly environment?: KeyEnvironment
  readonly active?: boolean
  /** Another application of an organization that exists. */
  readonly organization?: string
}

/** One client of the service with a key of its own. */
export interface Caller {
  readonly key: string
  readonly keyId: string
  readonly organization: string
  readonly client: string
  /** `client/environment/knowledge base`, as the operator's actions name it. */
  readonly entitlement: string
  readonly entitlementId: string
  /** A request with this caller's key and knowledge base; fields that are given win. */
  ask(body?: object, options?: AskOptions): Promise<Answer>
}

/** The real service on the demo corpus: every process, its own database, store and Redis database. */
export interface TestService {
  readonly settings: StackSettings
  readonly database: TestDatabase
  readonly owner: Database
  readonly operator: Operator
  readonly gateways: readonly LocalGateway[]
  readonly searchNodes: readonly LocalSearchNode[]
  readonly jobs: LocalService
  readonly versionId: string
  newCaller(options?: CallerOptions): Promise<Caller>
  /** Stops with the rest. */
  add<T extends { stop(): Promise<unknown> }>(process: T): T
  stop(): Promise<void>
}

export const KNOWLEDGE_BASE = 'hsfa-rulebook'
/** Answered by COB-M 2.1 of the demo rulebook, language en, jurisdiction HS-M, subject conduct. */
export const ANSWERED_QUERY = 'How many days does a retail client have to cancel a distance contract during the cooling-off period?'
/** On a topic that the demo rulebook lacks. */
export const ABSTAINED_QUERY = 'How much may an unsophisticated backer pledge to a crowdfunding campaign in one year?'
const GENEROUS = { requests_per_minute: 100_000, concurrency: 1_000, requests_per_day: 1_000_000, requests_per_month: 10_000_000, exposure: { floors: { corpus: 1_000_000, document: 1_000_000, run: 1_000_000 } } }

export async function startTestService(options: ServiceOptions = {}): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-service-'))
  const database = await createTestDatabase()
  const redis = options.redisUrl === undefined ? await createTestRedis() : undefined
  const settings: StackSettings = { folder, serviceUrl: database.serviceUrl, redisUrl: options.redisUrl ?? redis?.url ?? '', keyEnvironment: 'live', secrets: testSecrets(), environment: options.environment ?? {} }
  const log = createLog('test', 'silent')
  const owner = openDatabase(database.ownerUrl, log, 4, 20_000)
  const operator: Operator = { database: openDatabase(database.operatorUrl, log, 4, 20_000), actor: 'test' }
  const processes: { stop(): Promise<unknown> }[] = []

  async function stop(): Promise<void> {
    for (const process of processes.toReversed()) await process.stop()
    await Promise.all([owner.end(), operator.database.end()])
    await database.drop()
    await redis?.release()
    rmSync(folder, { recursive: true, force: true })
  }
  const add = <T extends { stop(): Promise<unknown> }>(process: T): T => {
    processes.push(process)
    return process
  }
  try {
    const searchNodes = await Promise.all(Array.from({ length: options.searchNodes ?? 1 }, async (_, index) => add(await startSearchNode(settings, `search-node-${index}`))))
    const addresses = searchNodes.map(({ address }) => address)
    const jobs = add(await startJobs(settings, addresses))
    const gateways = await Promise.all(Array.from({ length: options.gateways ?? 1 }, async (_, index) => add(await startGateway(settings, addresses, `gateway-${index}`))))
    const corpus = builtInCorpus()
    await createKnowledgeBase(operator, { slug: KNOWLEDGE_BASE, title: corpus.title })
    const { versionId } = await publish({ operator, store: openArtifactStore(storeUrl(settings)), redisUrl: settings.redisUrl }, { ...corpus, knowledgeBase: KNOWLEDGE_BASE, embedding: options.embedding ?? 'local' }, { update: () => undefined, end: () => undefined })
    return { settings, database, owner, operator, gateways, searchNodes, jobs, versionId, add, stop, newCaller: (callerOptions) => newCaller(operator, settings, gateways, callerOptions) }
  } catch (error) {
    await stop()
    throw error
  }
}

async function newCaller(operator: Operator, settings: StackSettings, gateways: readonly LocalGateway[], options: CallerOptions = {}): Promise<Caller> {
  const name = `t-${randomUUID()}`
  const environment = options.environment ?? 'live'
  const organization = options.organization ?? name
  if (options.organization === undefined) await createOrganization(operator, { name, serviceSecret: Buffer.from(settings.secrets.SERVICE_SECRET, 'base64') })
  await createClient(operator, { organization, name })
  await createPlan(operator, { name, limits: { ...GENEROUS, ...options.limits } })
  const granted = await grantEntitlement(operator, {
    client: name,
    environment,
    knowledgeBase: KNOWLEDGE_BASE,
    plan: name,
    languages: options.languages ?? ['en'],
    jurisdictions: options.jurisdictions ?? ['HS-M', 'HS-F'],
    subjects: options.subjects ?? null,
  })
  const entitlement = `${name}/${environment}/${KNOWLEDGE_BASE}`
  if (options.active === false) await setEntitlementActive(operator, entitlement, false)
  const issued = await issueKeyFor(operator, { client: name, environment, peppers: parsePeppers(settings.secrets.KEY_PEPPERS), ...(options.scopes === undefined ? {} : { scopes: options.scopes }) })
  return {
    key: issued.key,
    keyId: issued.id,
    organization,
    client: name,
    entitlement,
    entitlementId: granted.id,
    ask: (body = {}, askOptions = {}) => ask(gateways[0]?.baseUrl ?? '', { query: ANSWERED_QUERY, knowledge_base: KNOWLEDGE_BASE, ...body }, { key: issued.key, ...askOptions }),
  }
}
