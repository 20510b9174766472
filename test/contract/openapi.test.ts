import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ABSTAINED_QUERY, ANSWERED_QUERY, KNOWLEDGE_BASE } from '#test/support/caller.ts'
import type { Answer } from '#test/support/http.ts'
import { dereferenced } from '#test/support/openapi-changes.ts'
import { asking } from '#test/support/embedding-faults.ts'
import { expectEventually } from '#test/support/until.ts'
import { OF_MIXED } from './mixed-corpus.ts'
import { baseUrl, createCaller, internalUrl } from './service.ts'

const jsonSchema = z.record(z.string(), z.unknown())
const mediaSchema = z.object({ 'application/json': z.object({ schema: jsonSchema }) })
const headerSchema = z.strictObject({ schema: jsonSchema, description: z.string() })
/** The parts of the document, with its references resolved, that are compared with what the service does. */
const documentSchema = z.object({
  paths: z.strictObject({
    '/v1/retrieve': z.strictObject({
      post: z.object({
        security: z.tuple([z.strictObject({ bearer: z.tuple([]) })]),
        parameters: z.array(
          z.object({ name: z.string(), in: z.literal('header'), required: z.boolean(), schema: jsonSchema }),
        ),
        requestBody: z.strictObject({ required: z.literal(true), content: mediaSchema }),
        responses: z.record(
          z.string().regex(/^\d{3}$/),
          z.strictObject({
            description: z.string(),
            headers: z.record(z.string(), headerSchema),
            content: mediaSchema,
          }),
        ),
      }),
    }),
  }),
  components: z.object({
    securitySchemes: z.strictObject({
      bearer: z.strictObject({ type: z.literal('http'), scheme: z.literal('bearer'), description: z.string() }),
    }),
  }),
})
type OpenApi = z.infer<typeof documentSchema>

let document: OpenApi
const replies: Answer[] = []
beforeAll(async () => {
  const described = await fetch(`${baseUrl}/openapi.json`)
  expect(described.headers.get('request-id')).toMatch(/^req_[0-9a-f-]{36}$/)
  expect(described.headers.get('traceparent')).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  const text: unknown = await described.json()
  document = documentSchema.parse(dereferenced(text))
  const caller = await createCaller({ ...OF_MIXED, limits: { requests_per_minute: 3 } })
  const once = { headers: { 'idempotency-key': 'one-and-the-same-key' } }
  replies.push(await caller.ask({}, once), await caller.ask({}, once), await caller.ask({ query: ABSTAINED_QUERY }))
  replies.push(await caller.ask({ query: asking('status-400', 'silt') }), await caller.ask())
  replies.push(
    await caller.ask({ top_k: 0 }),
    await caller.ask({}, { key: undefined }),
    await caller.ask({ filters: { language: ['de'] } }),
  )
  replies.push(await caller.ask({}, { path: '/' }), await caller.send(' '.repeat(16_385)))
  replies.push(await caller.send(undefined, { method: 'GET' }))
})

function operation(): OpenApi['paths']['/v1/retrieve']['post'] {
  return document.paths['/v1/retrieve'].post
}

function responseOf(status: number): OpenApi['paths']['/v1/retrieve']['post']['responses'][string] {
  const response = operation().responses[String(status)]
  if (response === undefined) throw new Error(`status ${status} is not in the document`)
  return response
}

const schemaOf = (content: z.infer<typeof mediaSchema>): z.ZodType =>
  z.fromJSONSchema(content['application/json'].schema)

