import { beforeAll, describe, expect, test } from 'vitest'
import { ABSTAINED_QUERY, KNOWLEDGE_BASE, type Caller } from '#test/support/caller.ts'
import type { Answer } from '#test/support/http.ts'
import { LONG_TOPIC, NO_SUBJECT_QUERY, OF_MIXED } from './mixed-corpus.ts'
import { showingProfile } from './profiles.ts'
import { createCaller, service } from './service.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

let caller: Caller
let answer: Answer
let abstention: Answer
beforeAll(async () => {
  caller = await createCaller()
  answer = await caller.ask()
  abstention = await caller.ask({ query: ABSTAINED_QUERY })
})

describe('Retrieval response', () => {
  test('has exactly the documented fields', () => {
    const body: unknown = JSON.parse(answer.bytes.toString())
    expect(Object.keys(body as object).sort()).toEqual([
      'abstention',
      'knowledge_base',
      'request_id',
      'results',
      'retrieval_profile',
      'trace_id',
      'usage',
      'version',
    ])
  })

  test.each([
    ['has the form req_<request-id>', 'request_id', expect.stringMatching(/^req_[0-9a-f-]{36}$/)],
    ['has the form ret_<trace-id>', 'trace_id', expect.stringMatching(/^ret_[0-9a-f-]{36}$/)],
    ['is the slug that was asked for', 'knowledge_base', KNOWLEDGE_BASE],
    ['is the full UUID of the active corpus version', 'version', service.versionId],
  ])('%s: %s', (_, field, expected) => {
    expect(answer.retrieved()).toHaveProperty(field, expected)
  })

  test('retrieval_profile is the full UUID of the profile that was used', async () => {
    const { rows } = await service.owner.query<{ profile_id: string }>(
      'select profile_id from corpus_versions where id = $1',
      [service.versionId],
    )
    expect(answer.retrieved().retrieval_profile).toBe(rows[0]?.profile_id)
  })

  test('results hold ranked passages with an answer', () => {
    expect(answer.retrieved().results.length).toBeGreaterThan(0)
  })

  test('results are empty when the decision is abstain', () => {
    expect([abstention.status, abstention.retrieved().abstention.decision, abstention.retrieved().results]).toEqual([
      200,
      'abstain',
      [],
    ])
  })

  test('an abstention has the same fields as an answer', () => {
    expect(Object.keys(abstention.retrieved())).toEqual(Object.keys(answer.retrieved()))
  })
})

