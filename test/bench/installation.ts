import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { createSchema } from '#operator/demo/local/schema.ts'
import { createLog } from '#core/platform/log.ts'
import { startPostgres } from '#operator/demo/local/postgres.ts'
import { startService } from '#operator/demo/local/processes.ts'
import type { LocalService } from '#operator/demo/local/processes.ts'
import { startRedis } from '#operator/demo/local/redis.ts'
import { startGateway, startJobs, startSearchNode } from '#operator/demo/local/stack.ts'
import type { LocalGateway, LocalSearchNode, StackSettings } from '#operator/demo/local/stack.ts'
import type { DemoState } from '#operator/demo/state.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { MODEL } from './artifact.ts'
import type { Query } from './source.ts'

const DATABASE = 'evidence'
const CONNECTIONS_MAX = 4
const STATEMENT_TIMEOUT_MS = 60_000

/** The whole service on this machine: every process real, database and Redis new in each run. */
export interface Installation {
  readonly settings: StackSettings
  /** Owns the schema. */
  readonly owner: Database
  readonly operator: Operator
  readonly searchNode: LocalSearchNode
  readonly gateway: LocalGateway
  /** Processes by the name under which their CPU time is shown. */
  readonly processes: readonly LocalService[]
}

export interface InstallationOptions {
  readonly dataDir: string
  readonly dimensions: number
  readonly state: DemoState
  readonly queries: readonly Query[]
  /** Further variables for the service's processes. */
  readonly environment?: Readonly<Record<string, string>>
}

export async function install(options: InstallationOptions, steps: Steps): Promise<Installation> {
  const { dataDir, state } = options
  mkdirSync(resolve(dataDir), { recursive: true })
  const servers = mkdtempSync(join(resolve(dataDir), 'servers-'))
  steps.onStop(async () => rmSync(servers, { recursive: true, force: true }))
  const say = (line: string): void => steps.note(line)
  const postgres = await steps.run('Postgres', () => startPostgres({ folder: join(servers, 'postgres'), onLog: say }))
  steps.onStop(() => postgres.stop())
  const redis = await steps.run('Redis', () => startRedis({ folder: join(servers, 'redis'), onLog: say }))
  steps.onStop(() => redis.stop())
  const logins = await steps.run('schema', () => createSchema(postgres, DATABASE))
  const provider = await steps.run('embedding provider', () => startProvider(options, servers))
  steps.watch(provider)
  const settings: StackSettings = {
    folder: resolve(dataDir),
    gatewayDatabaseUrl: logins.gatewayUrl,
    jobsDatabaseUrl: logins.jobsUrl,
    redisUrl: redis.url,
    keyEnvironment: 'live',
    secrets: state.secrets,
    environment: {
      ...options.environment,
      OPENAI_BASE_URL: provider.baseUrl,
      OPENAI_API_KEY: 'bench',
      OPENAI_MODEL: MODEL,
      OPENAI_DIMENSIONS: String(options.dimensions),
    },
  }
  const searchNode = await steps.run('search node', () => startSearchNode(settings))
  steps.watch(searchNode)
  const jobs = await steps.run('job worker', () => startJobs(settings, [searchNode.address]))
  steps.watch(jobs)
  const gateway = await steps.run('gateway', () => startGateway(settings, [searchNode.address]))
  steps.watch(gateway)
  const log = createLog('bench', 'silent')
  const owner = openDatabase(postgres.adminUrl(DATABASE), log, CONNECTIONS_MAX, STATEMENT_TIMEOUT_MS)
  const operator: Operator = {
    database: openDatabase(logins.operatorUrl, log, CONNECTIONS_MAX, STATEMENT_TIMEOUT_MS),
    actor: 'bench',
  }
  steps.onStop(() => owner.end())
  steps.onStop(() => operator.database.end())
  return { settings, owner, operator, searchNode, gateway, processes: [provider, searchNode, jobs, gateway] }
}

async function startProvider(
  { queries, dataDir }: InstallationOptions,
  folder: string,
): Promise<LocalService & { readonly baseUrl: string }> {
  const questions = join(folder, 'questions.json')
  writeFileSync(
    questions,
    JSON.stringify(
      queries.map(({ text, vector }) => ({ text, vector: Buffer.from(vector.buffer).toString('base64') })),
    ),
  )
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}/v1`
  const service = await startService({
    name: 'provider',
    script: fileURLToPath(new URL('./provider.ts', import.meta.url)),
    args: [questions, String(port)],
    environment: {},
    logFile: join(resolve(dataDir), 'logs', 'provider.log'),
    ready: async () =>
      (
        await fetch(`${baseUrl}/embeddings`, {
          method: 'POST',
          body: JSON.stringify({ input: queries[0]?.text ?? '' }),
        })
      ).ok,
  })
  return { ...service, baseUrl }
}

/** The server's own values of the settings that make an acknowledged commit durable. @throws Error when one is off. */
export async function assertDurable(owner: Database): Promise<Readonly<Record<string, string>>> {
  const settings: Record<string, string> = {}
  for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    const { rows } = await owner.query<Record<string, string>>(`show ${name}`)
    settings[name] = rows[0]?.[name] ?? ''
    if (settings[name] !== 'on')
      throw new Error(`Postgres runs with ${name} ${settings[name]}: the benchmark counts only durable commits.`)
  }
  return settings
}
