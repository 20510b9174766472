import { availableParallelism } from 'node:os'
import { credentials } from '@grpc/grpc-js'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { rankingOf } from '#core/domain/retrieval-profile.ts'
import { searchNodeService } from '#core/rpc/messages.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import type { Filters, SearchResult } from '#core/domain/search.ts'
import { startScoringWorker } from '#search-node/threads/workers.ts'
import { SearchPool } from '#search-node/threads/pool.ts'
import { artifactRef } from '#core/index/format/reader.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import type { BenchArtifact } from './artifact.ts'
import { openConnection } from './connection.ts'
import type { Connection } from './connection.ts'
import { EVERYTHING } from './corpus.ts'
import type { Selectivity } from './corpus.ts'
import { processCpuMs } from './cpu.ts'
import { engineOf } from './engines/cluster.ts'
import type { BenchCluster } from './engines/cluster.ts'
import { KNOWLEDGE_BASE, PARAMETERS } from './publish.ts'
import type { Query } from './source.ts'

/**
 * `raw`: words and vectors on the search threads; `dense`: vectors alone on them; then the search node over gRPC, and a
 * request to the gateway.
 */
export const PATHS = ['raw', 'dense', 'grpc', 'full'] as const
export type PathName = (typeof PATHS)[number]

/** One way to have a question answered. All of them end at the same search of the same artifact. */
export interface MeasuredPath {
  readonly name: PathName
  /** @throws Error when the answer is none. */
  ask(query: Query, selectivity: Selectivity): Promise<Answer>
  close(): Promise<void>
}

/** Decoded only when asked for. */
export interface Answer {
  chunkIds(): readonly string[]
}

/** Passages in an answer. */
export const TOP_K = 5
export type Mode = 'lexical' | 'dense' | 'hybrid'

/**
 * The search threads without the services around them: as many, on the same files with the same ranking, as the search
 * node has.
 */
export interface RawSearch {
  search(
    query: Query,
    options: { readonly mode: Mode; readonly filters: Filters; readonly limit: number },
  ): Promise<() => SearchResult>
  /** CPU time of this process, and of the cluster if there is one. */
  cpuMs(): number
  close(): Promise<void>
}

const RANKING = rankingOf(PARAMETERS, EVERYTHING.inForceOn)

export async function openRawSearch(
  { folder, manifest }: BenchArtifact,
  codesMb?: number,
  cluster?: BenchCluster,
): Promise<RawSearch> {
  const engine = engineOf(cluster)
  const pool = new SearchPool(
    Array.from({ length: availableParallelism() }, () => startScoringWorker({ codesMb, engine })),
    SEARCH_NODE_BOUNDS.searchQueueMax,
  )
  const artifact = artifactRef(folder, manifest)
  await pool.openEverywhere(artifact)
  const limits = { deadlineMs: Infinity, signal: new AbortController().signal }
  return {
    async search({ text, vector }, { mode, filters, limit }) {
      const input = {
        vector: mode === 'lexical' ? undefined : vector,
        text: mode === 'dense' ? '' : text,
        limit,
        filters,
        entitled: EVERYTHING,
        ranking: RANKING,
        rowsOnly: false,
        onlyRows: undefined,
      }
      const reply = await pool.search({ artifact, input, deadlineMs: limits.deadlineMs }, limits)
      return () => decoded(reply)
    },
    cpuMs() {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1_000 + (cluster === undefined ? 0 : processCpuMs(cluster.pid))
    },
    close: () => pool.end(),
  }
}

export function openRaw(raw: RawSearch, name: 'raw' | 'dense'): MeasuredPath {
  const mode = name === 'raw' ? 'hybrid' : 'dense'
  return {
    name,
    async ask(query, { pinned }) {
      const reply = await raw.search(query, { mode, filters: pinned, limit: TOP_K })
      return { chunkIds: () => idsOf(reply()) }
    },
    close: async () => undefined,
  }
}

function decoded(reply: Uint8Array): SearchResult {
  const method = searchNodeService['Search']
  if (method === undefined) throw new Error('the proto names no method Search')
  return method.responseDeserialize(Buffer.from(reply)) as SearchResult
}

/** An abstention carries no passages. The threshold of the benchmark is 0, so only unsupported references abstain. */
function idsOf({ passages, unsupported }: SearchResult): readonly string[] {
  return unsupported.length > 0 ? [] : passages.map((passage) => passage.chunkId)
}

export function openGrpc(address: string, { versionId }: BenchArtifact): MeasuredPath {
  const client = openSearchNodeClient(address, credentials.createInsecure())
  return {
    name: 'grpc',
    async ask({ text, vector }, { pinned }) {
      const request = {
        versionId,
        vector,
        text,
        limit: TOP_K,
        filters: pinned,
        entitled: EVERYTHING,
        ranking: RANKING,
      }
      const reply = await client.search(request, PLATFORM_BOUNDS.searchTimeoutMs)
      return { chunkIds: () => idsOf(reply) }
    },
    close: async () => client.close(),
  }
}

export interface FullPath extends MeasuredPath {
  /** Replies with status 200 that arrived whole, so far. */
  delivered(): number
}

/** A partner's backend: connections that stay open, one request at a time on each. */
export function openFull(baseUrl: string, key: string): FullPath {
  const { hostname, port } = new URL(baseUrl)
  const idle: Connection[] = []
  let delivered = 0
  function requestOf({ text }: Query, { asked }: Selectivity): Buffer {
    const body = JSON.stringify({
      query: text,
      knowledge_base: KNOWLEDGE_BASE,
      top_k: TOP_K,
      ...(asked === undefined ? {} : { filters: asked }),
    })
    const head = [
      'POST /v1/retrieve HTTP/1.1',
      `host: ${hostname}`,
      `authorization: Bearer ${key}`,
      'content-type: application/json',
    ]
    return Buffer.from(`${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }
  return {
    name: 'full',
    delivered: () => delivered,
    async ask(query, selectivity) {
      const connection = idle.pop() ?? (await openConnection(hostname, Number(port), PLATFORM_BOUNDS.hardDeadlineMs))
      const { status, body } = await connection.post(requestOf(query, selectivity))
      idle.push(connection)
      if (status !== 200) throw new Error(`the gateway answered ${status}: ${body.toString().slice(0, 300)}`)
      delivered++
      return { chunkIds: () => idsInBody(body) }
    },
    close: async () => idle.forEach((connection) => connection.close()),
  }
}

function idsInBody(reply: Buffer): readonly string[] {
  const { results } = JSON.parse(reply.toString('utf8')) as { results: readonly { chunk_id: string }[] }
  return results.map((result) => result.chunk_id)
}
