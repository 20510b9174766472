import { describe, expect, test } from 'vitest'
import { raiseExposure, releaseExposure } from '#operator/actions/exposure.ts'
import { ANSWERED_QUERY, KNOWLEDGE_BASE, type Caller } from '#test/support/caller.ts'
import { LONG_TOPIC, MIXED_KNOWLEDGE_BASE, OF_MIXED } from './mixed-corpus.ts'
import { age, loseCounters } from './counters.ts'
import { showingProfile } from './profiles.ts'
import { createCaller, service } from './service.ts'
import { outcomeOf, windowsOf } from './replies.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { adjustedNowMs } from '#test/support/clock.ts'
import { expectEventually } from '#test/support/until.ts'

const RATE_LIMITED = [429, 'RATE_LIMITED']
const MANY = 1_000_000
const TINY_SHARE = 0.000_001

/** Marks that are never reached, except the given ones; a share so small that the floor applies. */
function exposure(marks: { readonly corpus?: number; readonly document?: number }): object {
  const { corpus = MANY, document = MANY } = marks
  return {
    exposure: {
      soft_share: TINY_SHARE,
      hard_share: TINY_SHARE,
      document_share: TINY_SHARE,
      floors: { corpus, document, daily: 1 },
    },
  }
}

const QUERIES = [
  ANSWERED_QUERY,
  'How is client money segregated and reconciled?',
  'What does a firm do about a suspicious transaction?',
  'When is a data breach notified to the registrar?',
  'How are conflicts of interest managed?',
]

/** Sends different queries until a reply is not a 200; fails when all are served. */
async function askUntilRefused(caller: Caller): Promise<readonly [number, string]> {
  for (const query of QUERIES) {
    const outcome = outcomeOf(await caller.ask({ query }))
    if (outcome[0] !== 200) return outcome
  }
  return expect.unreachable('everything was served')
}

async function stoppedCaller(): Promise<Caller> {
  const caller = await createCaller({ limits: exposure({ corpus: 6 }) })
  expect(await askUntilRefused(caller)).toEqual(RATE_LIMITED)
  return caller
}

describe('Extraction exposure: distinct passages of a corpus', () => {
  test('past the hard mark serving stops with 429 RATE_LIMITED, though quotas remain', async () => {
    const caller = await stoppedCaller()
    const refused = await caller.ask()
    expect(windowsOf(refused).day.remaining).toBeGreaterThan(0)
    // Five passages are forgotten in as many days at most, the first of them at midnight.
    const [detail] = refused.error().error.details ?? []
    expect(detail).toMatchObject({ reason: 'exposure', scope: 'knowledge_base' })
    const growsAtMs = Date.parse(detail?.access_grows_at ?? '')
    expect(growsAtMs % 86_400_000).toBe(0)
    expect(Number(refused.headers.get('retry-after')) * 1_000).toBeGreaterThan(growsAtMs - Date.now() - 5_000)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThan(6 * 86_400)
  })

  test('the same passages again do not count again', async () => {
    const caller = await createCaller({ limits: exposure({ corpus: 6 }) })
    for (let n = 0; n < 5; n++) expect((await caller.ask()).status).toBe(200)
  })

  test('an abstention serves nothing and so exposes nothing', async () => {
    const caller = await createCaller({ limits: exposure({ corpus: 1 }) })
    for (let n = 0; n < 3; n++)
      expect(outcomeOf(await caller.ask({ query: 'zebra crossing paint' }))).toEqual([200, 'abstain'])
  })

  test('past the soft mark the rate tightens to a fifth: RateLimit-Policy says so, and it is enforced', async () => {
    const { rows } = await service.owner.query<{ passages: number }>(
      'select passages from corpus_versions where id = $1',
      [service.versionId],
    )
    const soft = 3 / (rows[0]?.passages ?? 1)
    const limits = {
      requests_per_minute: 10,
      exposure: { soft_share: soft, hard_share: 1, floors: { corpus: 1, document: MANY } },
    }
    const caller = await createCaller({ limits })
    const profile = await showingProfile(caller)
    const [first, second] = [await caller.ask({ profile }), await caller.ask({ profile })]
    expect([windowsOf(first).minute.quota, windowsOf(second).minute.quota]).toEqual([10, 2])
    const refused = await caller.ask()
    expect(outcomeOf(refused)).toEqual(RATE_LIMITED)
    expect(refused.error().error.details).toMatchObject([
      { reason: 'exposure', scope: 'knowledge_base', access_grows_at: expect.stringContaining('T00:00:00') },
    ])
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
  })

  test('each mark is the larger of its share and its floor', async () => {
    const limits = {
      exposure: { soft_share: TINY_SHARE, hard_share: TINY_SHARE, floors: { corpus: MANY, document: MANY } },
    }
    const caller = await createCaller({ limits })
    for (const query of QUERIES) expect((await caller.ask({ query })).status).toBe(200)
  })

  test('it counts per organization: another client of it is stopped too, another organization is not', async () => {
    const caller = await stoppedCaller()
    const colleague = await createCaller({ organization: caller.organization, limits: exposure({ corpus: 6 }) })
    const stranger = await createCaller({ limits: exposure({ corpus: 6 }) })
    expect(outcomeOf(await colleague.ask())).toEqual(RATE_LIMITED)
    expect((await stranger.ask()).status).toBe(200)
  })

  test('it counts per knowledge base', async () => {
    const caller = await stoppedCaller()
    const elsewhere = await createCaller({
      organization: caller.organization,
      knowledgeBase: MIXED_KNOWLEDGE_BASE,
      jurisdictions: ['XA'],
      limits: exposure({ corpus: 6 }),
    })
    expect((await elsewhere.ask()).status).toBe(200)
  })

  test("an operator's decision opens it again within 5 s", async () => {
    const caller = await stoppedCaller()
    const beganMs = adjustedNowMs()
    await releaseExposure(service.operator, {
      organization: caller.organization,
      knowledgeBase: KNOWLEDGE_BASE,
      environment: 'live',
      note: 'a known partner',
    })
    await expectEventually(async () => (await caller.ask()).status, 200)
    expect(adjustedNowMs() - beganMs).toBeLessThan(5_000)
  })

  test('a raise opens it within 5 s, by as many passages and until its end', async () => {
    const caller = await stoppedCaller()
    await raiseExposure(service.operator, {
      organization: caller.organization,
      knowledgeBase: KNOWLEDGE_BASE,
      environment: 'live',
      note: 'a review of the whole rulebook',
      passages: 100,
      until: new Date(Date.now() + 86_400_000),
    })
    await expectEventually(async () => (await caller.ask()).status, 200)
    await withoutGuards(service.owner, 'update exposure_raises set expires_at = now() where passages = $1', [100])
    await expectEventually(async () => (await caller.ask()).status, 429)
  })

  test('it survives the loss of the counters: what was served is counted from the reservations', async () => {
    const caller = await stoppedCaller()
    await loseCounters(caller)
    expect(outcomeOf(await caller.ask())).toEqual(RATE_LIMITED)
  })

  test('the window moves: passages served longer ago than it no longer count', async () => {
    const caller = await stoppedCaller()
    await age(caller, '31 days')
    await expectEventually(async () => (await caller.ask()).status, 200)
  })
})

