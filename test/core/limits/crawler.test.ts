import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import type { ServedPassage } from '#core/domain/exposure.ts'
import type { LimitScope } from '#core/limits/counter-keys.ts'
import { openTestCounters } from './test-counters.ts'

/**
 * Callers of the default plan against the scripts of Redis, over 30 days of their clock. Sizes of the 49 documents of a
 * corpus of EU acts with 15,688 paragraphs.
 */
const DOCUMENTS = [
  1189, 837, 836, 803, 732, 609, 565, 557, 521, 517, 480, 479, 424, 405, 396, 376, 362, 359, 357, 333, 307, 302, 297,
  289, 288, 282, 267, 257, 246, 208, 191, 176, 174, 159, 143, 142, 123, 122, 118, 90, 69, 59, 47, 43, 41, 30, 30, 29,
  22,
]
const CORPUS: readonly ServedPassage[] = DOCUMENTS.flatMap((total, document) =>
  Array.from({ length: total }, (_, ordinal) => ({ chunk: `${document}-${ordinal}`, document: `d${document}`, total })),
)
const LIMITS = planLimitsSchema.parse({})
const TOP_K = LIMITS.max_top_k
const DAYS = 30
const DAY_MS = 86_400_000
/** A time of day, so that 30 days of 24 hours touch 31 dates. */
const BEGIN_MS = 20_800 * DAY_MS + 13 * 3_600_000

const { counters, createScope, ask, setNow } = await openTestCounters()
let clockMs: number
beforeEach(() => {
  clockMs = BEGIN_MS
})

async function wait(ms: number): Promise<void> {
  clockMs += ms
  await setNow(clockMs)
}

/** Asks for passages as the gateway serves them: none of a stopped document. Waits where only the rate refuses. */
async function request(scope: LimitScope, found: (stopped: ReadonlySet<string>) => readonly ServedPassage[]) {
  for (;;) {
    const requestId = randomUUID()
    const decision = await ask(scope, LIMITS, { requestId, corpusPassages: CORPUS.length })
    if (decision.status === 'rate') {
      await wait(decision.retryAfterMs)
      continue
    }
    const stopped = new Set(decision.stoppedDocuments.map(({ id }) => id))
    if (decision.status !== 'admitted') return { ...decision, stopped }
    const served = found(stopped)
    const refused = served.some(({ document }) => stopped.has(document))
    await counters.settle(scope, {
      requestId,
      idempotencyDigest: undefined,
      ...(refused ? { ending: 'refund', served: [] } : { ending: 'deliver', served }),
    })
    return { ...decision, status: refused ? 'document' : 'admitted', stopped }
  }
}

/** Asks for nothing but passages that it does not have, of documents that are served; whatever refuses, it waits. */
async function crawl(clients: readonly LimitScope[], endsAtMs: number, had: Set<string>): Promise<void> {
  const left = CORPUS.filter(({ chunk }) => !had.has(chunk))
  for (let turn = 0; clockMs < endsAtMs; turn++) {
    const client = clients[turn % clients.length]
    if (client === undefined) return
    const { status, retryAfterMs } = await request(client, (stopped) => {
      const wanted: ServedPassage[] = []
      for (let at = left.length - 1; at >= 0 && wanted.length < TOP_K; at--) {
        const passage = left[at]
        if (passage !== undefined && !stopped.has(passage.document)) wanted.push(...left.splice(at, 1))
      }
      for (const { chunk } of wanted) had.add(chunk)
      return wanted
    })
    if (status === 'exposure') await wait(retryAfterMs)
    if (status === 'quota') await wait(DAY_MS / 24)
  }
}

const clientsOf = (scope: LimitScope, count: number, environment = 'live'): readonly LimitScope[] =>
  Array.from({ length: count }, () => ({ ...scope, environment, entitlementId: randomUUID(), clientId: randomUUID() }))

/** Uniform in [0, 1); Park and Miller. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

describe('under the default plan', () => {
  test('a crawler with eight clients of one organization gets at most 15 % of 15,688 passages in 30 days', async () => {
    const had = new Set<string>()
    await setNow(clockMs)
    await crawl(clientsOf(await createScope(), 8), BEGIN_MS + DAYS * DAY_MS, had)
    expect(had.size / CORPUS.length).toBeGreaterThan(0.125)
    expect(had.size / CORPUS.length).toBeLessThan(0.15)
  })

  test('nor does it with its test environment beside the live one', async () => {
    const had = new Set<string>()
    const scope = await createScope()
    await setNow(clockMs)
    await crawl(clientsOf(scope, 8), BEGIN_MS + DAYS * DAY_MS, had)
    clockMs = BEGIN_MS
    await setNow(clockMs)
    await crawl(clientsOf(scope, 2, 'test'), BEGIN_MS + DAYS * DAY_MS, had)
    expect(had.size / CORPUS.length).toBeLessThan(0.15)
  })

  // 500 questions on the real corpus found 1,874 distinct passages of 2,500: as many as draws from 4,000 of them.
  test.each([
    ['over the month', DAY_MS / 17],
    ['as fast as the plan allows', 0],
  ])('500 questions of mixed topics, asked %s, are never refused for exposure', async (_, pauseMs) => {
    const random = randomFrom(1)
    const [client] = clientsOf(await createScope(), 1)
    if (client === undefined) throw new Error('there is no client')
    const asked = CORPUS.filter((__, n) => n % 4 === 0)
    const distinct = new Set<string>()
    await setNow(clockMs)
    for (let question = 0; question < 500;) {
      const { status } = await request(client, () => {
        const served = Array.from({ length: TOP_K }, () => asked[Math.floor(random() * asked.length)]).filter(
          (passage) => passage !== undefined,
        )
        for (const { chunk } of served) distinct.add(chunk)
        return served
      })
      expect(['admitted', 'quota']).toContain(status)
      if (status === 'admitted') question++
      await wait(status === 'quota' ? DAY_MS / 24 : pauseMs)
    }
    expect(distinct.size).toBeGreaterThan(1_800)
  })

  test.each([1189, 405, 90])('60 questions in an evening on one act of %i passages are never refused', async (size) => {
    const [client] = clientsOf(await createScope(), 1)
    if (client === undefined) throw new Error('there is no client')
    const act = CORPUS.filter(({ total }) => total === size)
    await setNow(clockMs)
    for (let question = 0; question < 60; question++) {
      const first = (question * TOP_K) % act.length
      const { status } = await request(client, () => act.slice(first, first + TOP_K))
      expect(status).toBe('admitted')
      await wait(2 * 60_000)
    }
  })
})
