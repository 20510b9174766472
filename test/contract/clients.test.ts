import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { EvidenceClient, type ClientOptions, type ErrorCode, type RetrievalRequest } from '#clients/typescript/index.ts'
import type * as Contract from '#clients/typescript/contract.ts'
import { openApiDocument } from '#gateway/openapi.ts'
import type {
  RetrievalRequest as Request,
  answerSchema,
  abstainSchema,
  errorDetailSchema,
} from '#gateway/retrieve/schema.ts'
import type { ErrorCode as ServiceErrorCode } from '#core/platform/errors.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import {
  ABSTAINED_QUERY,
  ANSWERED_QUERY,
  KNOWLEDGE_BASE,
  type Caller,
  type CallerOptions,
} from '#test/support/caller.ts'
import { installClient, runPython } from '#test/support/client-package.ts'
import { folderOfTest } from '#test/support/folder.ts'
import { startJsonServer } from '#test/support/json-server.ts'
import { baseUrl, createCaller } from './service.ts'

/** What a client made of one request, in the words of the TypeScript client. */
const outcomeSchema = z.object({
  decision: z.string().optional(),
  body: z.record(z.string(), z.unknown()).optional(),
  error: z.string().optional(),
  message: z.string().optional(),
  code: z.string().optional(),
  status: z.int().optional(),
  requestId: z.string().optional(),
  retryAfter: z.int().nullish(),
  reason: z.string().nullish(),
  originalRequestId: z.string().nullish(),
  idempotencyKey: z.string().optional(),
})
type Outcome = z.infer<typeof outcomeSchema>
type Ask = (options: ClientOptions, request: RetrievalRequest, idempotencyKey?: string) => Promise<Outcome>

async function askTypeScript(
  options: ClientOptions,
  request: RetrievalRequest,
  idempotencyKey?: string,
): Promise<Outcome> {
  const given = idempotencyKey === undefined ? {} : { idempotencyKey }
  try {
    const { decision, raw } = await new EvidenceClient(options).retrieve(request, given)
    return outcomeSchema.parse({ decision, body: JSON.parse(raw) })
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return outcomeSchema.parse({ ...error, error: error.constructor.name, message: error.message })
  }
}

const PYTHON = `
import json, sys
import evidence_retrieval as client
options, request, key = json.loads(sys.argv[1])
try:
    reply = client.EvidenceClient(**options).retrieve(**request, idempotency_key=key)
    told = {"decision": reply.decision, "body": json.loads(reply.raw)}
except client.EvidenceError as error:
    names = {"request_id": "requestId", "retry_after": "retryAfter", "original_request_id": "originalRequestId",
             "idempotency_key": "idempotencyKey"}
    told = {names.get(name, name): value for name, value in vars(error).items()}
    told.update({"error": type(error).__name__, "message": str(error)})
print(json.dumps(told))
`

async function askPython(options: ClientOptions, request: RetrievalRequest, idempotencyKey?: string): Promise<Outcome> {
  const { baseUrl: base_url, apiKey: api_key, timeoutMs = 30_000, retries = 2 } = options
  const given = [{ base_url, api_key, timeout: timeoutMs / 1_000, retries }, request, idempotencyKey ?? null]
  return outcomeSchema.parse(JSON.parse(await runPython(PYTHON, [JSON.stringify(given)])))
}

const withoutIds = (body: object): object => ({ ...body, request_id: '', trace_id: '' })

const asked = { query: ANSWERED_QUERY, knowledge_base: KNOWLEDGE_BASE }
const POSITIVE: readonly (readonly [string, Omit<RetrievalRequest, 'knowledge_base'>])[] = [
  ['an answer', asked],
  ['an abstention', { query: ABSTAINED_QUERY }],
  ['a provision that is not held', { query: 'What does COB-M 99.9 say?' }],
  ['every filter', { ...asked, filters: { language: ['en'], jurisdiction: ['HS-M'], subject: ['conduct'] } }],
  ['no filter', { ...asked, filters: {} }],
  ['the smallest top_k', { ...asked, top_k: 1 }],
  ['the largest top_k', { ...asked, top_k: 100 }],
  ['the active profile', { ...asked, profile: 'active' }],
  ['4,000 characters of four bytes', { query: '\u{1F30A}'.repeat(4_000) }],
]

let caller: Caller
beforeAll(async () => {
  caller = await createCaller()
})

