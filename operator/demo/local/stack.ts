import { readFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createArtifactStore, createSignedStore, type SignedStore } from '#core/index/format/store.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import { credentials } from '@grpc/grpc-js'
import { SEARCH_NODE_OPTIONS } from '#operator/processes/node-options.ts'
import { startService, type ServiceOptions } from './processes.ts'
import { freePort, type OnSpawn } from './supervised-process.ts'

export interface StackSettings {
  /** Logs go to `<folder>/logs`, artifacts and snapshots to `<folder>/store`. */
  readonly folder: string
  readonly gatewayDatabaseUrl: string
  readonly jobsDatabaseUrl: string
  readonly redisUrl: string
  readonly keyEnvironment: 'test' | 'live'
  readonly secrets: {
    readonly KEY_PEPPERS: string
    readonly SERVICE_SECRET: string
    readonly MANIFEST_PUBLIC_KEY: string
    readonly MANIFEST_PRIVATE_KEY: string
  }
  /** Folder of the code; this repository if absent. */
  readonly root?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Where the service runs and listens, if not here on loopback; see `ServiceOptions.prefix`. */
  readonly host?: { readonly address: string; readonly prefix: readonly string[] } | undefined
  /** Restarts each service whenever its code changes. */
  readonly restartOnChange?: boolean
  /** Called for each service as soon as its process runs, before it is ready. */
  readonly onSpawn?: OnSpawn
}

export type LocalSearchNode = Awaited<ReturnType<typeof startSearchNode>>

export type LocalGateway = Awaited<ReturnType<typeof startGateway>>

export type LocalTrace = Awaited<ReturnType<typeof startTrace>>

const STATUS_TIMEOUT_MS = 5_000
/** The log of each process says where its metrics are. */
const LOOPBACK = '127.0.0.1'
const ANY_PORT = `${LOOPBACK}:0`

export function storeUrl(settings: Pick<StackSettings, 'folder'>): string {
  return pathToFileURL(join(settings.folder, 'store')).href
}

/** The artifact store of an installation, with the keys under which its manifests hold. */
export function storeOf(settings: Pick<StackSettings, 'folder' | 'secrets' | 'environment'>): SignedStore {
  const publicKeysDer = [Buffer.from(settings.secrets.MANIFEST_PUBLIC_KEY, 'base64')]
  const { ARTIFACT_STORE = storeUrl(settings), ARTIFACT_CACHE } = settings.environment ?? {}
  return createSignedStore({ ARTIFACT_STORE, ARTIFACT_CACHE, MANIFEST_PUBLIC_KEY: publicKeysDer })
}

/** The services keep compiled modules where this process does, unless their code is another. */
function compileCache({ root }: Pick<StackSettings, 'root'>): { readonly NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir()
  return folder === undefined || root !== undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) }
}

/** Options that every service has. Those that restart do so where their code changes. */
function optionsOf(
  settings: Pick<StackSettings, 'folder' | 'host' | 'root' | 'restartOnChange' | 'onSpawn'>,
  name: string,
  script: string,
): Pick<ServiceOptions, 'name' | 'prefix' | 'root' | 'script' | 'logFile' | 'restartOn' | 'onSpawn'> {
  const code = ['core', 'law', 'proto', script.split('/', 1)[0] ?? '']
  const restartOn = settings.restartOnChange === true ? code : undefined
  const { root, onSpawn, host } = settings
  return { name, script, prefix: host?.prefix, root, logFile: logFileOf(settings, name), restartOn, onSpawn }
}

function logFileOf(settings: Pick<StackSettings, 'folder'>, name: string): string {
  return join(settings.folder, 'logs', `${name}.log`)
}

