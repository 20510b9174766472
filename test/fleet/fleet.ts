import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { openDatabase, type Database } from '#core/db/pool.ts'
import { createLog } from '#core/platform/log.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { addSource } from '#operator/actions/sources.ts'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import type { LocalService } from '#operator/demo/local/processes.ts'
import { startGateway, startJobs, startSearchNode, storeOf, type StackSettings } from '#operator/demo/local/stack.ts'
import { freePort, LocalProcessError } from '#operator/demo/local/supervised-process.ts'
import { publish } from '#operator/demo/publish.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { startTestProvider } from '#test/support/embedding-endpoint.ts'
import { BUCKET, startObjectServer } from '#test/support/object-store.ts'
import { WITH_FEW_QUERIES } from '#test/support/processes.ts'
import { startFaultProxy, type FaultProxy } from '#test/support/proxy.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { openHosts, type Host } from './hosts.ts'
import { startPostgresPair } from './postgres-pair.ts'
import { startRedisPair } from './redis-pair.ts'
import type { Sizes } from './schedule.ts'

export type Fleet = Awaited<ReturnType<typeof startFleet>>
type Member = Awaited<ReturnType<typeof startMember>>

const CONNECTIONS_MAX = 4
const STATEMENT_TIMEOUT_MS = 30_000
const STARTS_MAX = 30
const START_PAUSE_MS = 1_000
/** Questions that a build is evaluated with; few, because each build takes part of the run. */
const EVALUATED = 8
const questionSchema = z.object({ text: z.string() })
const UNHEARD = { update: () => undefined, end: () => undefined }

interface FleetOptions {
  readonly sizes: Omit<Sizes, 'objectStores'>
  /** Undefined: S3 where its server can be had. */
  readonly store: 's3' | 'file' | undefined
  readonly folder: string
  /** A module that every process loads before its `main.ts`; it breaks the product. */
  readonly preload?: string | undefined
  /** A process has ended that nobody ended. It is started again. */
  readonly onEnd: (message: string) => void
}

/** A process that can be ended and started again. */
async function startMember(name: string, start: () => Promise<LocalService>, report: (message: string) => void) {
  const expected = new Set<LocalService>()
  let service: LocalService
  /** One that ends while it starts, as where Postgres is away, is started again, as a supervisor does. */
  async function started(): Promise<LocalService> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await start()
      } catch (error) {
        if (attempt === STARTS_MAX) throw error
        await sleep(START_PAUSE_MS)
      }
    }
  }
  async function restart(): Promise<void> {
    const next = (service = await started())
    const follow = async (): Promise<void> => {
      const reason: unknown = await next.ended.catch((error: unknown) => error)
      if (expected.has(next)) return
      report(`${name}: ${reason instanceof Error ? reason.message : 'ended'}`)
      await restart()
    }
    follow().catch((error: unknown) => report(`${name} did not start again: ${String(error)}`))
  }
  await restart()
  return {
    signal: (signal: NodeJS.Signals) => service.signal(signal),
    /** Resolves once the process has ended. */
    async end(signal: 'SIGKILL' | 'SIGTERM') {
      expected.add(service)
      service.signal(signal)
      await service.ended.catch(() => undefined)
    },
    restart,
    stop() {
      expected.add(service)
      service.signal('SIGCONT')
      return service.stop()
    },
  }
}

type Started = <T extends { stop(): Promise<unknown> }>(name: string, start: () => Promise<T>) => Promise<T>

