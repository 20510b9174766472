import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import type { LoginUrls } from '#core/db/provision.ts'
import { createSchema } from '#operator/demo/local/schema.ts'
import { createLog } from '#core/platform/log.ts'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import { publish } from '#operator/demo/publish.ts'
import { readOrCreateState } from '#operator/demo/state.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { startPostgres } from '#operator/demo/local/postgres.ts'
import { startRedis } from '#operator/demo/local/redis.ts'
import { startJobs, startSearchNode, storeOf } from '#operator/demo/local/stack.ts'
import type { StackSettings } from '#operator/demo/local/stack.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { startProvider } from './provider-process.ts'
import type { LocalProvider } from './provider-process.ts'

const DATABASE = 'evidence'
const CONNECTIONS_MAX = 4
const STATEMENT_TIMEOUT_MS = 120_000
const UNHEARD = { update: () => undefined, end: () => undefined }

/** Everything but the gateways: Postgres, Redis, search nodes, a job worker, a provider and an active version. */
export interface Installation {
  readonly settings: StackSettings
  /** Owns the schema; reads what the service recorded. */
  readonly owner: Database
  readonly operator: Operator
  readonly searchNodes: readonly string[]
  readonly provider: Pick<LocalProvider, 'baseUrl'>
  readonly knowledgeBase: string
}

export interface InstallationOptions {
  readonly dataDir: string
  readonly searchNodes: number
}

export async function install({ dataDir, ...options }: InstallationOptions, steps: Steps): Promise<Installation> {
  mkdirSync(resolve(dataDir), { recursive: true })
  const folder = mkdtempSync(join(resolve(dataDir), 'run-'))
  steps.onStop(async () => rmSync(folder, { recursive: true, force: true }))
  const { postgres, redis, logins } = await startServers(folder, steps)
  const provider = await steps.run('embedding provider', () => startProvider(folder))
  steps.watch(provider)
  const settings: StackSettings = {
    folder,
    gatewayDatabaseUrl: logins.gatewayUrl,
    jobsDatabaseUrl: logins.jobsUrl,
    redisUrl: redis.url,
    keyEnvironment: 'live',
    secrets: readOrCreateState(join(folder, 'state.json')).secrets,
    environment: provider.environment,
  }
  const searchNodes: string[] = []
  for (let n = 0; n < options.searchNodes; n++) {
    const node = await steps.run(`search node ${n + 1}`, () => startSearchNode(settings, `search-node-${n}`))
    steps.watch(node)
    searchNodes.push(node.address)
  }
  steps.watch(await steps.run('job worker', () => startJobs(settings, searchNodes)))
  const log = createLog('load', 'silent')
  const owner = openDatabase(postgres.adminUrl(DATABASE), log, CONNECTIONS_MAX, STATEMENT_TIMEOUT_MS)
  const database = openDatabase(logins.operatorUrl, log, CONNECTIONS_MAX, STATEMENT_TIMEOUT_MS)
  steps.onStop(() => owner.end())
  steps.onStop(() => database.end())
  const installation = {
    settings,
    owner,
    operator: { database, actor: 'load' },
    searchNodes,
    provider,
    knowledgeBase: builtInCorpus().slug,
  }
  await steps.run('corpus', () => publishCorpus(installation))
  return installation
}

interface Servers {
  readonly postgres: Awaited<ReturnType<typeof startPostgres>>
  readonly redis: Awaited<ReturnType<typeof startRedis>>
  readonly logins: LoginUrls
}

async function startServers(folder: string, steps: Steps): Promise<Servers> {
  const onLog = (line: string): void => steps.note(line)
  const postgres = await steps.run('Postgres', () => startPostgres({ folder: join(folder, 'postgres'), onLog }))
  steps.onStop(() => postgres.stop())
  const redis = await steps.run('Redis', () => startRedis({ folder: join(folder, 'redis'), onLog }))
  steps.onStop(() => redis.stop())
  const logins = await steps.run('schema', () => createSchema(postgres, DATABASE))
  return { postgres, redis, logins }
}

/** The demo's rulebook, imported, built, approved and activated as an operator does. */
async function publishCorpus({ operator, settings, knowledgeBase }: Installation): Promise<void> {
  const corpus = builtInCorpus()
  await createKnowledgeBase(operator, { slug: knowledgeBase, title: corpus.title })
  const deps = {
    operator,
    store: storeOf(settings),
    redisUrl: settings.redisUrl,
    reviewerKeyFile: join(settings.folder, 'reviewer.pem'),
  }
  await publish(deps, { ...corpus, knowledgeBase, embedding: 'openai' }, UNHEARD)
}
