import { Server, status } from '@grpc/grpc-js'
import type { Metadata, ServerCredentials, ServerUnaryCall, ServiceDefinition, sendUnaryData } from '@grpc/grpc-js'
import { HealthImplementation } from 'grpc-health-check'
import { RPC_BOUNDS } from '#core/rpc/bounds.ts'
import type { Log, LogFields } from '#core/platform/log.ts'
import { traced } from '#core/platform/tracing.ts'
import { searchNodeService } from '#core/rpc/messages.ts'
import { CALL_FACTS, callSpan, type CallFacts } from '#core/rpc/search-client.ts'
import type { NodeStatus, PreparedVersion } from '#core/domain/search.ts'
import { SEARCH_NODE_BOUNDS } from './bounds.ts'
import type { NodeMetrics } from './metrics.ts'
import { NodeError, type CallDeadline } from './node-error.ts'
import type { SearchPool } from './threads/pool.ts'
import { assertDimensions, parsePrepare, parseRelease, parseSearch } from './wire.ts'
import type { Versions } from './versions.ts'

const SERVICE_NAME = 'evidence.search.v1.SearchNode'

export interface ServerDependencies {
  readonly metrics: NodeMetrics
  readonly pool: SearchPool
  readonly versions: Versions
  readonly log: Log
}

export type SearchServer = ReturnType<typeof createServer>

export function createServer({ pool, versions, metrics, log }: ServerDependencies) {
  const server = new Server({
    'grpc.max_receive_message_length': RPC_BOUNDS.grpcMessageBytesMax,
    'grpc.max_send_message_length': RPC_BOUNDS.grpcMessageBytesMax,
    // Statistics about every call, which are not used.
    'grpc.enable_channelz': 0,
    // Clients resolve addresses anew only when their connection ends.
    'grpc.max_connection_age_ms': RPC_BOUNDS.grpcConnectionAgeMs,
    // The connection may carry a call that loads a version, which takes longer than any search.
    'grpc.max_connection_age_grace_ms': RPC_BOUNDS.prepareTimeoutMs,
  })
  const health = createHealth(server)

  async function prepare(request: unknown): Promise<PreparedVersion> {
    const { versionId, manifestDigest, verify } = parsePrepare(request)
    const startedMs = performance.now()
    const { alreadyLoaded, passages } = await versions.prepare(versionId, manifestDigest, { verify })
    if (!alreadyLoaded)
      log.info('version loaded', {
        version_id: versionId,
        passages,
        took_ms: Math.round(performance.now() - startedMs),
      })
    return { alreadyLoaded, passages }
  }
  async function release(request: unknown): Promise<{ readonly wasLoaded: boolean }> {
    const versionId = parseRelease(request)
    const wasLoaded = await versions.release(versionId)
    if (wasLoaded) log.info('version released', { version_id: versionId })
    return { wasLoaded }
  }
  async function getStatus(): Promise<NodeStatus> {
    return {
      loaded: versions.status(),
      threads: pool.threads,
      queued: pool.queued,
      queueMax: pool.queueMax,
      damaged: versions.damaged,
    }
  }

  server.addService(withEncodedReplies(searchNodeService), {
    Search: unary(log, (request, deadline, about) =>
      search({ pool, versions, metrics, log }, request, deadline, about),
    ),
    PrepareVersion: unary(log, prepare),
    ReleaseVersion: unary(log, release),
    GetStatus: unary(log, getStatus),
  })
  return {
    /** @returns the port. */
    listen: (address: string, credentials: ServerCredentials): Promise<number> =>
      new Promise((resolve, reject) =>
        server.bindAsync(address, credentials, (error, port) => (error === null ? resolve(port) : reject(error))),
      ),
    ...health,
    /** Accepts no new call and waits at most `timeoutMs` for calls in flight. */
    close: (timeoutMs: number) => shutDown(server, timeoutMs),
  }
}