describe('The OpenAPI 3.1 document', () => {
  test('describes the one operation and its bearer key', () => {
    expect(Object.keys(document.paths)).toEqual(['/v1/retrieve'])
    expect(document.components.securitySchemes.bearer.scheme).toBe('bearer')
  })

  test('lets replies have further fields, and requests none', () => {
    const closed = (content: z.infer<typeof mediaSchema>): boolean =>
      JSON.stringify(content).includes('"additionalProperties":false')
    expect(Object.values(operation().responses).map(({ content }) => closed(content))).not.toContain(true)
    expect(closed(operation().requestBody.content)).toBe(true)
  })

  test('lists every status that was observed and no other', () => {
    expect(new Set(replies.map(({ status }) => String(status)))).toEqual(new Set(Object.keys(operation().responses)))
  })

  test('every reply fits the schema of its status', () => {
    for (const { status, bytes } of replies) {
      const parsed = schemaOf(responseOf(status).content).safeParse(JSON.parse(bytes.toString()))
      expect([status, parsed.error?.issues]).toEqual([status, undefined])
    }
  })

  test('every header of the contract that was observed is listed, with a schema that its value fits', () => {
    const OF_THE_CONTRACT = [
      'request-id',
      'x-request-id',
      'traceparent',
      'allow',
      'www-authenticate',
      'cache-control',
      'ratelimit',
      'ratelimit-policy',
      'retry-after',
      'x-should-retry',
    ]
    const misfits = replies.flatMap(({ status, headers }) => {
      const listed = new Map(
        Object.entries(responseOf(status).headers).map(([name, header]) => [
          name.toLowerCase(),
          z.fromJSONSchema(header.schema),
        ]),
      )
      const observed = [...headers].filter(([name]) => OF_THE_CONTRACT.includes(name))
      return observed
        .filter(
          ([name, value]) =>
            listed.get(name)?.safeParse(name === 'retry-after' ? Number(value) : value).success !== true,
        )
        .map(([name]) => `${status} ${name}`)
    })
    expect(misfits).toEqual([])
  })

  test('every header documented for a status was sent with it, except Retry-After, which depends on the code', () => {
    const missing = replies.flatMap(({ status, headers }) => {
      const promised = Object.keys(responseOf(status).headers).filter((name) => name !== 'Retry-After')
      return promised.filter((name) => !headers.has(name)).map((name) => `${status} ${name}`)
    })
    expect(missing).toEqual([])
  })

  test('its request schema accepts what the service accepts and refuses what it refuses', () => {
    const schema = schemaOf(operation().requestBody.content)
    const good = { query: ANSWERED_QUERY, knowledge_base: KNOWLEDGE_BASE }
    const id = '00000000-0000-4000-8000-000000000000'
    for (const body of [
      good,
      { ...good, filters: { language: ['en'], jurisdiction: ['HS-M'], subject: ['conduct'] }, top_k: 100, profile: id },
      { ...good, profile: 'active' },
    ])
      expect(schema.safeParse(body).success).toBe(true)
    for (const wrong of [
      { query: 5 },
      { query: '' },
      { top_k: 0 },
      { top_k: 101 },
      { top_k: 1.5 },
      { profile: 'x' },
      { more: 1 },
      { filters: { more: ['x'] } },
      { filters: { language: [] } },
      { knowledge_base: undefined },
    ])
      expect([wrong, schema.safeParse(JSON.parse(JSON.stringify({ ...good, ...wrong }))).success]).toEqual([
        wrong,
        false,
      ])
  })

  test('it states the bounds of query, filter lists and Idempotency-Key', () => {
    const list = z.object({ type: z.literal('array'), minItems: z.literal(1), maxItems: z.literal(64) })
    const filters = z.object({ properties: z.object({ language: list, jurisdiction: list, subject: list }) })
    const query = z.object({ maxLength: z.literal(4_000) })
    const properties = z.object({ properties: z.object({ query, filters }) })
    expect(properties.safeParse(operation().requestBody.content['application/json'].schema).success).toBe(true)
    expect(operation().parameters).toEqual([
      expect.objectContaining({
        name: 'Idempotency-Key',
        in: 'header',
        required: false,
        schema: expect.objectContaining({ minLength: 16, maxLength: 128 }),
      }),
    ])
  })
})

describe('The internal port', () => {
  test('/livez answers while the process lives', async () => {
    expect((await fetch(`${internalUrl}/livez`)).status).toBe(200)
  })

  test('/readyz answers 200 with the state of Postgres, Redis and the search tier', async () => {
    const readiness = async (): Promise<readonly unknown[]> => {
      const response = await fetch(`${internalUrl}/readyz`)
      return [response.status, await response.json()]
    }
    const dependencies = {
      postgres: { state: 'up' },
      redis: { state: 'up' },
      search: { state: 'up' },
      models: { state: 'up' },
    }
    // On a busy machine a dependency may have answered its last check too late.
    // Other tests of the run may have made knowledge bases without a version, which it names.
    const ready: unknown = expect.objectContaining({ status: 'ready', faults: [], dependencies })
    await expectEventually(readiness, [200, ready])
  })

  test('/metrics counts requests by status, code and decision, and their stages', async () => {
    const caller = await createCaller()
    expect((await caller.ask({ query: ANSWERED_QUERY })).retrieved().abstention.decision).toBe('answer')
    expect((await caller.ask({}, { key: 'unknown' })).status).toBe(401)
    const text = await fetch(`${internalUrl}/metrics`).then((response) => response.text())
    expect(text).toMatch(/evidence_requests_total\{status="200",code="",decision="answer"\} \d+/)
    expect(text).toMatch(/evidence_requests_total\{status="401",code="INVALID_API_KEY",decision=""\} \d+/)
    expect(text).toMatch(/evidence_concurrent_requests\{state="limit"\} \d+/)
    for (const stage of ['authenticate', 'enter', 'admit', 'embed', 'search', 'record'])
      expect(text).toContain(`evidence_stage_seconds_count{stage="${stage}"}`)
  })
})