describe('Retrieval response: result', () => {
  test('chunk_id has the form chk_<hex>, and no passage comes twice', () => {
    const ids = answer.retrieved().results.map((result) => result.chunk_id)
    for (const id of ids) expect(id).toMatch(/^chk_[0-9a-f]+$/)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('text is the passage itself: the best one answers the question', () => {
    expect(answer.retrieved().results[0]?.text).toMatch(/cancel/)
  })

  test('score is a number in [0, 1] that never rises down the list', () => {
    const scores = answer.retrieved().results.map((result) => result.score)
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
    expect(Math.max(...scores)).toBeLessThanOrEqual(1)
    expect(Math.min(...scores)).toBeGreaterThanOrEqual(0)
  })

  test('the same request gives the same results on every replica', async () => {
    // Two search nodes take turns.
    const again = await Promise.all(Array.from({ length: 6 }, () => caller.ask()))
    for (const other of again) expect(other.retrieved().results).toEqual(answer.retrieved().results)
  })
})

describe('Retrieval response: result.document', () => {
  test('id and revision_id are UUIDs of a document and its revision that the service keeps', async () => {
    for (const { document } of answer.retrieved().results) {
      expect([document.id, document.revision_id]).toEqual([expect.stringMatching(UUID), expect.stringMatching(UUID)])
      const { rowCount } = await service.owner.query('select from revisions where id = $1 and document_id = $2', [
        document.revision_id,
        document.id,
      ])
      expect(rowCount).toBe(1)
    }
  })

  test('title and authority are those of the document', () => {
    expect(answer.retrieved().results[0]?.document).toMatchObject({
      title: 'Conduct of Business Rulebook (Mainland)',
      authority: 'Halden Straits Financial Authority',
    })
  })

  test('canonical_url is a URL without a fragment', () => {
    for (const { document } of answer.retrieved().results)
      expect([URL.canParse(document.canonical_url), document.canonical_url.includes('#')]).toEqual([true, false])
  })

  test('published_at and effective_at are ISO 8601 in UTC with milliseconds', () => {
    for (const { document } of answer.retrieved().results) {
      expect([document.published_at, document.effective_at]).toEqual([
        expect.stringMatching(TIMESTAMP),
        expect.stringMatching(TIMESTAMP),
      ])
      expect(new Date(document.published_at).toISOString()).toBe(document.published_at)
    }
  })
})

describe('Retrieval response: result.citation', () => {
  test('label names the cited part', () => {
    expect(answer.retrieved().results[0]?.citation.label).toBe('COB-M 2.1')
  })

  test('source_anchor is the canonical URL with a fragment', () => {
    for (const { document, citation } of answer.retrieved().results) {
      expect(citation.source_anchor.startsWith(`${document.canonical_url}#`)).toBe(true)
      expect(citation.source_anchor.length).toBeGreaterThan(document.canonical_url.length + 1)
    }
    expect(answer.retrieved().results[0]?.citation.source_anchor).toMatch(/#cob-m-2-1$/)
  })

  test("the fragment is the publisher's own where it has one, else a text fragment", async () => {
    const ofMixed = await createCaller(OF_MIXED)
    const profile = await showingProfile(ofMixed)
    const { results } = (await ofMixed.ask({ query: NO_SUBJECT_QUERY, profile })).retrieved()
    expect(results[0]?.citation.source_anchor).toBe(
      'https://mixed.example/ravens#:~:text=Seven%20ravens%20live%20in%20the%20keep%20of%20the%20customs%20tower%2C',
    )
    const [long] = (await ofMixed.ask({ query: LONG_TOPIC, top_k: 1, profile })).retrieved().results
    expect(long?.citation.source_anchor).toMatch(/^https:\/\/mixed\.example\/dredging#dredging-\d$/)
  })

  test('source_snapshot_id is the UUID of a captured source, whose checksum is kept', async () => {
    for (const { citation } of answer.retrieved().results) {
      const { rows } = await service.owner.query<{ sha256: Buffer }>(
        'select sha256 from source_snapshots where id = $1',
        [citation.source_snapshot_id],
      )
      expect(rows[0]?.sha256).toHaveLength(32)
    }
  })
})

describe('Retrieval response: result.metadata', () => {
  test('language, jurisdiction and verification_status are those of the passage', () => {
    for (const { metadata } of answer.retrieved().results)
      expect(metadata).toEqual({
        language: 'en',
        jurisdiction: expect.stringMatching(/^HS-[MF]$/),
        verification_status: 'verified',
      })
  })
})

describe('Retrieval response: abstention', () => {
  test('decision is answer or abstain', () => {
    expect([answer.retrieved().abstention.decision, abstention.retrieved().abstention.decision]).toEqual([
      'answer',
      'abstain',
    ])
  })

  test('signal is evidence_probability: a probability that is higher for questions that the corpus covers', () => {
    const [covered, lacking] = [answer.retrieved().abstention, abstention.retrieved().abstention]
    expect([covered.signal, lacking.signal]).toEqual(['evidence_probability', 'evidence_probability'])
    expect(covered.observed_value).toBeLessThanOrEqual(1)
    expect(covered.observed_value).toBeGreaterThan(lacking.observed_value)
    expect(lacking.observed_value).toBeGreaterThan(0)
  })

  test('threshold is the one that the calibration of the profile has, which states its target', async () => {
    const { rows } = await service.owner.query<{ threshold: number; target: number }>(
      `select (profile -> 'calibration' ->> 'threshold')::float8 as threshold,
         (profile -> 'calibration' ->> 'target_risk')::float8 as target from corpus_versions where profile_id = $1`,
      [answer.retrieved().retrieval_profile],
    )
    expect(rows).toHaveLength(1)
    for (const reply of [answer, abstention]) expect(reply.retrieved().abstention.threshold).toBe(rows[0]?.threshold)
    expect(rows[0]?.target).toBe(0.05)
  })

  test('the same question has the same value, whoever asks and whichever node answers', async () => {
    const asked = await Promise.all(
      Array.from({ length: 6 }, async (_, n) => (n % 2 === 0 ? caller : await createCaller()).ask()),
    )
    expect(new Set(asked.map((reply) => JSON.stringify(reply.retrieved().abstention)))).toEqual(
      new Set([JSON.stringify(answer.retrieved().abstention)]),
    )
  })

  test(
    'the decision follows from the reply alone: answer iff something remains, nothing is unsupported ' +
      'and observed_value >= threshold',
    () => {
      for (const reply of [answer, abstention]) {
        const {
          decision,
          observed_value: observed,
          threshold,
          unsupported_explicit_references: unsupported,
        } = reply.retrieved().abstention
        expect(decision).toBe(unsupported.length === 0 && observed >= threshold && observed > 0 ? 'answer' : 'abstain')
      }
    },
  )

  test('observed_value is 0 when no passage remains', async () => {
    const nowhere = await createCaller({ languages: ['de'] })
    expect((await nowhere.ask()).retrieved()).toMatchObject({
      results: [],
      abstention: { decision: 'abstain', observed_value: 0 },
    })
  })

  test('unsupported_explicit_references is empty', () => {
    for (const reply of [answer, abstention])
      expect(reply.retrieved().abstention.unsupported_explicit_references).toEqual([])
  })
})

describe('Retrieval response: usage', () => {
  test('query_embedding_tokens is null when the provider does not report them', () => {
    expect(answer.retrieved().usage.query_embedding_tokens).toBeNull()
  })

  test('result_count is the number of results', () => {
    for (const reply of [answer, abstention])
      expect(reply.retrieved().usage.result_count).toBe(reply.retrieved().results.length)
  })

  test("response_bytes is the body's exact length in bytes", () => {
    for (const reply of [answer, abstention]) expect(reply.retrieved().usage.response_bytes).toBe(reply.bytes.length)
  })
})
