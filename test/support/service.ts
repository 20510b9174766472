import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createArtifactStore } from '#core/index/format/store.ts'
import { builtInCorpus } from '#jobs/cli/demo/corpus.ts'
import type { LocalService } from '#jobs/cli/local/processes.ts'
import { publish } from '#jobs/cli/demo/publish.ts'
import type { Publication } from '#jobs/cli/demo/publish.ts'
import { startGateway, startJobs, startSearchNode, storeUrl } from '#jobs/cli/local/stack.ts'
import type { LocalGateway, LocalSearchNode, StackSettings } from '#jobs/cli/local/stack.ts'
import { freePort } from '#jobs/cli/local/supervised-process.ts'
import { createKnowledgeBase } from '#jobs/cli/operator/actions/organizations.ts'
import { KNOWLEDGE_BASE, connectToService } from './caller.ts'
import type { ServiceAccess, ServiceConnection } from './caller.ts'
import { openTestDatabase } from './database.ts'
import type { TestDatabase } from './database.ts'
import { openTestRedis } from './redis.ts'
import { testSecrets } from './secrets.ts'
import type { RunServers } from './setup.ts'

export { ANSWERED_QUERY, KNOWLEDGE_BASE } from './caller.ts'
export type { Caller } from './caller.ts'

export interface ServiceOptions {
  readonly gateways?: number
  readonly searchNodes?: number
  /** Another Redis than a database of the run's own: for tests that lose it. */
  readonly redisUrl?: string
  readonly embedding?: 'local' | 'openai'
  /** Further variables for every process. */
  readonly environment?: Readonly<Record<string, string>>
  /** Only a global setup passes them: tests have them injected. */
  readonly servers?: RunServers
}

/** The real service on the demo corpus: every process, its own database, store and Redis database. */
export interface TestService extends Omit<ServiceConnection, 'gateways' | 'searchNodes' | 'close'> {
  readonly database: TestDatabase
  readonly gateways: readonly LocalGateway[]
  readonly searchNodes: readonly LocalSearchNode[]
  readonly jobs: LocalService
  /** Makes another knowledge base and takes a corpus to its active version. @returns the version. */
  publish(publication: Publication & { readonly title: string }): Promise<string>
  /** For another process. */
  access(): ServiceAccess
  /** Stops with the rest. */
  add<T extends { stop(): Promise<unknown> }>(process: T): T
  stop(): Promise<void>
}

/** The private key of the only reviewer. */
export function reviewerKeyFile({ folder }: { readonly folder: string }): string {
  return join(folder, 'reviewer.pem')
}

const UNHEARD = { update: () => undefined, end: () => undefined }

export async function startTestService(options: ServiceOptions = {}): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-service-'))
  const database = await openTestDatabase(options.servers)
  const redis = options.redisUrl === undefined ? await openTestRedis(options.servers) : undefined
  const settings: StackSettings = {
    folder,
    gatewayDatabaseUrl: database.gatewayUrl,
    jobsDatabaseUrl: database.jobsUrl,
    redisUrl: options.redisUrl ?? redis?.url ?? '',
    keyEnvironment: 'live',
    secrets: testSecrets(),
    environment: options.environment ?? {},
  }
  const processes: { stop(): Promise<unknown> }[] = []
  const add = <T extends { stop(): Promise<unknown> }>(process: T): T => {
    processes.push(process)
    return process
  }
  let connection: ServiceConnection | undefined
  async function stop(): Promise<void> {
    await Promise.all(processes.map((process) => process.stop()))
    await connection?.close()
    await database.drop()
    await redis?.release()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const { gateways, searchNodes, jobs } = await startProcesses(settings, options, add)
    const access: ServiceAccess = {
      settings,
      ownerUrl: database.ownerUrl,
      operatorUrl: database.operatorUrl,
      gateways: gateways.map(({ baseUrl, internalUrl, logFile }) => ({ baseUrl, internalUrl, logFile })),
      searchNodes: searchNodes.map(({ address, logFile }) => ({ address, logFile })),
      versionId: '',
    }
    const { operator, ...connected } = (connection = connectToService(access))
    const publishNew: TestService['publish'] = async ({ title, ...publication }) => {
      await createKnowledgeBase(operator, { slug: publication.knowledgeBase, title })
      return (
        await publish(
          {
            operator,
            store: createArtifactStore(storeUrl(settings)),
            redisUrl: settings.redisUrl,
            reviewerKeyFile: reviewerKeyFile(settings),
          },
          publication,
          UNHEARD,
        )
      ).versionId
    }
    const versionId = await publishNew({
      ...builtInCorpus(),
      knowledgeBase: KNOWLEDGE_BASE,
      embedding: options.embedding ?? 'local',
    })
    return {
      ...connected,
      operator,
      database,
      gateways,
      searchNodes,
      jobs,
      versionId,
      publish: publishNew,
      access: () => ({ ...access, versionId }),
      add,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Processes {
  readonly gateways: readonly LocalGateway[]
  readonly searchNodes: readonly LocalSearchNode[]
  readonly jobs: LocalService
}

/**
 * Starts all processes at once: a gateway becomes ready when a search node answers, and no process waits for another to
 * start.
 */
async function startProcesses(
  settings: StackSettings,
  options: ServiceOptions,
  add: <T extends { stop(): Promise<unknown> }>(process: T) => T,
): Promise<Processes> {
  const ports = await Promise.all(Array.from({ length: options.searchNodes ?? 1 }, () => freePort()))
  const addresses = ports.map((port) => `127.0.0.1:${port}`)
  const searchNodes = ports.map(async (port, index) =>
    add(await startSearchNode(settings, `search-node-${index}`, port)),
  )
  const jobs = startJobs(settings, addresses).then(add)
  const gateways = Array.from({ length: options.gateways ?? 1 }, async (_, index) =>
    add(await startGateway(settings, addresses, `gateway-${index}`)),
  )
  // Until all have come up or failed: what failed is thrown only when everything that runs is known, and so will be
  // stopped.
  await Promise.allSettled([...searchNodes, jobs, ...gateways])
  return { searchNodes: await Promise.all(searchNodes), jobs: await jobs, gateways: await Promise.all(gateways) }
}
