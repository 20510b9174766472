import { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { ServiceError, toServiceError } from '#core/platform/errors.ts'
import { publicRequestId, publicTraceId } from '#core/platform/ids.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import type { Lifecycle } from './lifecycle.ts'
import { openApiDocument } from './openapi.ts'
import { ownMs } from './metrics.ts'
import type { GatewayMetrics } from './metrics.ts'
import { createRequestContext } from './retrieve/request-context.ts'
import type { RequestContext } from './retrieve/request-context.ts'
import { retrieve } from './retrieve/pipeline.ts'
import type { Finished, PipelineDeps } from './retrieve/pipeline.ts'
import { errorReply, idHeaders } from './retrieve/reply.ts'
import type { PublicIds } from './retrieve/reply.ts'

export interface AppDeps extends PipelineDeps {
  readonly lifecycle: Lifecycle
  readonly metrics: GatewayMetrics
  readonly trustedProxies: readonly string[] | undefined
}

/** The public application: one operation; everything else gets an error reply of the same form. */
export function createApp(deps: AppDeps): FastifyInstance {
  const app = Fastify({
    logger: false,
    trustProxy: deps.trustedProxies === undefined ? false : [...deps.trustedProxies],
    requestTimeout: PLATFORM_BOUNDS.hardDeadlineMs,
    connectionTimeout: PLATFORM_BOUNDS.hardDeadlineMs * 2,
    keepAliveTimeout: GATEWAY_BOUNDS.keepAliveTimeoutMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // A missing Host is refused below with an error of the catalogue; Node's own reply has no body.
    http: { maxHeaderSize: GATEWAY_BOUNDS.headerBytesMax, requireHostHeader: false },
    clientErrorHandler: (_error, socket) => refuseUnreadable(socket, new ServiceError('INVALID_REQUEST')),
    // The only such error left is a path that cannot be decoded.
    frameworkErrors: (_error, request, reply) =>
      void answer(deps, request, reply, refuse(new ServiceError('INVALID_REQUEST', { status: 404 }))),
  })
  // Requests that Node would answer itself, or not at all, get the same error replies.
  app.server.on('checkExpectation', (incoming, outgoing) => app.server.emit('request', incoming, outgoing))
  app.server.on('connect', (_incoming, socket) =>
    refuseUnreadable(socket, new ServiceError('INVALID_REQUEST', { status: 404 })),
  )
  // The hook replies before Fastify reads the body. The stage `parse` reads it, after authentication.
  app.route({
    method: 'POST',
    url: '/v1/retrieve',
    onRequest: (request: FastifyRequest, reply: FastifyReply) =>
      answer(deps, request, reply, (context) => retrieve(deps, context)),
    handler: () => undefined,
  })
  const document = Buffer.from(JSON.stringify(openApiDocument()))
  app.get('/openapi.json', (_request, reply) =>
    reply
      .headers({ ...idHeaders(newIds()), 'cache-control': 'public, max-age=300' })
      .type('application/json; charset=utf-8')
      .send(document),
  )
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) await answer(deps, request, reply, refuse(unknownRoute(request.url)))
  })
  app.setErrorHandler((error, request, reply) => answer(deps, request, reply, refuse(toServiceError(error))))
  return app
}

/** Methods of the paths that exist. */
const METHODS = new Map([
  ['/v1/retrieve', 'POST'],
  ['/openapi.json', 'GET, HEAD'],
])

function unknownRoute(url: string): ServiceError {
  const allow = METHODS.get(url.split('?', 1)[0] ?? '')
  return allow === undefined
    ? new ServiceError('INVALID_REQUEST', { status: 404 })
    : new ServiceError('INVALID_REQUEST', { status: 405, allow })
}

type Work = (context: RequestContext) => Promise<Finished>

function refuse(error: ServiceError): Work {
  return async (context) => ({ reply: errorReply(publicIds(context), error, undefined), error, decision: undefined })
}

/** Of a reply that no request context belongs to. */
function newIds(): PublicIds {
  return { requestId: publicRequestId(randomUUID()), traceId: publicTraceId(randomUUID()) }
}

function publicIds(context: RequestContext): PublicIds {
  return { requestId: publicRequestId(context.requestId), traceId: publicTraceId(context.traceId) }
}

