import { inject } from 'vitest'
import type { Database } from '#core/db/pool.ts'
import { versionsToServe } from '#core/db/versions.ts'
import type { Embedding } from '#core/embedding/embedder.ts'
import type { Engine } from '#core/index/engine/description.ts'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import { startGateway, startJobs, startSearchNode, storeOf } from '#operator/demo/local/stack.ts'
import type { LocalSearchNode, StackSettings } from '#operator/demo/local/stack.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { publish, type Publication } from '#operator/demo/publish.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { prepareOn } from '#jobs/platform/search-nodes.ts'
import { KNOWLEDGE_BASE, connectToService, type ServiceAccess, type ServiceConnection } from './caller.ts'
import { emptyInstallation, publishedInstallation, reviewerKeyFile, type Installation } from './installation.ts'
import { WITH_FEW_QUERIES } from './processes.ts'
import { openTestRedis } from './redis.ts'
import { withSearchNode } from './search-node.ts'
import type { RunServers } from './servers.ts'
export { ANSWERED_QUERY, KNOWLEDGE_BASE } from './caller.ts'
export type { Caller } from './caller.ts'

export interface ServiceOptions {
  readonly gateways?: number
  readonly searchNodes?: number
  /** Another Redis than a database of the run's own: for tests that lose it. */
  readonly redisUrl?: string
  readonly embedding?: Embedding
  /** Where the version is searched; the environment names the cluster. */
  readonly engine?: Engine
  /** Further variables for every process. */
  readonly environment?: Readonly<Record<string, string>>
  /** Only a global setup passes them: tests have them injected. */
  readonly servers?: RunServers
}

export type TestService = Awaited<ReturnType<typeof startTestService>>

const UNHEARD = { update: () => undefined, end: () => undefined }

/**
 * The real service on the demo corpus: every process, its own database, store and Redis database. It serves a version
 * that another service of the run has published, where tests can inject the servers.
 */
export async function startTestService(options: ServiceOptions = {}) {
  if (options.servers !== undefined) return startOn(await emptyInstallation(options.servers), options)
  const environment = { ...options.environment, NODE_OPTIONS: WITH_FEW_QUERIES }
  const { redisUrl: _, ...publishing } = { ...options, environment, gateways: 0, searchNodes: 1 }
  const key = [options.embedding ?? 'none', options.engine ?? 'local']
  const begun = await publishedInstallation(inject('servers'), key, async (empty) => {
    const service = await startOn(empty, publishing)
    await service.stop()
    return service.versionId
  })
  return startOn(begun, options)
}

async function startOn(begun: Installation, options: ServiceOptions) {
  const { folder, database, secrets } = begun
  const redis = options.redisUrl === undefined ? await openTestRedis(options.servers) : undefined
  const settings: StackSettings = {
    folder,
    gatewayDatabaseUrl: database.gatewayUrl,
    jobsDatabaseUrl: database.jobsUrl,
    redisUrl: options.redisUrl ?? redis?.url ?? '',
    keyEnvironment: 'live',
    secrets,
    // A scoring thread more costs its start and a tenth of a second of processor time every ten seconds.
    environment: { SEARCH_THREADS: '1', ...options.environment },
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
    await begun.remove()
    await redis?.release()
  }
  try {
    const started = await startProcesses(settings, options, add)
    const { gateways, searchNodes } = started
    const access: ServiceAccess = {
      settings,
      ownerUrl: database.ownerUrl,
      operatorUrl: database.operatorUrl,
      gateways: gateways.map(({ baseUrl, internalUrl, logFile }) => ({ baseUrl, internalUrl, logFile })),
      searchNodes: searchNodes.map(({ address, logFile }) => ({ address, logFile })),
      versionId: '',
    }
    connection = connectToService(access)
    const publishNew = publisher(connection.operator, settings)
    if (begun.versionId !== undefined) await loadActive(connection.owner, searchNodes)
    const versionId = begun.versionId ?? (await publishNew(rulebook(options)))
    return {
      ...connection,
      ...started,
      database,
      versionId,
      /** Makes another knowledge base and takes a corpus to its active version. @returns the version. */
      publish: publishNew,
      /** For another process. */
      access: (): ServiceAccess => ({ ...access, versionId }),
      /** Stops with the rest. */
      add,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function rulebook({ embedding = 'none', engine }: ServiceOptions): Publication & { readonly title: string } {
  return { ...builtInCorpus(), knowledgeBase: KNOWLEDGE_BASE, embedding, engine }
}

function publisher(operator: Operator, settings: StackSettings) {
  return async ({ title, ...publication }: Publication & { readonly title: string }): Promise<string> => {
    await createKnowledgeBase(operator, { slug: publication.knowledgeBase, title })
    const deps = {
      operator,
      store: storeOf(settings),
      redisUrl: settings.redisUrl,
      reviewerKeyFile: reviewerKeyFile(settings),
    }
    return (await publish(deps, publication, UNHEARD)).versionId
  }
}

/** The job worker would do so too, a little later. */
async function loadActive(owner: Database, searchNodes: readonly LocalSearchNode[]): Promise<void> {
  for (const version of await versionsToServe(owner))
    await Promise.all(searchNodes.map(({ address }) => withSearchNode(address, (client) => prepareOn(client, version))))
}

/**
 * Starts all processes at once: a gateway becomes ready when a search node answers, and no process waits for another to
 * start.
 */
async function startProcesses(
  settings: StackSettings,
  options: ServiceOptions,
  add: <T extends { stop(): Promise<unknown> }>(process: T) => T,
) {
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
