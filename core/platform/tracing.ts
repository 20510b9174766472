import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Span, SpanContext, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { PLATFORM_BOUNDS } from './bounds.ts'
import { baseUrl, optional, type ConfigOf, type Variable } from './config.ts'
import type { Log } from './log.ts'
import { RELEASE } from './release.ts'

/** OpenTelemetry traces. Its SDK is loaded where a collector is configured; elsewhere all this runs its work alone. */

export const TRACING_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: optional(baseUrl),
    help: 'base URL of an OpenTelemetry collector that takes JSON; without it and the next, nothing is traced',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: { schema: optional(baseUrl), help: 'the same for traces alone, with the path' },
} as const satisfies Record<string, Variable<unknown>>

/** All that a span may tell. Names without `evidence` are those of the semantic conventions. */
const ATTRIBUTES = {
  http: ['request.method', 'route', 'response.status_code'],
  url: ['scheme', 'path', 'full'],
  server: ['address', 'port'],
  rpc: ['system.name', 'method', 'status_code'],
  db: ['system.name', 'query.summary'],
  messaging: ['system.name', 'destination.name', 'operation.name', 'operation.type'],
  error: ['type'],
  evidence: ['request_id', 'knowledge_base', 'version_id', 'decision', 'code'],
} as const
type Names = typeof ATTRIBUTES
type Name = { [Group in keyof Names]: `${Group}.${Names[Group][number]}` }[keyof Names]
export type SpanAttributes = Readonly<Partial<Record<Name, string | number | undefined>>>
export const SPAN_ATTRIBUTES: ReadonlySet<string> = new Set(
  Object.entries(ATTRIBUTES).flatMap(([group, names]) => names.map((name) => `${group}.${name}`)),
)

export interface SpanStart {
  readonly kind?: keyof typeof SpanKind
  /** Begins a trace where it has no parent. Any other span exists only within one. */
  readonly root?: boolean
  /** As each link a `traceparent`. Absent: the span that runs now, but for a root. */
  readonly parent?: string | undefined
  readonly links?: readonly unknown[]
  readonly attributes?: SpanAttributes
}

export type TraceSpan = ReturnType<typeof traceSpan>
export type Traced<T> = (span?: TraceSpan) => Promise<T>

function traceSpan(span: Span, error: SpanStatusCode) {
  const context = span.spanContext()
  let failed = false
  return {
    context,
    /** Continues the trace elsewhere (W3C Trace Context). */
    traceparent: `00-${context.traceId}-${context.spanId}-0${context.traceFlags & 1}`,
    /** The only way of an attribute into a span: no query, key or word of a caller leaves by another. */
    set(attributes: SpanAttributes): void {
      for (const [key, value] of Object.entries(attributes))
        if (value !== undefined && SPAN_ATTRIBUTES.has(key)) span.setAttribute(key, value)
    },
    /** The first failure counts. @param type a code, never a message. */
    fail(type: string): void {
      if (!failed) span.setAttribute('error.type', type).setStatus({ code: error })
      failed = true
    },
    end: () => span.end(),
  }
}

export const activeSpan = new AsyncLocalStorage<TraceSpan | undefined>()
let sdk: Awaited<ReturnType<typeof load>> | undefined

export async function startTracing(service: string, config: ConfigOf<typeof TRACING_SETTINGS>, log: Log) {
  if ((config.OTEL_EXPORTER_OTLP_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) !== undefined)
    sdk = await load(service, log)
}

/** Sends what is left, within its bound. */
export async function stopTracing(): Promise<void> {
  if (sdk !== undefined) await Promise.race([sdk.close(), sleep(PLATFORM_BOUNDS.tracesCloseTimeoutMs)])
}

/** @returns undefined where nothing is traced. The caller ends it. */
export function startSpan(name: string, start: SpanStart): TraceSpan | undefined {
  if (sdk === undefined) return undefined
  const { kind = 'INTERNAL', root = false, parent, links = [], attributes = {} } = start
  const { SpanKind: kinds, SpanStatusCode: codes, trace, ROOT_CONTEXT, INVALID_SPAN_CONTEXT } = sdk.api
  const above = parent === undefined && !root ? activeSpan.getStore()?.context : parseTraceparent(parent)
  if (above === undefined && !root) return undefined
  const linked = links.flatMap((link) => parseTraceparent(link) ?? []).map((context) => ({ context }))
  const within = trace.setSpanContext(ROOT_CONTEXT, above ?? INVALID_SPAN_CONTEXT)
  const span = traceSpan(sdk.tracer.startSpan(name, { kind: kinds[kind], links: linked }, within), codes.ERROR)
  span.set(attributes)
  return span
}

/** Runs `work` in a span that ends with it; without one where nothing is traced. */
export function traced<T>(name: string, start: SpanStart, work: Traced<T>): Promise<T> {
  const span = startSpan(name, start)
  if (span === undefined) return work()
  return activeSpan.run(span, async () => {
    try {
      return await work(span)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      span.fail(typeof code === 'string' ? code : error instanceof Error ? error.name : 'Error')
      throw error
    } finally {
      span.end()
    }
  })
}

/** @param summary a constant of the code, such as the name of a statement. */
export function databaseCall<T>(system: 'postgresql' | 'redis', summary: string, call: () => Promise<T>): Promise<T> {
  const attributes = { 'db.system.name': system, 'db.query.summary': summary }
  return traced(summary, { kind: 'CLIENT', attributes }, call)
}

export function parseTraceparent(header: unknown): SpanContext | undefined {
  const form = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/
  const [, traceId, spanId, flags] = typeof header === 'string' ? (form.exec(header) ?? []) : []
  if (traceId === undefined || spanId === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags ?? '', 16), isRemote: true }
}

/** Bounds of the SDK hold: 2,048 spans wait, beyond which they are dropped; 512 are sent at once, for 10 s at most. */
async function load(service: string, log: Log) {
  const [api, sdkTrace, { OTLPTraceExporter }, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  const exporter = new OTLPTraceExporter()
  const send = exporter.export.bind(exporter)
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      if (result.error !== undefined) log.warn('traces not sent', { spans: spans.length }, result.error)
      done(result)
    })
  const own = resources.resourceFromAttributes({ 'service.name': `evidence-${service}`, 'service.version': RELEASE })
  const detectors = [resources.resourceAttributesEnvDetector, resources.serviceNameEnvDetector]
  const provider = new sdkTrace.TracerProvider({
    resource: own.merge(resources.detectResources({ detectors })),
    spanProcessors: [new sdkTrace.BatchSpanProcessor({ exporter })],
  })
  const close = (): Promise<void> => provider.shutdown().catch(() => undefined)
  return { api, tracer: provider.getTracer('evidence-retrieval-service', RELEASE), close }
}
