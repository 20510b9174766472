import { fileURLToPath } from 'node:url'
import { Metadata, loadPackageDefinition, status } from '@grpc/grpc-js'
import type {
  ChannelCredentials,
  Client,
  ClientUnaryCall,
  ServiceClientConstructor,
  ServiceDefinition,
  ServiceError as GrpcError,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { BOUNDS } from '#core/platform/bounds.ts'

/** The messages of `proto/search/v1/search.proto` as they are in memory. */
export interface Filters {
  readonly languages: readonly string[]
  readonly jurisdictions: readonly string[]
  readonly subjects: readonly string[]
  readonly any_subject: boolean
  readonly verification_statuses: readonly string[]
  readonly in_force_on: string
  /** Empty: any. */
  readonly documents: readonly string[]
}
export interface Ranking {
  readonly expansion: number
  readonly fusion: 'weighted' | 'rrf'
  readonly dense_weight: number
  readonly rrf_k: number
  readonly per_document_max: number
  readonly collapse_revisions_on: string
}
export interface SearchRequest {
  readonly projection_id: string
  readonly query_vector: Buffer
  readonly query_text: string
  readonly limit: number
  readonly filters: Filters
  readonly entitled: Filters
  readonly ranking: Ranking
  readonly without_text?: boolean
  readonly only_rows?: Buffer
}
export interface FoundPassage {
  readonly chunk_id: string
  readonly text: string
  readonly score: number
  readonly document: {
    readonly id: string
    readonly revision_id: string
    readonly title: string
    readonly authority: string
    readonly canonical_url: string
    readonly published_at: string
    readonly effective_at: string
  }
  readonly citation: { readonly label: string; readonly source_anchor: string; readonly source_snapshot_id: string }
  readonly metadata: { readonly language: string; readonly jurisdiction: string; readonly verification_status: string }
  readonly place: { readonly ordinal: number; readonly document_passages: number }
  readonly named: boolean
  readonly row: number
  readonly source_id: string
}
export interface SearchReply {
  readonly passages: readonly FoundPassage[]
  readonly plan: string
  readonly allowed: number
  readonly evidence: readonly number[]
  readonly unsupported: readonly UnsupportedReference[]
}
export interface UnsupportedReference {
  readonly text: string
  readonly normalized: string
  readonly reason: 'not_in_corpus' | 'outside_filters'
}
export interface PrepareVersionRequest {
  readonly projection_id: string
  readonly manifest_digest: Buffer
}
export interface PrepareVersionReply {
  readonly already_loaded: boolean
  readonly passages: number
}
export interface ReleaseVersionRequest {
  readonly projection_id: string
}
export interface ReleaseVersionReply {
  readonly was_loaded: boolean
}
export interface GetStatusReply {
  readonly loaded: readonly {
    readonly projection_id: string
    readonly manifest_digest: Buffer
    readonly leases: number
    readonly state: string
  }[]
  readonly threads: number
  readonly queued: number
  readonly queue_max: number
}

interface Methods {
  Search: { request: SearchRequest; reply: SearchReply }
  PrepareVersion: { request: PrepareVersionRequest; reply: PrepareVersionReply }
  ReleaseVersion: { request: ReleaseVersionRequest; reply: ReleaseVersionReply }
  GetStatus: { request: Record<string, never>; reply: GetStatusReply }
}

const protoFile = fileURLToPath(new URL('../../proto/search/v1/search.proto', import.meta.url))

function constructor(): ServiceClientConstructor {
  const definition = loadSync(protoFile, {
    keepCase: true,
    longs: Number,
    enums: String,
    defaults: true,
    arrays: true,
    objects: true,
  })
  let node: unknown = loadPackageDefinition(definition)
  for (const part of ['evidence', 'search', 'v1', 'SearchNode']) node = (node as Record<string, unknown>)[part]
  return node as ServiceClientConstructor
}
const SearchNodeConstructor = constructor()
export const searchNodeService: ServiceDefinition = SearchNodeConstructor.service

/** One channel to one search node. Every call takes a deadline; a call without one could hang for good. */
export interface SearchNodeClient {
  readonly address: string
  call<M extends keyof Methods>(
    method: M,
    request: Methods[M]['request'],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Methods[M]['reply']>
  close(): void
}

export function connectSearchNode(address: string, channelCredentials: ChannelCredentials): SearchNodeClient {
  const client: Client = new SearchNodeConstructor(address, channelCredentials, {
    'grpc.max_receive_message_length': BOUNDS.grpcMessageBytesMax,
    // Books about every call that nobody reads.
    'grpc.enable_channelz': 0,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2_000,
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 5_000,
    'grpc.use_local_subchannel_pool': 1,
  })
  return {
    address,
    call: (method, request, timeoutMs, signal) =>
      new Promise((resolve, reject) => {
        const path = searchNodeService[method]
        if (path === undefined) throw new Error(`the proto names no method ${method}`)
        const call: ClientUnaryCall = client.makeUnaryRequest(
          path.path,
          path.requestSerialize,
          path.responseDeserialize,
          request,
          new Metadata(),
          { deadline: Date.now() + timeoutMs },
          (error, reply?: Methods[typeof method]['reply']) => {
            signal?.removeEventListener('abort', cancel)
            if (error !== null || reply === undefined) reject(error ?? new Error('the search node sent nothing'))
            else resolve(reply)
          },
        )
        const cancel = (): void => call.cancel()
        if (signal?.aborted === true) call.cancel()
        else signal?.addEventListener('abort', cancel, { once: true })
      }),
    close: () => client.close(),
  }
}

export function isGrpcError(error: unknown): error is GrpcError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code in status
}
