import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Result } from '#gateway/retrieve/schema.ts'
import { ABSTAINED_QUERY, ANSWERED_QUERY, type Caller } from '#test/support/caller.ts'
import { BROKEN_RERANKERS, REVERSING, ordering, rerankCalls } from '#test/support/reader-endpoint.ts'
import { LONG_TOPIC, OF_MIXED } from './mixed-corpus.ts'
import { showingProfile } from './profiles.ts'
import { createCaller, providerTokens, readerTimeoutMs, readerUrl, service } from './service.ts'
import { outcomeOf, windowsOf } from './replies.ts'
import { adjustedNowMs } from '#test/support/clock.ts'
import { expectEventually, until } from '#test/support/until.ts'

const TOP_K = 20
const roomy = { limits: { max_top_k: TOP_K, max_response_bytes: 2_000_000 } }

let caller: Caller
let plain: string
let reversing: string
let alike: string
let few: string
const broken = new Map<string, string>()
beforeAll(async () => {
  caller = await createCaller(roomy)
  const reranking = (model: string, candidates: number): Promise<string> =>
    showingProfile(caller, ordering(model, candidates))
  plain = await showingProfile(caller)
  reversing = await reranking(REVERSING, TOP_K)
  alike = await reranking('alike', TOP_K)
  few = await reranking(REVERSING, 2)
  for (const model of BROKEN_RERANKERS) broken.set(model, await reranking(model, 5))
})

/** Different every time, so that its calls can be told from those of other tests. */
const question = (text = ANSWERED_QUERY): string => `${text} (${randomUUID()})`
const idsOf = (results: readonly Result[]): readonly string[] => results.map(({ chunk_id }) => chunk_id)

describe('A profile with a re-ranker', () => {
  test('shows the passages in the order of its scores', async () => {
    const query = question()
    const [own, reversed] = [
      (await caller.ask({ query, profile: plain })).retrieved(),
      (await caller.ask({ query, profile: reversing })).retrieved(),
    ]
    expect(own.results).toHaveLength(TOP_K)
    expect(idsOf(reversed.results)).toEqual(idsOf(own.results).toReversed())
  })

  test('is given more candidates than are shown: what the search ranks far behind can come first', async () => {
    const query = question()
    const [own, reversed] = [
      (await caller.ask({ query, profile: plain })).retrieved(),
      (await caller.ask({ query, profile: reversing, top_k: 3 })).retrieved(),
    ]
    expect(idsOf(reversed.results)).toEqual(idsOf(own.results).slice(-3).toReversed())
  })

  test('keeps the order of the search where it finds all alike, and what lies behind its candidates', async () => {
    const query = question()
    const own = (await caller.ask({ query, profile: plain })).retrieved()
    const unscored = (results: typeof own.results): unknown => results.map(({ score: _score, ...result }) => result)
    expect(unscored((await caller.ask({ query, profile: alike })).retrieved().results)).toEqual(unscored(own.results))
    const [first = '', second = '', ...others] = idsOf(own.results)
    expect(idsOf((await caller.ask({ query, profile: few })).retrieved().results)).toEqual([second, first, ...others])
  })

  test('changes neither the decision nor its value', async () => {
    for (const text of [ANSWERED_QUERY, ABSTAINED_QUERY, 'COB-M 99.9']) {
      const query = question(text)
      const [own, reversed] = [
        (await caller.ask({ query, profile: plain })).retrieved(),
        (await caller.ask({ query, profile: reversing })).retrieved(),
      ]
      expect(reversed.abstention).toEqual(own.abstention)
    }
  })

  test('leaves a provision that the query names in front', async () => {
    const { results } = (
      await caller.ask({ query: question(`${ANSWERED_QUERY} See DPR-F 2.1.`), profile: reversing })
    ).retrieved()
    expect(results[0]?.citation.label).toBe('DPR-F 2.1')
  })

  test(
    'is asked once a request, with the query and what a reader would see of each candidate, under the ' +
      'key of the configuration',
    async () => {
      const query = question()
      const own = (await caller.ask({ query, profile: plain })).retrieved()
      expect(await rerankCalls(readerUrl, query)).toEqual([])
      await caller.ask({ query, profile: reversing, top_k: 1 })
      const documents = own.results.map(
        ({ document, citation, text }) => `${document.title}\n${citation.label}\n${text}`,
      )
      expect(await rerankCalls(readerUrl, query)).toEqual([
        { model: REVERSING, query, documents, authorization: 'Bearer a-key-of-the-test-reader' },
      ])
    },
  )

  test('keeps the rules of every reply where many passages have one score', async () => {
    const mixed = await createCaller({ ...OF_MIXED, ...roomy })
    const profile = await showingProfile(mixed, ordering(REVERSING, TOP_K))
    for (const query of [LONG_TOPIC, 'Of what does no passage speak?'])
      expect((await mixed.ask({ query, profile })).retrieved().results.length).toBeGreaterThan(3)
  })
})

