import { availableParallelism } from 'node:os'
import { credentials } from '@grpc/grpc-js'
import { Pool } from 'undici'
import { z } from 'zod'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { rankingOf } from '#core/domain/retrieval-profile.ts'
import { NO_ENGINE, type EngineSettings } from '#core/engine/settings.ts'
import { searchNodeService } from '#core/rpc/messages.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import type { Filters, SearchResult } from '#core/domain/search.ts'
import { SearchPool } from '#search-node/threads/pool.ts'
import { artifactRef } from '#core/index/format/reader.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import type { BenchArtifact } from './artifact.ts'
import { EVERYTHING, type Selectivity } from './corpus.ts'
import { processCpuMs } from './cpu.ts'
import { KNOWLEDGE_BASE, PARAMETERS } from './publish.ts'
import type { Query } from './source.ts'

/**
 * `raw`: words and vectors on the search threads; `dense`: vectors alone on them; then the search node over gRPC, a
 * request to the gateway, and LanceDB's hybrid query.
 */
export type PathName = 'raw' | 'dense' | 'grpc' | 'full' | 'lance'

/** One way to have a question answered. */
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

/** The cluster of versions with an engine. */
export interface BenchCluster {
  readonly urls: readonly string[]
  readonly pid: number
}

export function engineOf(cluster: BenchCluster | undefined): EngineSettings {
  return cluster === undefined ? NO_ENGINE : { ...NO_ENGINE, OPENSEARCH_URL: cluster.urls }
}

interface SearchOptions {
  /** `dense`: by vectors alone. */
  readonly mode: 'dense' | 'hybrid'
  readonly filters: Filters
  readonly limit: number
}
export type RawSearch = Awaited<ReturnType<typeof openRawSearch>>

const RANKING = rankingOf(PARAMETERS, EVERYTHING.inForceOn)

/**
 * The search threads without the services around them: as many, on the same files with the same ranking, as the search
 * node has.
 */
export async function openRawSearch({ folder, manifest }: BenchArtifact, cluster?: BenchCluster) {
  const engine = engineOf(cluster)
  const queueMax = SEARCH_NODE_BOUNDS.searchQueueMax
  const pool = new SearchPool({ threads: availableParallelism(), queueMax, engine })
  const artifact = artifactRef(folder, manifest)
  await pool.openEverywhere(artifact)
  const limits = { deadlineMs: Infinity, signal: new AbortController().signal }
  return {
    async search({ text, vector }: Query, { mode, filters, limit }: SearchOptions) {
      const input = {
        vector,
        text: mode === 'dense' ? '' : text,
        limit,
        filters,
        entitled: EVERYTHING,
        ranking: RANKING,
        rowsOnly: false,
        onlyRows: undefined,
      }
      const reply = await pool.search({ versionId: artifact.versionId, input }, limits)
      return () => decoded(reply)
    },
    /** CPU time of this process, and of the cluster if there is one. */
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

/** What the vectors alone find. @returns rows for each question, best first. */
export async function nearestRows(
  raw: RawSearch,
  queries: readonly Query[],
  filters: Filters,
  limit: number,
): Promise<readonly (readonly number[])[]> {
  const found: (readonly number[])[] = []
  for (const query of queries)
    found.push((await raw.search(query, { mode: 'dense', filters, limit }))().passages.map(({ row }) => row))
  return found
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
  const limit = TOP_K
  return {
    name: 'grpc',
    async ask({ text, vector }, { pinned: filters }) {
      const request = { versionId, vector, text, limit, filters, entitled: EVERYTHING, ranking: RANKING }
      const reply = await client.search(request, PLATFORM_BOUNDS.searchTimeoutMs)
      return { chunkIds: () => idsOf(reply) }
    },
    close: async () => client.close(),
  }
}

/** A partner's backend. */
export function openFull(baseUrl: string, key: string): MeasuredPath & { delivered(): number } {
  const posts = openPosts(`${baseUrl}/v1/retrieve`, { authorization: `Bearer ${key}` })
  let delivered = 0
  return {
    name: 'full',
    /** Replies with status 200 that arrived whole, so far. */
    delivered: () => delivered,
    async ask(query, selectivity) {
      const reply = await posts.post({ ...questionOf(query, selectivity), knowledge_base: KNOWLEDGE_BASE })
      delivered++
      return { chunkIds: () => resultsIn(reply).map(({ chunk_id: id }) => id) }
    },
    close: posts.close,
  }
}

export function questionOf({ text }: Query, { asked: filters }: Selectivity): object {
  return { query: text, top_k: TOP_K, ...(filters === undefined ? {} : { filters }) }
}

const repliesSchema = z.object({ results: z.array(z.object({ chunk_id: z.string(), row: z.int().optional() })) })

export function resultsIn(reply: Buffer): z.infer<typeof repliesSchema>['results'] {
  return repliesSchema.parse(JSON.parse(reply.toString('utf8'))).results
}

/** Connections that stay open, one request at a time on each. Another status than the wanted one is an error. */
export function openPosts(url: string, headers: Readonly<Record<string, string>> = {}, wanted = 200) {
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin, { headersTimeout: PLATFORM_BOUNDS.hardDeadlineMs })
  const fixed = { path, method: 'POST', headers: { 'content-type': 'application/json', ...headers } } as const
  return {
    /** @param body text is sent as it is. */
    async post(body: object | string) {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const reply = await pool.request({ ...fixed, body: text })
      const bytes = Buffer.from(await reply.body.arrayBuffer())
      if (reply.statusCode !== wanted)
        throw new Error(`${url} answered ${reply.statusCode}: ${bytes.toString('utf8', 0, 300)}`)
      return bytes
    },
    close: () => pool.destroy(),
  }
}
