import { availableParallelism } from 'node:os'
import { credentials } from '@grpc/grpc-js'
import { BOUNDS } from '#core/bounds.ts'
import { connectSearchNode, searchNodeService } from '#core/rpc/search-node.ts'
import type { Filters, SearchReply } from '#core/rpc/search-node.ts'
import { startLane } from '#search-node/lanes.ts'
import { SearchPool } from '#search-node/pool.ts'
import type { BenchArtifact } from './artifact.ts'
import { openConnection } from './connection.ts'
import type { Connection } from './connection.ts'
import type { Selectivity } from './corpus.ts'
import { K } from './exact.ts'
import { EXPANSION, KNOWLEDGE_BASE } from './publish.ts'
import type { Query } from './queries.ts'

export const ROADS = ['raw', 'grpc', 'full'] as const
export type RoadName = (typeof ROADS)[number]

/** One way to have a question answered. All of them end at the same search of the same artifact. */
export interface Road {
  readonly name: RoadName
  /** @throws Error when the answer is none. */
  ask(query: Query, selectivity: Selectivity): Promise<Answer>
  close(): Promise<void>
}

/** Decoded only when asked for. */
export interface Answer {
  chunkIds(): readonly string[]
}

/** The search threads without the services around them: as many, on the same index with the same expansion, as the search node has. */
export async function openRaw({ folder, projectionId, manifest }: BenchArtifact): Promise<Road> {
  const pool = new SearchPool(Array.from({ length: availableParallelism() }, startLane), BOUNDS.searchQueueMax)
  const artifact = { projectionId, folder, passages: manifest.passages, dimensions: manifest.embedding.dimensions, connectivity: manifest.index.connectivity }
  await pool.openEverywhere(artifact)
  const limits = { deadlineMs: Infinity, signal: new AbortController().signal }
  return {
    name: 'raw',
    async ask({ vector }, selectivity) {
      const reply = await pool.search({ artifact, input: { vector, limit: K, filters: pinnedFilters(selectivity), expansion: EXPANSION } }, limits)
      return { chunkIds: () => idsOf(decoded(reply)) }
    },
    close: () => pool.end(),
  }
}

function decoded(reply: Uint8Array): SearchReply {
  const method = searchNodeService['Search']
  if (method === undefined) throw new Error('the proto names no method Search')
  return method.responseDeserialize(Buffer.from(reply)) as SearchReply
}

function idsOf({ passages }: SearchReply): readonly string[] {
  return passages.map((passage) => passage.chunk_id)
}

const today = new Date().toISOString().slice(0, 10)

function pinnedFilters({ pinned }: Selectivity): Filters {
  return { ...pinned, in_force_on: today }
}

export function openGrpc(address: string, { projectionId }: BenchArtifact): Road {
  const client = connectSearchNode(address, credentials.createInsecure())
  return {
    name: 'grpc',
    async ask({ vector }, selectivity) {
      const request = {
        projection_id: projectionId,
        query_vector: Buffer.from(vector.buffer),
        limit: K,
        filters: pinnedFilters(selectivity),
        ranking: { expansion: EXPANSION },
      }
      const reply = await client.call('Search', request, BOUNDS.searchTimeoutMs)
      return { chunkIds: () => idsOf(reply) }
    },
    close: async () => client.close(),
  }
}

export interface FullRoad extends Road {
  /** Replies with status 200 that arrived whole, so far. */
  delivered(): number
}

/** A partner's backend: connections that stay open, one request at a time on each. */
export function openFull(baseUrl: string, key: string): FullRoad {
  const { hostname, port } = new URL(baseUrl)
  const idle: Connection[] = []
  let delivered = 0
  function requestOf({ text }: Query, { asked }: Selectivity): Buffer {
    const body = JSON.stringify({ query: text, knowledge_base: KNOWLEDGE_BASE, top_k: K, ...(asked === undefined ? {} : { filters: asked }) })
    const head = ['POST /v1/retrieve HTTP/1.1', `host: ${hostname}`, `authorization: Bearer ${key}`, 'content-type: application/json']
    return Buffer.from(`${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }
  return {
    name: 'full',
    delivered: () => delivered,
    async ask(query, selectivity) {
      const connection = idle.pop() ?? (await openConnection(hostname, Number(port), BOUNDS.hardDeadlineMs))
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