/** A caller of the knowledge base that the test provider embeds, with a profile of this re-ranker. */
async function createReranking(model: string): Promise<{ readonly one: Caller; readonly profile: string }> {
  const one = await createCaller(OF_MIXED)
  return { one, profile: await showingProfile(one, ordering(model, 5)) }
}

async function entriesOf(one: Caller): Promise<readonly unknown[]> {
  const { rows } = await service.owner.query<{ state: string; charged: boolean; tokens: number | null }>(
    `select state, charged, (outcome ->> 'query_embedding_tokens')::int as tokens
     from ledger where entitlement_id = $1`,
    [one.entitlementId],
  )
  return rows
}

describe('Errors that are not the caller’s: the re-ranker', () => {
  test.each(BROKEN_RERANKERS)(
    '503 RETRIEVAL_UNAVAILABLE in time, never another order, an abstention or an empty 200; ' +
      'asked once, or again where a kept connection ends: %s',
    async (model) => {
      const query = question()
      const beganMs = adjustedNowMs()
      const reply = await caller.ask({ query, profile: broken.get(model) })
      expect(adjustedNowMs() - beganMs).toBeLessThan(readerTimeoutMs + 2_000)
      expect(outcomeOf(reply)).toEqual([503, 'RETRIEVAL_UNAVAILABLE'])
      expect(reply.bytes.toString()).not.toContain(query)
      expect(model === 'reset' ? [1, 2] : [1]).toContain((await rerankCalls(readerUrl, query)).length)
      for (const { logFile } of service.gateways) expect(readFileSync(logFile, 'utf8')).not.toContain(query)
    },
  )

  test('day, month and the idempotency key are restored, the minute slot is not', async () => {
    const one = await createCaller({
      limits: { requests_per_minute: 10, requests_per_day: 10, requests_per_month: 20 },
    })
    const failing = await showingProfile(one, ordering('status-500', 5))
    const key = { headers: { 'idempotency-key': randomUUID() } }
    expect(outcomeOf(await one.ask({ profile: failing }, key))).toEqual([503, 'RETRIEVAL_UNAVAILABLE'])
    const served = await one.ask({}, key)
    expect(served.status).toBe(200)
    const { minute, day, month } = windowsOf(served)
    expect([minute.remaining, day.remaining, month.remaining]).toEqual([8, 9, 19])
    const { rows } = await service.owner.query<{ state: string }>(
      'select state from reservations where entitlement_id = $1 order by admitted_at',
      [one.entitlementId],
    )
    expect(rows).toEqual([{ state: 'refunded' }, { state: 'delivered' }])
  })

  test('a refund keeps the tokens that the provider was paid for', async () => {
    const { one, profile } = await createReranking('status-500')
    expect(outcomeOf(await one.ask({ profile }))).toEqual([503, 'RETRIEVAL_UNAVAILABLE'])
    await expectEventually(() => entriesOf(one), [{ state: 'refunded', charged: false, tokens: providerTokens }])
  })

  test('a caller that hangs up during re-ranking is charged, and the entry keeps the tokens', async () => {
    const one = await until('a caller hangs up before the re-ranker times out', async () => {
      const { one: hasty, profile } = await createReranking('hang')
      const query = question()
      const hangUp = new AbortController()
      const ended = hasty.ask({ profile, query }, { signal: hangUp.signal }).then(
        () => 'replied',
        () => 'hung up',
      )
      await until('the re-ranker is asked', async () => (await rerankCalls(readerUrl, query)).length === 1)
      hangUp.abort()
      return (await ended) === 'hung up' && hasty
    })
    await expectEventually(() => entriesOf(one), [{ state: 'failed', charged: true, tokens: providerTokens }])
  })

  test('does not touch a profile without one', async () => {
    const query = question()
    expect((await caller.ask({ query, profile: plain })).status).toBe(200)
    expect(await rerankCalls(readerUrl, query)).toEqual([])
  })
})