/** Starts a search node on a free port of loopback, or on the given one. */
export async function startSearchNode(
  settings: Pick<StackSettings, 'folder' | 'host' | 'root' | 'secrets' | 'environment' | 'restartOnChange' | 'onSpawn'>,
  name = 'search-node',
  port?: number,
) {
  const address = `${settings.host?.address ?? LOOPBACK}:${port ?? (await freePort())}`
  const cache = settings.environment?.['ARTIFACT_CACHE']
  using opened = new DisposableStack()
  const client = opened.adopt(openSearchNodeClient(address, credentials.createInsecure()), (it) => it.close())
  const service = await startService({
    ...optionsOf(settings, name, 'search-node/main.ts'),
    nodeOptions: SEARCH_NODE_OPTIONS,
    environment: {
      ...compileCache(settings),
      ARTIFACT_STORE: storeUrl(settings),
      ...settings.environment,
      ...(cache === undefined ? {} : { ARTIFACT_CACHE: join(cache, name) }),
      MANIFEST_PUBLIC_KEY: settings.secrets.MANIFEST_PUBLIC_KEY,
      SEARCH_LISTEN: address,
      SEARCH_INTERNAL_LISTEN: ANY_PORT,
      DRAIN_MS: '200',
    },
    ready: async () => (await client.status(STATUS_TIMEOUT_MS)).threads > 0,
  })
  return { ...service, address }
}

/** Starts a job worker; it is ready once its log says so. */
export async function startJobs(settings: StackSettings, searchNodes: readonly string[], name = 'jobs') {
  const logFile = logFileOf(settings, name)
  const linesBefore = readyLines(logFile)
  return startService({
    ...optionsOf(settings, name, 'jobs/worker/main.ts'),
    environment: {
      ...compileCache(settings),
      JOBS_LISTEN: ANY_PORT,
      ARTIFACT_STORE: storeUrl(settings),
      ...settings.environment,
      DATABASE_URL: settings.jobsDatabaseUrl,
      REDIS_URL: settings.redisUrl,
      SEARCH_NODES: searchNodes.join(','),
      MANIFEST_PRIVATE_KEY: settings.secrets.MANIFEST_PRIVATE_KEY,
      MANIFEST_PUBLIC_KEY: settings.secrets.MANIFEST_PUBLIC_KEY,
    },
    ready: async () => readyLines(logFile) > linesBefore,
  })
}

function readyLines(logFile: string): number {
  try {
    return readFileSync(logFile, 'utf8').split('"event":"ready"').length - 1
  } catch {
    return 0
  }
}

/** Starts the process of the public trace, on a free port of loopback. */
export async function startTrace(settings: StackSettings, name = 'trace') {
  const listen = `127.0.0.1:${await freePort()}`
  const url = `http://${listen}`
  const service = await startService({
    ...optionsOf(settings, name, 'jobs/trace/main.ts'),
    environment: {
      ...compileCache(settings),
      TRACE_DIR: createArtifactStore(storeUrl(settings)).traceFolder,
      TRACE_LISTEN: listen,
      TRACE_INTERNAL_LISTEN: ANY_PORT,
    },
    ready: async () => (await fetch(url, { signal: AbortSignal.timeout(STATUS_TIMEOUT_MS) })).status < 500,
  })
  return { ...service, url }
}

/** Starts a gateway on free ports of loopback, or with its public side on the given one. */
export async function startGateway(
  settings: StackSettings,
  searchNodes: readonly string[],
  name = 'gateway',
  port?: number,
) {
  const { address = LOOPBACK } = settings.host ?? {}
  const listen = `${address}:${port ?? (await freePort())}`
  const internalListen = `${address}:${await freePort()}`
  const service = await startService({
    ...optionsOf(settings, name, 'gateway/main.ts'),
    environment: {
      DRAIN_MS: '500',
      ...compileCache(settings),
      ...settings.environment,
      DATABASE_URL: settings.gatewayDatabaseUrl,
      REDIS_URL: settings.redisUrl,
      SEARCH_NODES: searchNodes.join(','),
      KEY_ENVIRONMENT: settings.keyEnvironment,
      KEY_PEPPERS: settings.secrets.KEY_PEPPERS,
      SERVICE_SECRET: settings.secrets.SERVICE_SECRET,
      GATEWAY_LISTEN: listen,
      GATEWAY_INTERNAL_LISTEN: internalListen,
    },
    ready: async () =>
      (await fetch(`http://${internalListen}/readyz`, { signal: AbortSignal.timeout(STATUS_TIMEOUT_MS) })).status ===
      200,
  })
  return { ...service, baseUrl: `http://${listen}`, internalUrl: `http://${internalListen}` }
}