describe('Extraction exposure: one document', () => {
  // Five of the six passages of one document, more than any three of which lie next to each other.
  const wide = { max_response_bytes: 2_000_000 }
  test('past its mark replies with its passages are refused and refunded; other questions are served', async () => {
    const caller = await createCaller({ ...OF_MIXED, limits: { ...wide, ...exposure({ document: 4 }) } })
    const asked = { query: LONG_TOPIC, profile: await showingProfile(caller) }
    const first = await caller.ask(asked)
    const { results } = first.retrieved()
    expect(results.length).toBe(5)
    const refused = await caller.ask(asked)
    expect(outcomeOf(refused)).toEqual(RATE_LIMITED)
    const [detail] = refused.error().error.details ?? []
    expect(detail).toMatchObject({ reason: 'exposure', scope: `document:${results[0]?.document.id}` })
    expect(windowsOf(refused).minute.remaining).toBeGreaterThan(0)
    expect((await caller.ask({ query: 'ravens in the customs tower', top_k: 1 })).status).toBe(200)
    // The second stop closes admission, before any work.
    expect(outcomeOf(await caller.ask(asked))).toEqual(RATE_LIMITED)
    const closed = await caller.ask({ query: 'ravens in the customs tower', top_k: 1 })
    expect(closed.error().error.details).toEqual(refused.error().error.details)
    expect(Number(closed.headers.get('retry-after'))).toBeLessThanOrEqual(10)
    const { rows } = await service.owner.query(
      "select state, outcome ->> 'error_code' as code from reservations where entitlement_id = $1 order by admitted_at",
      [caller.entitlementId],
    )
    expect(rows).toEqual([
      { state: 'delivered', code: null },
      { state: 'refunded', code: 'RATE_LIMITED' },
      { state: 'delivered', code: null },
      { state: 'refunded', code: 'RATE_LIMITED' },
    ])
  })

  test('below its mark it goes on', async () => {
    const caller = await createCaller({ ...OF_MIXED, limits: { ...wide, ...exposure({ document: 6 }) } })
    const asked = { query: LONG_TOPIC, profile: await showingProfile(caller) }
    for (let n = 0; n < 3; n++) expect((await caller.ask(asked)).retrieved().results.length).toBe(5)
  })
})