/** Every process of a service with two of each server, and a fault proxy before each party. */
export async function startFleet(options: FleetOptions, steps: Steps) {
  const { folder } = options
  mkdirSync(folder, { recursive: true })
  const stopped: Started = async (name, start) => {
    const started = await steps.run(name, start)
    steps.onStop(() => started.stop())
    return started
  }
  const servers = await startServers(options, stopped, steps)
  const { operator, settings, objects } = servers
  const { nodes, workers, gateways, addresses, moveClock } = await startProcesses(servers, options, steps)
  const { slug, title, source, mappingFile, questionsFile } = builtInCorpus()
  const questions = readFileSync(questionsFile ?? '', 'utf8')
    .trimEnd()
    .split('\n')
  const evaluated = join(folder, 'questions.jsonl')
  writeFileSync(evaluated, `${questions.slice(0, EVALUATED).join('\n')}\n`)
  const reviewerKeyFile = join(folder, 'reviewer.pem')
  const publishing = { operator, store: storeOf(settings), redisUrl: settings.redisUrl, reviewerKeyFile }
  const captured = join(folder, 'captured')
  cpSync(source, captured, { recursive: true })
  const corpus = { knowledgeBase: slug, source, mappingFile, questionsFile: evaluated, embedding: 'openai' } as const
  const republish = () => publish(publishing, { ...corpus, endpoint: { model: 'fleet' } }, UNHEARD)
  await steps.run('corpus', async () => {
    await createKnowledgeBase(operator, { slug, title })
    await republish()
    await addSource(operator, { name: 'captured', knowledgeBase: slug, from: captured })
  })
  return {
    ...servers,
    sizes: { ...options.sizes, objectStores: objects === undefined ? 0 : 1 } as const,
    nodes,
    workers,
    gateways,
    searchNodes: addresses,
    knowledgeBase: slug,
    reviewerKeyFile,
    store: publishing.store,
    /** Folder of the source of that name. */
    captured,
    /** Those of callers, which no version is evaluated with. */
    questions: questions.slice(EVALUATED).map((line) => questionSchema.parse(JSON.parse(line)).text),
    moveClock,
    /** Imports the corpus again, and takes it through build, review and activation. */
    republish,
    /** What callers ask. */
    baseUrls: gateways.map(({ proxies }) => proxies['callers']?.url.replace(/\/$/, '') ?? ''),
  }
}

async function startServers(options: FleetOptions, stopped: Started, steps: Steps) {
  const { folder, preload } = options
  const hosts = openHosts((line) => steps.note(line))
  if (hosts !== undefined) steps.onStop(hosts.stop)
  const here = hosts?.address ?? '127.0.0.1'
  const objects = await startObjects(options, here, stopped, steps)
  const provider = await stopped('embedding provider', () => startTestProvider())
  const postgres = await stopped('Postgres and its replica', () => startPostgresPair(folder, here))
  const redis = await stopped('Redis, its replica and a Sentinel', () => startRedisPair(here))
  const providerProxy = await startFaultProxy(provider.environment.OPENAI_BASE_URL, here)
  const imports = preload === undefined ? [] : [`--import=${preload}`]
  const settings: StackSettings = {
    folder,
    gatewayDatabaseUrl: postgres.logins.gatewayUrl,
    jobsDatabaseUrl: postgres.logins.jobsUrl,
    redisUrl: redis.url,
    keyEnvironment: 'live',
    secrets: testSecrets(),
    environment: {
      SEARCH_THREADS: '1',
      SEARCH_PLAINTEXT: 'allow',
      ...provider.environment,
      OPENAI_BASE_URL: providerProxy.url,
      ...objects?.environment,
      NODE_OPTIONS: [...imports, WITH_FEW_QUERIES].join(' '),
    },
  }
  const connect = async (url: string): Promise<Database> => {
    const { url: through } = await postgres.proxied(url)
    const database = openDatabase(through, createLog('fleet', 'silent'), CONNECTIONS_MAX, STATEMENT_TIMEOUT_MS)
    steps.onStop(() => database.end())
    return database
  }
  const owner = await connect(postgres.ownerUrl())
  const operator: Operator = { database: await connect(postgres.logins.operatorUrl), actor: 'fleet' }
  return { settings, owner, operator, postgres, redis, provider, providerProxy, objects, here, hosts }
}

/** A bucket for the artifacts behind a proxy. This process, as an operator, is one of its writers. */
async function startObjects({ folder, store }: FleetOptions, here: string, stopped: Started, steps: Steps) {
  if (store === 'file') return undefined
  try {
    const { endpoint, environment: login } = await stopped('object store', () => startObjectServer())
    const proxy = await startFaultProxy(endpoint, here)
    const environment = {
      ...login,
      AWS_ENDPOINT_URL_S3: new URL(proxy.url).origin,
      ARTIFACT_STORE: `s3://${BUCKET}/fleet`,
      ARTIFACT_CACHE: join(folder, 'copies'),
      TRACE_DIR: join(folder, 'trace'),
    }
    Object.assign(process.env, environment)
    return { proxy, environment }
  } catch (error) {
    if (store === 's3' || !(error instanceof LocalProcessError)) throw error
    steps.note(`The artifacts are in a folder: ${error.message}`)
    return undefined
  }
}

