import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import type { FoundPassage } from '#core/domain/search.ts'
import { bound } from '#gateway/retrieve/bound.ts'
import type { PinnedRequest } from '#gateway/retrieve/pin.ts'
import { retrievalResponseSchema, type Abstention } from '#gateway/retrieve/schema.ts'

const ids = { requestId: `req_${randomUUID()}`, traceId: `ret_${randomUUID()}` }
const query = { vector: new Float32Array(8), tokens: null }
const answer: Abstention = {
  decision: 'answer',
  signal: 'evidence_probability',
  threshold: 0.2,
  observed_value: 0.9,
  unsupported_explicit_references: [],
}

// A pinned request is made by `pin` alone; this test needs only what `bound` reads of it.
function pinnedWith(bytesMax: number): PinnedRequest {
  const limits = { ...planLimitsSchema.parse({}), max_response_bytes: bytesMax }
  const stand: unknown = {
    knowledgeBase: 'demo',
    limits,
    topK: 5,
    profile: { id: randomUUID(), version_id: randomUUID() },
  }
  return stand as PinnedRequest
}

const passage = fc
  .record({
    text: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 }),
    title: fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
  })
  .map(({ text, title }): FoundPassage => ({
    chunkId: 'chk_00ff',
    provision: 'prv',
    text,
    score: 0.5,
    document: {
      id: randomUUID(),
      revisionId: randomUUID(),
      title,
      authority: 'Authority',
      canonicalUrl: 'https://rules.example/a',
      publishedAt: '2024-01-01T00:00:00.000Z',
      effectiveAt: '2024-01-01T00:00:00.000Z',
    },
    citation: { label: 'A 1', sourceAnchor: 'https://rules.example/a#1', sourceSnapshotId: randomUUID() },
    metadata: { language: 'en', jurisdiction: 'HS-M', subjects: ['general'], verificationStatus: 'verified' },
    documentPassages: 1,
    named: false,
    row: 0,
    sourceId: 'a#1',
  }))

test('a reply states its exact length in bytes, keeps whole first passages and never exceeds the bound', () => {
  fc.assert(
    fc.property(
      fc.array(passage, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 3_000, max: 12_000 }),
      (passages, bytesMax) => {
        const { body, served } = bound(ids, pinnedWith(bytesMax), query, passages, answer)
        const parsed = retrievalResponseSchema.parse(JSON.parse(body.toString()))
        expect(body.length).toBeLessThanOrEqual(bytesMax)
        expect(parsed.usage.response_bytes).toBe(body.length)
        expect(parsed.usage.result_count).toBe(parsed.results.length)
        expect(parsed.results.map(({ text }) => text)).toEqual(
          passages.slice(0, parsed.results.length).map(({ text }) => text),
        )
        expect(parsed.usage.dropped_for_size).toBe(passages.length - parsed.results.length)
        expect(served).toEqual(passages.slice(0, parsed.results.length))
      },
    ),
    { verbose: 1 },
  )
})

test('the stated length is exact where its own digits change the length', () => {
  const lengths = new Set<number>()
  for (let size = 1; size < 600; size++) {
    const { body } = bound(ids, pinnedWith(50_000), query, [{ ...fixed, text: 'x'.repeat(size) }], answer)
    expect(JSON.parse(body.toString())).toMatchObject({ usage: { response_bytes: body.length } })
    lengths.add(String(body.length).length)
  }
  expect([...lengths]).toContain(4)
})

test('an abstention carries no passage', () => {
  const { body, served } = bound(ids, pinnedWith(50_000), query, [fixed], { ...answer, decision: 'abstain' })
  expect(served).toEqual([])
  expect(retrievalResponseSchema.parse(JSON.parse(body.toString())).results).toEqual([])
})

test('an answer of which not one passage fits is a failure, never an empty answer', () => {
  expect(() => bound(ids, pinnedWith(2_000), query, [{ ...fixed, text: 'ü'.repeat(4_000) }], answer)).toThrow(
    expect.objectContaining({ code: 'RETRIEVAL_UNAVAILABLE' }),
  )
})

const [fixed] = fc.sample(passage, { numRuns: 1, seed: 7 }) as [FoundPassage]