describe.each([
  ['TypeScript', askTypeScript],
  ['Python', askPython],
] satisfies readonly (readonly [string, Ask])[])('The %s client', (language, ask) => {
  const askAs = async (wanted: CallerOptions, request: object = {}): Promise<Outcome> =>
    ask({ baseUrl, apiKey: (await createCaller(wanted)).key, retries: 0 }, { ...asked, ...request })

  test.each(POSITIVE)('gives the reply of the service: %s', async (_, request) => {
    const expected = (await caller.ask(request)).retrieved()
    const { decision, body = {} } = await ask(
      { baseUrl, apiKey: caller.key },
      { knowledge_base: KNOWLEDGE_BASE, ...request },
    )
    expect([decision, withoutIds(body)]).toEqual([expected.abstention.decision, withoutIds(expected)])
  })

  test('takes the id of a profile', async () => {
    const { retrieval_profile: profile } = (await caller.ask()).retrieved()
    const { body } = await ask({ baseUrl, apiKey: caller.key }, { ...asked, profile })
    expect(body).toMatchObject({ retrieval_profile: profile })
  })

  test('has an error for each code, with the id of the request and what is wrong', async () => {
    const refused = { requestId: expect.stringMatching(/^req_/), message: expect.stringMatching(/./) }
    expect(await askAs({}, { top_k: 0 })).toMatchObject({
      ...refused,
      error: 'InvalidRequest',
      status: 400,
      message: expect.stringContaining('/top_k must be'),
    })
    expect(await ask({ baseUrl, apiKey: 'erk_live_x' }, asked)).toMatchObject({ ...refused, error: 'InvalidApiKey' })
    expect(await askAs({ scopes: ['usage:read'] })).toMatchObject({ ...refused, error: 'ScopeForbidden' })
    expect(await askAs({ active: false })).toMatchObject({ ...refused, error: 'EntitlementInactive' })
    expect(await askAs({}, { filters: { language: ['xx'] } })).toMatchObject({
      ...refused,
      error: 'FilterForbidden',
      reason: 'not_entitled',
      message: expect.stringContaining('which holds: en'),
    })
  })

  test('tells a limit with its reason, and its wait where there is one', async () => {
    const { key } = await createCaller({ limits: { requests_per_minute: 1, requests_per_day: 1 } })
    const options = { baseUrl, apiKey: key, retries: 0 }
    expect(await ask(options, asked)).toMatchObject({ decision: 'answer' })
    expect(await ask(options, asked)).toMatchObject({ error: 'QuotaExhausted', reason: 'day' })
    const { key: quick } = await createCaller({ limits: { requests_per_minute: 1 } })
    await ask({ ...options, apiKey: quick }, asked)
    const limited = await ask({ ...options, apiKey: quick }, asked)
    expect(limited).toMatchObject({ error: 'RateLimited', reason: 'rate', retryAfter: expect.any(Number) })
  })

  test('does not send a 409 again, and names the first request', async () => {
    const key = `one-and-the-same-${language}`
    const first = await ask({ baseUrl, apiKey: caller.key }, asked, key)
    expect(await ask({ baseUrl, apiKey: caller.key }, asked, key)).toMatchObject({
      error: 'RequestAlreadyProcessed',
      reason: 'same_body',
      originalRequestId: first.body?.['request_id'],
    })
  })

  /** Asks a server that gives these replies in turn. @returns what came of it, and the keys that were sent. */
  async function askScripted(
    replies: readonly Reply[],
    timeoutMs = 30_000,
  ): Promise<readonly [Outcome, readonly unknown[]]> {
    const keys: unknown[] = []
    const server = await startJsonServer((request, response) => {
      const [status, body, headers] = replies[keys.push(request.headers['idempotency-key']) - 1] ?? HANGS
      if (status > 0 && request.url === '/v1/v1/retrieve') response.writeHead(status, headers).end(body)
    })
    await using ending = new AsyncDisposableStack()
    ending.defer(() => server.stop())
    return [await ask({ baseUrl: server.baseUrl, apiKey: 'key', timeoutMs }, asked), keys]
  }

  test('sends what is retryable again under the same key, after Retry-After', async () => {
    const answer = await caller.ask()
    const [outcome, keys] = await askScripted([unavailable(1), [200, answer.bytes.toString(), {}]])
    expect([outcome.decision, keys.length, new Set(keys).size]).toEqual(['answer', 2, 1])
  })

  test('gives up after its retries, and waits for no Retry-After beyond its bound', async () => {
    const [outcome, keys] = await askScripted([unavailable(1), unavailable(1), unavailable(1)])
    expect([outcome.error, keys.length]).toEqual(['RetrievalUnavailable', 3])
    const [late, sent] = await askScripted([unavailable(3_600)])
    expect([late.error, late.retryAfter, sent.length]).toEqual(['RetrievalUnavailable', 3_600, 1])
    const [{ error }, once] = await askScripted([unavailable(1, false)])
    expect([error, once.length]).toEqual(['RetrievalUnavailable', 1])
  })

  test('takes nothing but a reply of the service for one, and sends nothing of the kind again', async () => {
    const faulty = { abstention: { decision: 'answer' }, results: [] }
    for (const reply of [
      [502, '<html>', {}],
      [200, '{}', {}],
      [200, JSON.stringify(faulty), {}],
    ] as const) {
      const [{ error, status }, keys] = await askScripted([reply])
      expect([error, status, keys.length]).toEqual(['UnexpectedReply', reply[0], 1])
    }
  })

  test('a reply that does not come in time is lost with its key, and not asked for again', async () => {
    const [outcome, keys] = await askScripted([HANGS], 1_500)
    expect([outcome.error, keys]).toEqual(['NoReply', [outcome.idempotencyKey]])
    expect(outcome.message).toContain('no reply within 1')
  })

  test('a connection that is not made is tried again after a pause', async () => {
    const refusing = `http://127.0.0.1:${await freePort()}`
    const began = performance.now()
    expect(await ask({ baseUrl: refusing, apiKey: 'key', retries: 2 }, asked)).toMatchObject({ error: 'NotConnected' })
    expect(performance.now() - began).toBeGreaterThan(990)
  })
})

