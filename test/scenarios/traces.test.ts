import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { SPAN_ATTRIBUTES } from '#core/platform/tracing.ts'
import { STAGES } from '#gateway/retrieve/request-context.ts'
import { startTestProvider, type TestProvider } from '#test/support/embedding-endpoint.ts'
import { bodyOf, send, startJsonServer, type JsonServer } from '#test/support/json-server.ts'
import { ANSWERED_QUERY, startTestService, type TestService } from '#test/support/service.ts'
import { until } from '#test/support/until.ts'

const attributesSchema = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.union([z.string(), z.number()])) }))
  .transform((all) => Object.fromEntries(all.map(({ key, value }) => [key, Object.values(value)[0]])))
const spanSchema = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().default(''),
  name: z.string(),
  attributes: attributesSchema,
  links: z.array(z.object({ traceId: z.string(), spanId: z.string() })),
  events: z.array(z.unknown()).max(0),
})
const sentSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: attributesSchema }),
      scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })),
    }),
  ),
})
type Received = z.infer<typeof spanSchema> & { readonly process: unknown }

const received: Received[] = []
let bytes = ''
function receive(sent: unknown): void {
  bytes += JSON.stringify(sent)
  for (const { resource, scopeSpans } of sentSchema.parse(sent).resourceSpans)
    for (const span of scopeSpans.flatMap(({ spans }) => spans))
      received.push({ ...span, process: resource.attributes['service.name'] })
}

let collector: JsonServer
let provider: TestProvider
let service: TestService
beforeAll(async () => {
  collector = await startJsonServer((request, response) => {
    void bodyOf(request)
      .then(receive)
      .then(() => send(response, 200, {}))
  })
  provider = await startTestProvider()
  const environment = { ...provider.environment, OTEL_EXPORTER_OTLP_ENDPOINT: collector.baseUrl }
  service = await startTestService({ embedding: 'openai', environment })
})
afterAll(async () => {
  await service?.stop()
  await provider?.stop()
  await collector?.stop()
})

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const CANARY = 'fmqwx'
const ROOT = 'POST /v1/retrieve'
const CALL = `${ROOT} > search > evidence.search.v1.SearchNode/Search`

test('one request is one trace through gateway, search node and job worker, with its caller linked and nothing told', async () => {
  const caller = await service.createCaller()
  const headers = { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`, tracestate: `caller=${CANARY}` }
  const answer = await caller.ask({ query: `${ANSWERED_QUERY} ${CANARY}` }, { headers })
  const { request_id } = answer.retrieved()
  const { root, trace } = await until('its spans are there', (seen) => {
    seen(received.length)
    const first = received.find(({ attributes }) => attributes['evidence.request_id'] === request_id)
    const own = received.filter(({ traceId }) => traceId === first?.traceId)
    const processes = new Set(own.map((span) => span.process))
    return first !== undefined && processes.size === 3 && { root: first, trace: own }
  })
  const byId = new Map(trace.map((span) => [span.spanId, span]))
  const pathOf = ({ name, parentSpanId }: Received): string => {
    const parent = byId.get(parentSpanId)
    return parent === undefined ? `${parentSpanId}${name}` : `${pathOf(parent)} > ${name}`
  }
  expect(trace.map((span) => `${String(span.process)}: ${pathOf(span)}`)).toEqual(
    expect.arrayContaining([
      ...[ROOT, ...STAGES.map((stage) => `${ROOT} > ${stage}`)].map((path) => `evidence-gateway: ${path}`),
      `evidence-gateway: ${ROOT} > admit > admitRequest`,
      `evidence-gateway: ${ROOT} > admit > insert-reservations`,
      `evidence-gateway: ${ROOT} > embed > POST`,
      `evidence-gateway: ${CALL}`,
      `evidence-search-node: ${CALL} > evidence.search.v1.SearchNode/Search`,
      `evidence-search-node: ${CALL} > evidence.search.v1.SearchNode/Search > score`,
      `evidence-gateway: ${ROOT} > record > record-delivered`,
      `evidence-gateway: ${ROOT} > record > settleRequest`,
      `evidence-gateway: ${ROOT} > send ledger`,
      `evidence-jobs: ${ROOT} > send ledger > process ledger`,
      `evidence-jobs: ${ROOT} > send ledger > process ledger > append-ledger`,
    ]),
  )
  expect(root.links).toEqual([CALLER])
  expect(root.attributes).toMatchObject({ 'http.route': '/v1/retrieve', 'http.response.status_code': 200 })
  const names = received.flatMap(({ attributes }) => Object.keys(attributes))
  expect(names.filter((name) => !SPAN_ATTRIBUTES.has(name))).toEqual([])
  expect(received.filter(({ traceId }) => traceId === CALLER.traceId)).toEqual([])
  for (const secret of [CANARY, ANSWERED_QUERY, caller.key]) expect(bytes).not.toContain(secret)
  expect(provider.requests.filter(({ traceparent }) => traceparent !== undefined)).toEqual([])
})

test('a collector that is gone costs a line of the log and no request, and a gateway stops all the same', async () => {
  await collector.stop()
  const caller = await service.createCaller()
  expect((await caller.ask()).status).toBe(200)
  const [gateway] = service.gateways
  const linesOf = (): readonly string[] => readFileSync(gateway?.logFile ?? '', 'utf8').split('\n')
  await until('the gateway tells it', () => linesOf().some((line) => line.includes('"traces not sent"')))
  expect((await caller.ask()).status).toBe(200)
  expect(await gateway?.stop()).toBe(0)
})
