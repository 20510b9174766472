import { Buffer } from 'node:buffer'
import { STATUS_CODES, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyTypeProvider } from 'fastify'
import type { z } from 'zod'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { ClockCheck } from '#core/limits/clock-check.ts'
import { ServiceError, toServiceError } from '#core/platform/errors.ts'
import { activeSpan, parseTraceparent, startSpan, type TraceSpan } from '#core/platform/tracing.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Outages } from './outages.ts'
import { openApiDocument } from './openapi.ts'
import { ownMs, type GatewayMetrics } from './metrics.ts'
import { createIds, createRequestContext, type RequestContext } from './retrieve/request-context.ts'
import { identify, readRequest, refusal, retrieve, type Finished, type PipelineDeps } from './retrieve/pipeline.ts'
import { errorReply, idHeaders } from './retrieve/reply.ts'
import { detailsOf, invalid, retrievalRequestSchema } from './retrieve/schema.ts'

export interface AppDeps extends PipelineDeps {
  readonly lifecycle: Lifecycle
  readonly metrics: GatewayMetrics
  readonly outages: Pick<Outages, 'finished'>
  readonly clock: Pick<ClockCheck, 'refusal'>
  readonly trustedProxies: readonly string[] | undefined
}

interface ZodTypes extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Of each request but that of the document. */
    exchange: RequestContext
  }
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
    // The only such error left is a path that cannot be decoded. A request without a body is complete a moment later.
    frameworkErrors: (_error, request, reply) => {
      const fault = begin(deps, request, reply) ?? new ServiceError('INVALID_REQUEST', { status: 404 })
      queueMicrotask(() => void send(deps, request, reply, refusal(request.exchange, fault)))
    },
  }).withTypeProvider<ZodTypes>()
  // Requests that Node would answer itself, or not at all, get the same error replies.
  app.server.on('checkExpectation', (incoming, outgoing) => app.server.emit('request', incoming, outgoing))
  app.server.on('connect', (_incoming, socket) =>
    refuseUnreadable(socket, new ServiceError('INVALID_REQUEST', { status: 404 })),
  )
  app.decorateRequest('exchange')
  app.setErrorHandler((error, request, reply) =>
    send(deps, request, reply, refusal(request.exchange, toServiceError(error))),
  )
  // Fastify reads the body of an unknown path before its handler of such paths.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) throw begin(deps, request, reply) ?? unknownRoute(request.url)
  })
  serveDocument(app)
  app.setValidatorCompiler<z.ZodType>(({ schema }) => (body) => {
    if (body instanceof ServiceError) return { error: body }
    const { data, error } = schema.safeParse(body)
    if (error === undefined) return { value: data }
    return { error: new ServiceError('INVALID_REQUEST', { details: detailsOf(error) }) }
  })
  // The validator refuses what is no body: Fastify would end the connection after a parser that fails.
  app.addContentTypeParser('application/json', ({ exchange }: FastifyRequest) =>
    activeSpan.run(exchange.span, () => readRequest(exchange)).catch(toServiceError),
  )
  app.post('/v1/retrieve', {
    schema: { body: retrievalRequestSchema },
    onRequest: async (request, reply) => {
      const fault = begin(deps, request, reply)
      if (fault !== undefined) throw fault
      await activeSpan.run(request.exchange.span, () => identify(deps, request.exchange))
      // The one parser checks the type as it was sent, after the size of the body.
      request.headers = { 'content-type': 'application/json' }
    },
    handler: async (request, reply) => {
      const { exchange, body } = request
      return send(deps, request, reply, await activeSpan.run(exchange.span, () => retrieve(deps, exchange, body)))
    },
  })
  return app
}