function createHealth(server: Server) {
  const health = new HealthImplementation({ '': 'NOT_SERVING', [SERVICE_NAME]: 'NOT_SERVING' })
  health.addToServer(server)
  let stopping = false
  function setAll(state: 'SERVING' | 'NOT_SERVING'): void {
    for (const name of ['', SERVICE_NAME]) health.setStatus(name, state)
  }
  return {
    /** Health reports SERVING from now on, unless the server stops. */
    serve() {
      if (!stopping) setAll('SERVING')
    },
    setServed: (versionId: string, isServed: boolean) =>
      health.setStatus(versionId, isServed ? 'SERVING' : 'NOT_SERVING'),
    /** Health reports NOT_SERVING from now on; calls are still answered. */
    stopServing() {
      stopping = true
      setAll('NOT_SERVING')
    },
  }
}

/** A search that reads altered bytes fails, and the version is unloaded. */
async function search(
  { pool, versions, metrics, log }: ServerDependencies,
  request: unknown,
  deadline: CallDeadline,
  about: CallFacts,
): Promise<Uint8Array> {
  const { versionId, projection, ...input } = parseSearch(request)
  const beganMs = performance.now()
  const lease = versions.borrow(versionId, projection)
  let code = 'OK'
  try {
    if (input.vector !== undefined) assertDimensions(input.vector, lease.artifact.vectors?.dimensions)
    return await traced('score', {}, () => pool.search({ versionId, input }, deadline))
  } catch (error) {
    code = error instanceof NodeError ? error.code : 'INTERNAL'
    if (error instanceof NodeError && error.code === 'DATA_LOSS') versions.unloadDamaged(lease.artifact, error.message)
    throw error
  } finally {
    lease.release()
    metrics.searched(versionId, code, performance.now() - beganMs)
    // Evaluations ask without a request.
    if (about.request_id !== undefined)
      log.info('search', { ...about, version_id: versionId, ms: Math.round((performance.now() - beganMs) * 100) / 100 })
  }
}

/** What the caller says of the request that a call is part of. */
function factsOf(metadata: Metadata): CallFacts {
  return Object.fromEntries(
    CALL_FACTS.flatMap((name) => {
      const [value] = metadata.get(name)
      return typeof value === 'string' ? [[name, value.slice(0, SEARCH_NODE_BOUNDS.callFactCharactersMax)]] : []
    }),
  )
}

/** The reply of a search is already encoded by its scoring thread. */
function withEncodedReplies(service: ServiceDefinition): ServiceDefinition {
  const { Search: method, ...others } = service
  if (method === undefined) throw new Error('the proto names no method Search')
  return {
    ...others,
    Search: {
      ...method,
      responseSerialize: (reply: Uint8Array) => Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength),
    },
  }
}

function unary<Reply>(
  log: Log,
  handle: (request: unknown, deadline: CallDeadline, about: CallFacts) => Promise<Reply>,
): (call: ServerUnaryCall<unknown, Reply>, reply: sendUnaryData<Reply>) => void {
  return (call, reply) => {
    const gone = new AbortController()
    let answered = false
    // grpc-js emits "cancelled" at the end of every call, answered or not.
    call.on('cancelled', () => {
      if (!answered) gone.abort()
    })
    async function respond(): Promise<void> {
      const about = factsOf(call.metadata)
      const deadline = { deadlineMs: Number(call.getDeadline()), signal: gone.signal }
      const [parent = ''] = call.metadata.get('traceparent').map(String)
      const run = (): Promise<Reply> => handle(call.request, deadline, about)
      const outcome = await callSpan(call.getPath(), { kind: 'SERVER', parent }, run).then(
        (message) => ({ message }),
        (error: unknown) => ({ failure: toStatus(error, log, { method: call.getPath(), ...about }) }),
      )
      answered = true
      if ('message' in outcome) reply(null, outcome.message)
      else reply(outcome.failure)
    }
    void respond()
  }
}

function toStatus(error: unknown, log: Log, fields: LogFields): { code: status; details: string } {
  if (error instanceof NodeError) {
    if (error.code === 'DATA_LOSS') log.error('artifact refused', { ...fields, reason: error.message }, error.cause)
    return { code: status[error.code], details: error.message }
  }
  log.error('call failed', fields, error)
  return { code: status.INTERNAL, details: 'The search node failed; ask another node.' }
}

function shutDown(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown()
      resolve()
    }, timeoutMs)
    server.tryShutdown(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
