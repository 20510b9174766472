import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { retrievalRequestSchema } from '#gateway/retrieve/schema.ts'
import { KNOWLEDGE_BASE, type Caller } from '#test/support/caller.ts'
import { LONG_TOPIC, MIXED_KNOWLEDGE_BASE } from './mixed-corpus.ts'
import { showingProfile } from './profiles.ts'
import { createCaller } from './service.ts'

// A failure prints its seed and path; FC_SEED=<seed> repeats the run.
const RUNS = 60
const BODY_BYTES_MAX = 16_384

let caller: Caller
let ofMixed: Caller
let showing: string
beforeAll(async () => {
  caller = await createCaller({ limits: { max_top_k: 100, max_response_bytes: 2_000_000 } })
  ofMixed = await createCaller({
    knowledgeBase: MIXED_KNOWLEDGE_BASE,
    languages: ['en', 'fr'],
    jurisdictions: ['XA'],
    limits: { max_top_k: 100, max_response_bytes: 42_000 },
  })
  showing = await showingProfile(ofMixed)
})

/** Text of one to four bytes a character, never blank. */
const words = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 200 })
  .filter((text) => text.trim() !== '' && !text.includes('\0') && text.isWellFormed())

const goodRequest = fc.record(
  {
    query: fc.oneof(
      words,
      words.map((text) => `cancel a distance contract ${text}`),
    ),
    knowledge_base: fc.constant(KNOWLEDGE_BASE),
    filters: fc.record(
      {
        language: fc.uniqueArray(fc.constantFrom('en', 'EN', 'En'), { minLength: 1 }),
        jurisdiction: fc.uniqueArray(fc.constantFrom('HS-M', 'hs-m', 'HS-F'), { minLength: 1 }),
        subject: fc.uniqueArray(fc.constantFrom('conduct', 'prudential', 'financial-crime', 'data-protection'), {
          minLength: 1,
        }),
      },
      { requiredKeys: [] },
    ),
    top_k: fc.integer({ min: 1, max: 100 }),
    profile: fc.constant('active'),
  },
  { requiredKeys: ['query', 'knowledge_base'] },
)

describe('Request schema, over HTTP', () => {
  test('every request within the schema and the entitlement is served, within its filters and its top_k', async () => {
    await fc.assert(
      fc.asyncProperty(goodRequest, async (request) => {
        const { results } = (await caller.ask(request)).retrieved()
        expect(results.length).toBeLessThanOrEqual(request.top_k ?? 100)
        const jurisdictions = (request.filters?.jurisdiction ?? ['HS-M', 'HS-F']).map((code) => code.toUpperCase())
        for (const { metadata } of results) expect(jurisdictions).toContain(metadata.jurisdiction)
      }),
      { numRuns: RUNS },
    )
  })

  test('any JSON value that is not a request is a 400 INVALID_REQUEST', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        fc.pre(!retrievalRequestSchema.safeParse(value).success)
        const answer = await caller.send(value)
        expect([answer.status, answer.error().error.code]).toEqual([400, 'INVALID_REQUEST'])
      }),
      { numRuns: RUNS },
    )
  })

  test('a request with one field spoilt is 400 at that field, and what it held is not repeated', async () => {
    const marker = fc.stringMatching(/^zq[a-z]{12}$/)
    const spoilt = fc
      .tuple(marker, fc.constantFrom('query', 'knowledge_base', 'top_k', 'profile', 'filters'))
      .map(([mark, field]) => {
        const values: Record<string, unknown> = {
          query: [mark],
          knowledge_base: { [mark]: mark },
          top_k: mark,
          profile: mark,
          filters: { language: mark },
        }
        return { mark, field, body: { [field]: values[field] } }
      })
    await fc.assert(
      fc.asyncProperty(spoilt, async ({ mark, field, body }) => {
        const answer = await caller.ask(body)
        expect([answer.status, answer.error().error.details?.map(({ path }) => path)]).toEqual([
          400,
          [field === 'filters' ? '/filters/language' : `/${field}`],
        ])
        expect(`${answer.bytes.toString()}${JSON.stringify([...answer.headers])}`).not.toContain(mark)
      }),
      { numRuns: RUNS },
    )
  })

  test('random bytes as a body are 400 or, past the limit, 413; never a 5xx', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 20_000, size: 'max' }), fc.boolean(), async (bytes, chunked) => {
        const answer = await (chunked ? caller.send(undefined, { chunks: [bytes] }) : caller.send(bytes))
        expect(answer.status).toBe(bytes.length > BODY_BYTES_MAX ? 413 : 400)
      }),
      { numRuns: RUNS },
    )
  })

  test('header values of any kind never lead past the catalogue', async () => {
    const value = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      maxLength: 300,
    })
    const name = fc.constantFrom(
      'authorization',
      'content-type',
      'idempotency-key',
      'traceparent',
      'accept',
      'x-forwarded-for',
      'cookie',
      'origin',
      'range',
      'if-none-match',
    )
    await fc.assert(
      fc.asyncProperty(name, value, async (header, text) => {
        expect((await caller.ask({}, { headers: { [header]: text } })).status).toBeLessThan(500)
      }),
      { numRuns: RUNS },
    )
  })
})

describe('Byte bounds, over HTTP', () => {
  test('the body limit counts bytes of UTF-8: one more than 16,384 is 413, whatever the characters are', async () => {
    const filler = fc.constantFrom('a', 'é', '€', '\u{1F30A}')
    await fc.assert(
      fc.asyncProperty(filler, fc.integer({ min: -8, max: 8 }), fc.boolean(), async (character, over, chunked) => {
        const wanted = BODY_BYTES_MAX + over
        const frame = Buffer.byteLength(JSON.stringify({ query: '', knowledge_base: KNOWLEDGE_BASE }))
        const query = character.repeat(Math.floor((wanted - frame) / Buffer.byteLength(character)))
        const text = JSON.stringify({ query, knowledge_base: KNOWLEDGE_BASE })
        const body = Buffer.concat([Buffer.from(text), Buffer.alloc(wanted - Buffer.byteLength(text), 0x20)])
        const answer = await (chunked
          ? caller.send(undefined, { chunks: [body.subarray(0, 7_001), body.subarray(7_001)] })
          : caller.send(body))
        const fits = [...query].length <= 4_000 ? 200 : 400
        expect(answer.status).toBe(over > 0 ? 413 : fits)
      }),
      { numRuns: RUNS },
    )
  })

  test(
    'a reply of passages of several bytes a character is never larger than the bound of the plan, and ' +
      'states its exact length',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 100 }), words, async (topK, text) => {
          const answer = await ofMixed.ask({ query: `${LONG_TOPIC} ${text}`, top_k: topK, profile: showing })
          expect(answer.bytes.length).toBeLessThanOrEqual(42_000)
          const { usage, results } = answer.retrieved()
          expect([usage.response_bytes, usage.result_count]).toEqual([answer.bytes.length, results.length])
          expect(JSON.parse(answer.bytes.toString('utf8'))).toEqual(answer.retrieved())
        }),
        { numRuns: RUNS },
      )
    },
  )
})