/** Runs one request under its deadline, sends its reply and logs the outcome. */
async function answer(deps: AppDeps, request: FastifyRequest, reply: FastifyReply, work: Work): Promise<FastifyReply> {
  const over = deps.lifecycle.begin()
  const ending = new AbortController()
  const deadline = setTimeout(() => ending.abort(), PLATFORM_BOUNDS.requestDeadlineMs)
  let callerGone = false
  const onClose = (): void => {
    clearTimeout(deadline)
    callerGone = !reply.raw.writableFinished
    if (callerGone) ending.abort()
    over()
  }
  reply.raw.once('close', onClose)
  const context = createRequestContext(request.raw, request.ip, ending.signal, () => callerGone)
  const finished = await admissible(deps, context, work)
  if (deps.lifecycle.phase() !== 'serving' || !request.raw.complete) reply.header('connection', 'close')
  deps.metrics.finished(context, finished)
  logFinished(deps, context, finished)
  return reply.code(finished.reply.status).headers(finished.reply.headers).send(finished.reply.body)
}

/** Checks the lifecycle phase and the headers first; a fault there is answered before any other work. */
async function admissible(deps: AppDeps, context: RequestContext, work: Work): Promise<Finished> {
  if (deps.lifecycle.phase() === 'refusing') return refuse(new ServiceError('INTERNAL_UNAVAILABLE'))(context)
  const { headers, rawHeaders } = context.incoming
  const authorizations = rawHeaders.filter(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization',
  ).length
  if (headers.host === undefined && context.incoming.httpVersion === '1.1')
    return refuse(headerFault('Host', 'must be sent'))(context)
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    return refuse(headerFault('Expect', 'must be absent or 100-continue'))(context)
  if (headers['content-encoding'] !== undefined)
    return refuse(headerFault('Content-Encoding', 'must be absent: send the body as it is'))(context)
  const browser = browserHeader(headers)
  if (browser !== undefined)
    return refuse(headerFault(browser, 'must be absent: browsers send it, and keys are used only from servers'))(
      context,
    )
  if (authorizations > 1) return refuse(headerFault('Authorization', 'must be sent once'))(context)
  return work(context)
}

/**
 * A browser sends Origin with every POST, and Sec-Fetch-Site. `Sec-Fetch-Mode: cors` by itself comes from servers too:
 * the fetch of Node sends it.
 */
function browserHeader(headers: IncomingHttpHeaders): string | undefined {
  if (headers.origin !== undefined) return 'Origin'
  if (headers['sec-fetch-site'] !== undefined) return 'Sec-Fetch-Site'
  return (headers['sec-fetch-mode'] ?? 'cors') === 'cors' ? undefined : 'Sec-Fetch-Mode'
}

function headerFault(path: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { details: [{ path, message }] })
}

function logFinished(deps: AppDeps, context: RequestContext, { reply, error, decision }: Finished): void {
  const { timings } = context
  const fields = {
    request_id: publicRequestId(context.requestId),
    trace_id: publicTraceId(context.traceId),
    ...context.about,
    parent: traceParent(context),
    status: reply.status,
    code: error?.code,
    decision,
    total_ms: round(timings.totalMs()),
    own_ms: round(ownMs(timings)),
    stages: timings.stages.map(({ name }) => name).join(' '),
  }
  if (error !== undefined && error.status === 503) deps.log.warn('request', fields, error.cause)
  else deps.log.info('request', fields)
}

const round = (ms: number): number => Math.round(ms * 100) / 100

/** A valid W3C traceparent is logged as a link; it never becomes an id of this service. */
function traceParent(context: RequestContext): string | undefined {
  const header = context.incoming.headers['traceparent']
  return typeof header === 'string' && /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(header)
    ? header
    : undefined
}

/** Replies with an error of the catalogue to unreadable requests and to CONNECT, then closes the connection. */
function refuseUnreadable(socket: Duplex, error: ServiceError): void {
  if (!socket.writable) return void socket.destroy()
  const reply = errorReply(newIds(), error, undefined)
  const headers = Object.entries({ ...reply.headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.end(
    Buffer.concat([
      Buffer.from(`HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n${headers.join('')}\r\n`),
      reply.body,
    ]),
  )
}