function serveDocument(app: Pick<FastifyInstance, 'get'>): void {
  const document = Buffer.from(JSON.stringify(openApiDocument()))
  app.get('/openapi.json', (_request, reply) =>
    reply
      .headers({ ...idHeaders(createIds().ids), 'cache-control': 'public, max-age=300' })
      .type('application/json; charset=utf-8')
      .send(document),
  )
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

/**
 * Begins an exchange under its deadline.
 * @returns what refuses it before any other work: the phase of the gateway or a fault of its headers.
 */
function begin(deps: AppDeps, request: FastifyRequest, reply: FastifyReply): ServiceError | undefined {
  const over = deps.lifecycle.begin()
  const ending = new AbortController()
  const deadline = setTimeout(() => ending.abort(), PLATFORM_BOUNDS.requestDeadlineMs)
  let callerGone = false
  reply.raw.once('close', () => {
    clearTimeout(deadline)
    callerGone = !reply.raw.writableFinished
    if (callerGone) ending.abort()
    if (callerGone) request.exchange.span?.fail('CALLER_GONE')
    request.exchange.span?.end()
    over()
  })
  request.exchange = createRequestContext(request.raw, request.ip, ending.signal, () => callerGone)
  request.exchange.span = spanOf(request)
  if (deps.lifecycle.phase() === 'refusing') return new ServiceError('INTERNAL_UNAVAILABLE')
  const clockFault = deps.clock.refusal()
  if (clockFault !== undefined) return new ServiceError('INTERNAL_UNAVAILABLE', { cause: new Error(clockFault) })
  return headerFault(request.raw)
}

/** A trace of its own: what the caller traces is linked, and never the parent. */
function spanOf({ method, headers, routeOptions: { url: route } }: FastifyRequest): TraceSpan | undefined {
  if (route === undefined) return undefined
  const attributes = { 'http.request.method': method, 'http.route': route, 'url.path': route, 'url.scheme': 'http' }
  return startSpan(`${method} ${route}`, { kind: 'SERVER', root: true, links: [headers['traceparent']], attributes })
}

/** Sends a reply, and tells and counts the outcome. */
function send(deps: AppDeps, request: FastifyRequest, reply: FastifyReply, finished: Finished): FastifyReply {
  const { exchange, raw } = request
  const { status, headers, body } = finished.reply
  if (deps.lifecycle.phase() !== 'serving' || !raw.complete) reply.header('connection', 'close')
  deps.metrics.finished(exchange, finished)
  tellFinished(deps, exchange, finished)
  const all = { ...headers, ...deps.outages.finished(exchange, finished) }
  return reply.code(status).headers(all).send(body)
}

/** Node takes the first of several, and a proxy may take another (RFC 9112, 3.2). */
const SENT_ONCE = ['Authorization', 'Host', 'Content-Type', 'Idempotency-Key'] as const

function headerFault({ headers, rawHeaders, httpVersion }: IncomingMessage): ServiceError | undefined {
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
  if (httpVersion === '2.0') return new ServiceError('INVALID_REQUEST')
  const { 'transfer-encoding': coding } = headers
  if (coding !== undefined && (httpVersion !== '1.1' || coding.toLowerCase() !== 'chunked'))
    return invalid('Transfer-Encoding', 'must be absent, or chunked in HTTP/1.1')
  if (headers.host === undefined && httpVersion === '1.1') return invalid('Host', 'must be sent')
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    return invalid('Expect', 'must be absent or 100-continue')
  if (headers['content-encoding'] !== undefined)
    return invalid('Content-Encoding', 'must be absent: send the body as it is')
  const browser = browserHeader(headers)
  if (browser !== undefined)
    return invalid(browser, 'must be absent: browsers send it, and keys are used only from servers')
  const repeated = SENT_ONCE.find((name) => names.filter((each) => each === name.toLowerCase()).length > 1)
  return repeated === undefined ? undefined : invalid(repeated, 'must be sent once')
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

function tellFinished(deps: AppDeps, context: RequestContext, { reply, error, decision }: Finished): void {
  const { timings, incoming } = context
  const { traceparent } = incoming.headers
  const fields = {
    request_id: context.ids.requestId,
    trace_id: context.ids.traceId,
    ...context.about,
    parent: parseTraceparent(traceparent) && String(traceparent),
    status: reply.status,
    code: error?.code,
    decision,
    total_ms: round(timings.totalMs()),
    own_ms: round(ownMs(timings)),
    stages: timings.stages.map(({ name }) => name).join(' '),
  }
  context.span?.set({
    'http.response.status_code': reply.status,
    'evidence.request_id': fields.request_id,
    'evidence.knowledge_base': fields.knowledge_base,
    'evidence.version_id': fields.version_id,
    'evidence.decision': decision,
    'evidence.code': error?.code,
  })
  if (error !== undefined && reply.status >= 500) context.span?.fail(error.code)
  if (error !== undefined && error.status === 503) deps.log.warn('request', fields, error.cause)
  else deps.log.info('request', fields)
}

const round = (ms: number): number => Math.round(ms * 100) / 100

/** Replies with an error of the catalogue to unreadable requests and to CONNECT, then closes the connection. */
function refuseUnreadable(socket: Duplex, error: ServiceError): void {
  if (!socket.writable) return void socket.destroy()
  const reply = errorReply(createIds().ids, error)
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
