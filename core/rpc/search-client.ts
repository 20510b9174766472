import { Metadata, status } from '@grpc/grpc-js'
import type { ChannelCredentials, Client, ClientUnaryCall, ServiceError as GrpcError } from '@grpc/grpc-js'
import type { NodeStatus, PreparedVersion, SearchQuery, SearchResult, VersionRef } from '#core/domain/search.ts'
import { hostAndPort } from '#core/platform/config.ts'
import { traced, type SpanStart, type Traced } from '#core/platform/tracing.ts'
import { RPC_BOUNDS } from './bounds.ts'
import { SearchNodeConstructor, searchNodeService, type ReleaseVersionReply, type SearchRequest } from './messages.ts'

/** Fields that a node logs of a call, under these names in its metadata. */
export const CALL_FACTS = ['request_id', 'client_id', 'knowledge_base'] as const
export type CallFacts = Readonly<Partial<Record<(typeof CALL_FACTS)[number], string>>>

/** One channel to one search node. Every call has a deadline, because a call without one could hang forever. */
export type SearchNodeClient = ReturnType<typeof openSearchNodeClient>

/**
 * Returns at once; the channel connects at the first call. After a call that got no answer in time, further calls have a
 * channel of their own: a connection that the network forgot looks like a slow node until its keepalive ends.
 * @param address host:port, or name/IP:port: certificates are then for the name.
 */
export function openSearchNodeClient(address: string, channelCredentials: ChannelCredentials) {
  let channel = openChannel(address, channelCredentials)
  let renewedAtMs = Number.NEGATIVE_INFINITY
  let closed = false

  function renew(late: ReturnType<typeof openChannel>): void {
    const nowMs = performance.now()
    if (closed || late !== channel || nowMs - renewedAtMs < RPC_BOUNDS.grpcKeepaliveEveryMs) return
    renewedAtMs = nowMs
    channel = openChannel(address, channelCredentials)
    late.retire()
  }
  async function call<Reply>(method: string, request: object, ...options: CallOptions): Promise<Reply> {
    const used = closed ? openChannel(address, channelCredentials) : channel
    try {
      return await used.call<Reply>(method, request, ...options)
    } catch (error) {
      if (isGrpcError(error) && error.code === status.DEADLINE_EXCEEDED) renew(used)
      throw error
    } finally {
      if (closed) used.retire()
    }
  }
  return {
    address,
    /** @param about the request that this search is part of, for the log of the node. */
    search: (query: SearchQuery, timeoutMs: number, signal?: AbortSignal, about?: CallFacts) =>
      call<SearchResult>('Search', searchRequestOf(query), timeoutMs, signal, about),
    prepareVersion: (version: VersionRef, timeoutMs: number, signal?: AbortSignal) =>
      call<PreparedVersion>('PrepareVersion', version, timeoutMs, signal),
    /** @returns whether the version was loaded. */
    releaseVersion: async (versionId: string, timeoutMs: number) =>
      (await call<ReleaseVersionReply>('ReleaseVersion', { versionId }, timeoutMs)).wasLoaded,
    status: (timeoutMs: number) => call<NodeStatus>('GetStatus', {}, timeoutMs),
    /** Calls in flight end first. Whoever still asks, such as an evaluation, has a channel for each call. */
    close() {
      closed = true
      channel.retire()
    },
  }
}

type CallOptions = readonly [timeoutMs: number, signal?: AbortSignal | undefined, about?: CallFacts | undefined]

