import { fileURLToPath, pathToFileURL } from 'node:url'
import { Server, ServerCredentials, credentials, status, type sendUnaryData } from '@grpc/grpc-js'
import { searchNodeService } from '#core/rpc/messages.ts'
import { openSearchNodeClient, type SearchNodeClient } from '#core/rpc/search-client.ts'
import { clientCredentials, type TransportSettings } from '#core/rpc/transport.ts'
import { NO_ENGINE, type EngineSettings } from '#core/engine/settings.ts'
import type { EngineCheckOptions } from '#search-node/engine-check.ts'
import { createLog } from '#core/platform/log.ts'
import { startSearchNode, type SearchNode } from '#search-node/node.ts'
import { SEARCH_NODE_OPTIONS } from '#operator/processes/node-options.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { COMPILE_CACHE, startProgram } from './processes.ts'

const MAIN = fileURLToPath(new URL('../../search-node/main.ts', import.meta.url))

/** Connections to search nodes on loopback. */
export const PLAINTEXT: TransportSettings = {
  SEARCH_TLS_CA: undefined,
  SEARCH_TLS_CERT: undefined,
  SEARCH_TLS_KEY: undefined,
  SEARCH_PLAINTEXT: 'refuse',
}

/** A search node of one thread in this process, on the store in a folder, and on a cluster for versions that have one. */
export function startNodeInProcess(
  root: string,
  publicKeyDer: Buffer,
  engine: EngineSettings = NO_ENGINE,
  engineChecks?: EngineCheckOptions,
): Promise<SearchNode> {
  return startSearchNode(
    {
      ARTIFACT_STORE: pathToFileURL(root).href,
      ARTIFACT_CACHE: undefined,
      ARTIFACT_CACHE_MAX_MB: 1,
      MANIFEST_PUBLIC_KEY: [publicKeyDer],
      ...PLAINTEXT,
      ...engine,
      LOG_LEVEL: 'silent',
      OTEL_EXPORTER_OTLP_ENDPOINT: undefined,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: undefined,
      SEARCH_LISTEN: '127.0.0.1:0',
      SEARCH_INTERNAL_LISTEN: '127.0.0.1:0',
      SEARCH_THREADS: 1,
      DRAIN_MS: 0,
    },
    createLog('test', 'silent'),
    engineChecks,
  )
}

export type NodeProcess = Awaited<ReturnType<typeof startNode>>
export type Environment = Readonly<Record<string, string>>

export function nodeEnvironment(
  store: string,
  publicKeyDer: Buffer | readonly Buffer[],
  more: Environment = {},
): Environment {
  return {
    ARTIFACT_STORE: pathToFileURL(store).href,
    MANIFEST_PUBLIC_KEY: [publicKeyDer]
      .flat()
      .map((key) => key.toString('base64'))
      .join(','),
    SEARCH_INTERNAL_LISTEN: '127.0.0.1:0',
    SEARCH_THREADS: '1',
    DRAIN_MS: '0',
    ...more,
  }
}

/** Runs the node as production starts it, and returns without waiting for it to listen. */
export function spawnNode(environment: Environment) {
  const env = { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: COMPILE_CACHE, ...environment }
  const { child, said, ended } = startProgram([...SEARCH_NODE_OPTIONS, MAIN], env)
  return {
    child,
    /** What it wrote, both streams. */
    output: () => said.both,
    /** Exit code; null if a signal ended it. */
    ended,
    stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}

/** Runs the node on a free loopback port and waits until it listens. */
export async function startNode(environment: Environment) {
  const address = environment['SEARCH_LISTEN'] ?? `127.0.0.1:${await freePort()}`
  const node = spawnNode({ ...environment, SEARCH_LISTEN: address })
  const listening = new Promise<void>((resolve) =>
    node.child.stdout?.on('data', () => node.output().includes('"event":"listening"') && resolve()),
  )
  await Promise.race([
    listening,
    node.ended.then((code) => {
      throw new Error(`the search node ended with ${code}: ${node.output()}`)
    }),
  ])
  return { ...node, address }
}

export function openSearchNodeClients(addresses: readonly string[], settings: TransportSettings) {
  return addresses.map((address) => openSearchNodeClient(address, clientCredentials(address, settings)))
}

/** Short, because a node that a test has stopped never answers. */
const STATUS_TIMEOUT_MS = 5_000

export async function withSearchNode<T>(address: string, work: (client: SearchNodeClient) => Promise<T>): Promise<T> {
  using ending = new DisposableStack()
  const client = ending.adopt(openSearchNodeClient(address, credentials.createInsecure()), (it) => it.close())
  return await work(client)
}

/** Versions that a search node can search; none while it does not answer. */
export async function loadedOn(address: string): Promise<readonly string[]> {
  const answered = await withSearchNode(address, (client) => client.status(STATUS_TIMEOUT_MS).catch(() => undefined))
  return (answered?.loaded ?? []).filter(({ state }) => state === 'loaded').map(({ versionId }) => versionId)
}

export type FakeNode = Awaited<ReturnType<typeof startFakeNode>>

type Reply = (reply: sendUnaryData<object>) => void
const unasked: Reply = (reply) => reply({ code: status.UNIMPLEMENTED })

/**
 * A search node whose status always answers and which does with a call to prepare or search what the test says.
 * @param held versions that its status names.
 */
export async function startFakeNode(prepare: Reply, search: Reply = unasked, held: readonly string[] = []) {
  const server = new Server()
  server.addService(searchNodeService, {
    Search: (_call: unknown, reply: sendUnaryData<object>) => search(reply),
    ReleaseVersion: (_call: unknown, reply: sendUnaryData<object>) => unasked(reply),
    GetStatus: (_call: unknown, reply: sendUnaryData<object>) =>
      reply(null, { loaded: held.map((versionId) => ({ versionId, state: 'loaded' })) }),
    PrepareVersion: (_call: unknown, reply: sendUnaryData<object>) => prepare(reply),
  })
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  )
  return { address: `127.0.0.1:${port}`, stop: () => server.forceShutdown() }
}