/** Nodes, workers and gateways, all at once. */
async function startProcesses(
  { settings, postgres, hosts, here }: Awaited<ReturnType<typeof startServers>>,
  { sizes, onEnd }: FleetOptions,
  steps: Steps,
) {
  const { move: moveClock, settingsOf } = createClocks(settings)
  const { logins, proxied } = postgres
  const started = async (name: string, start: () => Promise<LocalService>): Promise<Member> => {
    const member = await startMember(name, start, onEnd)
    steps.onStop(() => member.stop())
    return member
  }
  const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n)
  const ports = await Promise.all(numbers(sizes.nodes).map(() => freePort()))
  const addressOf = (host: Host | undefined, port: number): string => `http://${host?.address ?? here}:${port}`
  const nodeHosts = ports.map(() => hosts?.add())
  const networks = await Promise.all(ports.map((port, n) => startFaultProxy(addressOf(nodeHosts[n], port), here)))
  const addresses = networks.map(({ url }) => new URL(url).host)
  const startedNode = async (network: FaultProxy, n: number): Promise<Link> => {
    const own = { ...settings, host: nodeHosts[n] }
    const member = await started(`node-${n}`, () => startSearchNode(own, `node-${n}`, ports[n]))
    return { member, host: own.host, proxies: { network } }
  }
  const startedWorker = async (n: number): Promise<Link> => {
    const host = hosts?.add()
    const proxy = await proxied(logins.jobsUrl)
    const own = settingsOf(`worker-${n}`, { ...settings, host, jobsDatabaseUrl: proxy.url })
    const member = await started(`worker-${n}`, () => startJobs(own, addresses, `worker-${n}`))
    return { member, host, proxies: { postgres: proxy } }
  }
  const startedGateway = async (n: number): Promise<Link> => {
    const [host, port] = [hosts?.add(), await freePort()]
    const callers = await startFaultProxy(addressOf(host, port), here)
    const proxy = await proxied(logins.gatewayUrl)
    const own = settingsOf(`gateway-${n}`, { ...settings, host, gatewayDatabaseUrl: proxy.url })
    const member = await started(`gateway-${n}`, () => startGateway(own, addresses, `gateway-${n}`, port))
    return { member, host, proxies: { callers, postgres: proxy } }
  }
  const [nodes, workers, gateways] = await steps.run('nodes, workers and gateways', () =>
    Promise.all([
      Promise.all(networks.map(startedNode)),
      Promise.all(numbers(sizes.workers).map(startedWorker)),
      Promise.all(numbers(sizes.gateways).map(startedGateway)),
    ]),
  )
  return { nodes, workers, gateways, addresses, moveClock }
}

/** A process, and the proxies of its connections. */
export interface Link {
  readonly member: Member
  /** Undefined: it is on loopback. */
  readonly host: Host | undefined
  readonly proxies: Readonly<Record<string, FaultProxy>>
}

/** Clocks of processes, each in a file. */
function createClocks({ folder }: Pick<StackSettings, 'folder'>) {
  const fileOf = (name: string): string => join(folder, `${name}.clock`)
  const move = (name: string, ms: number): void => writeFileSync(fileOf(name), String(ms))
  return {
    move,
    settingsOf(name: string, settings: StackSettings): StackSettings {
      move(name, 0)
      const preload = `${new URL('../support/moved-date.ts', import.meta.url).href}?file=${fileOf(name)}`
      const { NODE_OPTIONS = '', ARTIFACT_CACHE } = settings.environment ?? {}
      const own = ARTIFACT_CACHE === undefined ? {} : { ARTIFACT_CACHE: join(ARTIFACT_CACHE, name) }
      const options = { NODE_OPTIONS: `--import=${preload} ${NODE_OPTIONS}` }
      return { ...settings, environment: { ...settings.environment, ...own, ...options } }
    },
  }
}