function openChannel(address: string, channelCredentials: ChannelCredentials) {
  const [name, resolved] = address.split('/', 2)
  const client: Client = new SearchNodeConstructor(resolved ?? address, channelCredentials, {
    ...(resolved === undefined ? {} : { 'grpc.ssl_target_name_override': name, 'grpc.default_authority': name }),
    'grpc.max_receive_message_length': RPC_BOUNDS.grpcMessageBytesMax,
    // Statistics of calls are not needed.
    'grpc.enable_channelz': 0,
    'grpc.initial_reconnect_backoff_ms': RPC_BOUNDS.grpcReconnectFirstMs,
    'grpc.max_reconnect_backoff_ms': RPC_BOUNDS.grpcReconnectMaxMs,
    'grpc.keepalive_time_ms': RPC_BOUNDS.grpcKeepaliveEveryMs,
    'grpc.keepalive_timeout_ms': RPC_BOUNDS.grpcKeepaliveTimeoutMs,
    'grpc.use_local_subchannel_pool': 1,
  })
  let calls = 0
  let retired = false
  return {
    async call<Reply>(method: string, request: object, ...options: CallOptions): Promise<Reply> {
      calls++
      try {
        return await callOn<Reply>(client, resolved ?? address, method, request, ...options)
      } finally {
        calls--
        if (retired && calls === 0) client.close()
      }
    },
    /** Closes it once its calls have ended. */
    retire() {
      retired = true
      if (calls === 0) client.close()
    },
  }
}

async function callOn<Reply>(
  client: Client,
  address: string,
  method: string,
  request: object,
  timeoutMs: number,
  signal?: AbortSignal,
  about: CallFacts = {},
): Promise<Reply> {
  const metadata = new Metadata()
  for (const name of CALL_FACTS) if (about[name] !== undefined) metadata.set(name, about[name])
  const definition = searchNodeService[method]
  if (definition === undefined) throw new Error(`the proto names no method ${method}`)
  return callSpan(definition.path, { kind: 'CLIENT' }, (span) => {
    if (span !== undefined) {
      const { host, port } = hostAndPort(address)
      span.set({ 'server.address': host, 'server.port': port })
      metadata.set('traceparent', span.traceparent)
    }
    return new Promise<Reply>((resolve, reject) => {
      const unaryCall: ClientUnaryCall = client.makeUnaryRequest(
        definition.path,
        definition.requestSerialize,
        definition.responseDeserialize,
        request,
        metadata,
        { deadline: Date.now() + timeoutMs },
        (error, reply?: Reply) => {
          signal?.removeEventListener('abort', cancel)
          if (error !== null || reply === undefined) reject(error ?? new Error('the search node sent nothing'))
          else resolve(reply)
        },
      )
      const cancel = (): void => unaryCall.cancel()
      if (signal?.aborted === true) unaryCall.cancel()
      else signal?.addEventListener('abort', cancel, { once: true })
    })
  })
}

/** One side of a call. @param path of the method, as gRPC has it. */
export function callSpan<T>(path: string, start: SpanStart, work: Traced<T>): Promise<T> {
  const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': path.slice(1) }
  return traced(path.slice(1), { ...start, attributes }, async (span) => {
    let code = status[status.OK]
    try {
      return await work(span)
    } catch (error) {
      const given = error instanceof Error && 'code' in error ? error.code : status.INTERNAL
      code = typeof given === 'number' ? (status[given] ?? 'UNKNOWN') : String(given)
      span?.fail(code)
      throw error
    } finally {
      span?.set({ 'rpc.status_code': code })
    }
  })
}

const NO_BYTES = Buffer.alloc(0)

/** Converts the project's own types to the messages of the proto; no other code on the client side does so. */
export function searchRequestOf({
  vector,
  text,
  rewritten = [],
  ranking,
  rowsOnly = false,
  onlyRows,
  withdrawn = [],
  entitled,
  projection,
  ...query
}: SearchQuery): SearchRequest {
  const { rowsScoredMin, ...rest } = ranking
  return {
    ...query,
    ...(entitled === query.filters ? {} : { entitled }),
    queryVector: bytesOf(vector),
    queryText: text,
    rewritten,
    ranking: { ...rest, expansion: rowsScoredMin },
    rowsOnly,
    onlyRows: bytesOf(onlyRows),
    withdrawn,
    projection: projection === undefined ? NO_BYTES : Buffer.from(projection, 'hex'),
  }
}

/** Returns the bytes without a copy. They are little-endian on every platform of Node. */
function bytesOf(view: Float32Array | Uint8Array | undefined): Buffer {
  return view === undefined ? NO_BYTES : Buffer.from(view.buffer, view.byteOffset, view.byteLength)
}

export function isGrpcError(error: unknown): error is GrpcError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code in status
}