type Reply = readonly [status: number, body: string, headers: Readonly<Record<string, string>>]
const HANGS: Reply = [0, '', {}]
const unavailable = (seconds: number, retryable = true): Reply => {
  const error = { code: 'RETRIEVAL_UNAVAILABLE', message: 'away', retryable }
  return [503, JSON.stringify({ error, request_id: 'req_1', trace_id: 'ret_1' }), { 'retry-after': String(seconds) }]
}

/** Without `readonly`, and without `undefined` of what may be left out. */
type Plain<T> = T extends readonly (infer E)[]
  ? Plain<E>[]
  : T extends object
    ? { -readonly [K in keyof T]: Plain<Exclude<T[K], undefined>> }
    : T
type Filled<T> = T extends readonly (infer E)[]
  ? Filled<E>[]
  : T extends object
    ? { -readonly [K in keyof T]-?: Filled<Exclude<T[K], undefined>> }
    : T
/** A field that one type lacks shows where every field is there, an optional one where it is not. */
type Both<A, B> = [Plain<A>, Filled<A>, Plain<B>, Filled<B>]
type Same<A, B> = Both<A, B> extends Both<B, A> ? true : false

test('the types of the TypeScript client are those of the schemas', () => {
  const same: readonly true[] = [
    true satisfies Same<Contract.RetrievalRequest, Request>,
    true satisfies Same<Contract.Answer, z.infer<typeof answerSchema>>,
    true satisfies Same<Omit<Contract.Abstention, 'results'>, Omit<z.infer<typeof abstainSchema>, 'results'>>,
    true satisfies Same<Contract.ErrorDetail, z.infer<typeof errorDetailSchema>>,
    true satisfies Same<ErrorCode, ServiceErrorCode>,
  ]
  expect(same).not.toContain(false)
})

test('the types of the Python client are those of the schemas', async () => {
  const names = ['Result', 'Document', 'Citation', 'PassageMetadata', 'UnsupportedReference', 'Usage', 'ErrorDetail']
  const enums = ['Signal', 'UnsupportedReason', 'ErrorReason']
  const program = `
import json, sys, typing
import evidence_retrieval as client
names, enums = json.loads(sys.argv[1])
told = {name: sorted(typing.get_type_hints(getattr(client, name))) for name in names}
told.update({name: list(typing.get_args(getattr(client, name))) for name in enums})
print(json.dumps(told))
`
  const { schemas } = z
    .object({ components: z.object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) }) })
    .parse(openApiDocument()).components
  const fields = names.map((name) => [name, Object.keys(schemas[name]?.['properties'] ?? {}).sort()])
  const values = enums.map((name) => [name, schemas[name]?.['enum']])
  expect(JSON.parse(await runPython(program, [JSON.stringify([names, enums])]))).toEqual(
    Object.fromEntries([...fields, ...values]),
  )
})

describe('The lines of the README run', () => {
  const block = (client: string, language: string): string => {
    const text = readFileSync(new URL(`../../clients/${client}/README.md`, import.meta.url), 'utf8')
    return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(text)?.[1] ?? ''
  }
  const environment = (): Readonly<Record<string, string>> => ({ EVIDENCE_URL: baseUrl, EVIDENCE_API_KEY: caller.key })

  test('of the TypeScript client, typed and against the package that npm pack makes', async () => {
    const folder = folderOfTest()
    await installClient(folder)
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'ask.ts'), block('typescript', 'ts'))
    const run = promisify(execFile)
    const root = fileURLToPath(new URL('../../', import.meta.url))
    const types = ['--noEmit', '--strict', '--module', 'nodenext', '--types', 'node', '--typeRoots']
    await run(join(root, 'node_modules/.bin/tsc'), [...types, join(root, 'node_modules/@types'), 'ask.ts'], {
      cwd: folder,
    })
    const { stdout } = await run(process.execPath, ['ask.ts'], { cwd: folder, env: environment() })
    expect(stdout).toMatch(/^COB-M 2\.1: /)
  })

  test('of the Python client', async () => {
    expect(await runPython(block('python', 'python'), [], environment())).toMatch(/^COB-M 2\.1: /)
  })
})
