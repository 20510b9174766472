import { describe, expect, onTestFinished, test } from 'vitest'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import { createOpenAiEmbedder } from '#core/embedding/openai.ts'
import { buildPolicy, queryPolicy } from '#core/embedding/sending.ts'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { ENDPOINT_DIMENSIONS, startEmbeddingEndpoint } from '#test/support/embedding-endpoint.ts'
import type { EndpointBehaviour } from '#test/support/embedding-endpoint.ts'
import { spaceOf } from '#test/support/artifact.ts'

const signal = new AbortController().signal
const QUERY_MS = 4_000

/** A clock that only its sleepers advance. */
function createFakeClock() {
  let nowMs = 1_000_000
  const sleeps: number[] = []
  return {
    /** Milliseconds of each sleep. */
    sleeps,
    nowMs: () => nowMs,
    sleep: async (ms: number, aborted: AbortSignal) => {
      if (aborted.aborted) return
      sleeps.push(ms)
      nowMs += ms
      await Promise.resolve()
    },
  }
}

async function open(failures: EndpointBehaviour['failures'], tokensPerMinute?: number) {
  const endpoint = await startEmbeddingEndpoint({ failures })
  onTestFinished(() => endpoint.stop())
  const clock = createFakeClock()
  const embedder = createOpenAiEmbedder(spaceOf(ENDPOINT_DIMENSIONS, { provider: 'openai' }), {
    endpoint: { name: 'the embedding provider', baseUrl: endpoint.baseUrl, apiKey: undefined },
    clock,
    policies: { query: queryPolicy(QUERY_MS), passage: buildPolicy({ tokens_per_minute: tokensPerMinute }, clock) },
    requestTexts: 4,
    tokensMax: undefined,
  })
  return { endpoint, embedder, clock }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const busy = (count: number, headers?: Readonly<Record<string, string>>): EndpointBehaviour['failures'] =>
  Array.from({ length: count }, () => ({ status: 429, ...(headers === undefined ? {} : { headers }) }))

describe('passages of a build', () => {
  test('outlast an endpoint that answers 429 or 503 for several minutes', async () => {
    const failures = busy(12).flatMap((failure) => [failure, { status: 503 }])
    const { endpoint, embedder, clock } = await open(failures)
    expect((await embedder.embed(['a', 'b'], 'passage', signal)).vectors).toHaveLength(2)
    expect(endpoint.requests).toHaveLength(25)
    expect(clock.sleeps).toHaveLength(24)
    expect(Math.max(...clock.sleeps)).toBeLessThanOrEqual(EMBEDDING_BOUNDS.embedBuildBackoffMaxMs)
  })

  test('fail at the end of the retry time, and say with what', async () => {
    const { embedder, clock } = await open(busy(10_000))
    const failed = embedder.embed(['a'], 'passage', signal)
    await expect(failed).rejects.toThrow('the embedding provider answered with status 429')
    expect(sum(clock.sleeps)).toBeLessThan(EMBEDDING_BOUNDS.embedBuildRetryDefaultMs)
    expect(sum(clock.sleeps)).toBeGreaterThan(
      EMBEDDING_BOUNDS.embedBuildRetryDefaultMs - EMBEDDING_BOUNDS.embedBuildBackoffMaxMs,
    )
  })

  test('wait as long as the endpoint says, and a little longer, each request of the build', async () => {
    const { embedder, clock } = await open(busy(2, { 'retry-after': '75' }))
    const beganMs = clock.nowMs()
    await Promise.all([embedder.embed(['a'], 'passage', signal), embedder.embed(['b'], 'passage', signal)])
    expect(clock.nowMs() - beganMs).toBeGreaterThanOrEqual(75_000)
    expect(clock.sleeps.some((ms) => ms >= 75_000 && ms <= 75_000 + EMBEDDING_BOUNDS.embedBuildBackoffFirstMs)).toBe(
      true,
    )
  })

  test('fail at once where the endpoint asks for a longer pause than the retry time', async () => {
    const { embedder, clock } = await open(busy(1, { 'retry-after': '3600' }))
    await expect(embedder.embed(['a'], 'passage', signal)).rejects.toThrow(/status 429/)
    expect(clock.sleeps).toEqual([])
  })

  test('are not repeated where the quota is used up or the key is wrong', async () => {
    for (const failure of [{ status: 429, code: 'insufficient_quota' }, { status: 401 }]) {
      const { endpoint, embedder } = await open([failure])
      await expect(embedder.embed(['a'], 'passage', signal)).rejects.toMatchObject({ permanent: true })
      expect(endpoint.requests).toHaveLength(1)
    }
  })

  test('end at once when the build is stopped, in a pause', async () => {
    const stop = new AbortController()
    const { endpoint, embedder, clock } = await open(busy(1_000))
    const sleep = clock.sleep.bind(clock)
    Object.assign(clock, {
      sleep: async (ms: number, sleeping: AbortSignal) => {
        if (clock.sleeps.length === 3) stop.abort()
        await sleep(ms, sleeping)
      },
    })
    await expect(embedder.embed(['a'], 'passage', stop.signal)).rejects.toBeInstanceOf(EmbeddingError)
    expect(endpoint.requests).toHaveLength(4)
  })
})

describe('a query whose caller waits', () => {
  test('is tried three times within its total, whatever the endpoint asks for', async () => {
    const { endpoint, embedder, clock } = await open(busy(1_000))
    await expect(embedder.embed(['a'], 'query', signal)).rejects.toThrow(/status 429/)
    expect(endpoint.requests).toHaveLength(EMBEDDING_BOUNDS.embedAttemptsMax)
    expect(sum(clock.sleeps)).toBeLessThan(QUERY_MS)

    endpoint.behaviour.failures = busy(1, { 'retry-after': '20' })
    const beganMs = clock.nowMs()
    await expect(embedder.embed(['b'], 'query', signal)).rejects.toThrow(/status 429/)
    expect(clock.nowMs()).toBe(beganMs)
  })

  test('waits for a short time that the endpoint states', async () => {
    const { embedder, clock } = await open(busy(1, { 'retry-after-ms': '1500' }))
    await embedder.embed(['a'], 'query', signal)
    expect(clock.sleeps[0]).toBeGreaterThanOrEqual(1_500)
  })

  test('is not held up by the passages of a build', async () => {
    const { embedder, clock } = await open([], 60)
    await embedder.embed(['x'.repeat(4_000)], 'passage', signal)
    const beganMs = clock.nowMs()
    await embedder.embed(['a'], 'query', signal)
    expect(clock.nowMs()).toBe(beganMs)
  })
})

describe('tokens a minute', () => {
  test('are not exceeded in any minute but by the request that passes them', async () => {
    const { endpoint, embedder, clock } = await open([], 1_000)
    endpoint.behaviour.tokensOf = () => 250
    const startedMs: number[] = []
    for (let n = 0; n < 12; n++) {
      await embedder.embed(['x'.repeat(1_000)], 'passage', signal)
      startedMs.push(clock.nowMs())
    }
    for (const fromMs of startedMs)
      expect(startedMs.filter((ms) => ms >= fromMs && ms < fromMs + 60_000).length * 250).toBeLessThanOrEqual(1_250)
    expect(sum(clock.sleeps)).toBe(11 * 15_000)
  })

  test('are those that the endpoint reports, not the estimate', async () => {
    const { endpoint, embedder, clock } = await open([], 1_000)
    endpoint.behaviour.tokensOf = () => 500
    for (let n = 0; n < 3; n++) await embedder.embed(['x'.repeat(1_000)], 'passage', signal)
    expect(sum(clock.sleeps)).toBe(2 * 30_000)
  })

  test('hold also where the wait is longer than a timer can be', async () => {
    const { embedder, clock } = await open([], 1)
    for (let n = 0; n < 2; n++) await embedder.embed(['x'.repeat(400_000)], 'passage', signal)
    expect(sum(clock.sleeps)).toBe(100_000 * 60_000)
    expect(Math.max(...clock.sleeps)).toBeLessThan(2 ** 31)
  })

  test('are not used by a request that the endpoint refuses', async () => {
    const { embedder, clock } = await open([{ status: 401 }], 1_000)
    await expect(embedder.embed(['x'.repeat(4_000)], 'passage', signal)).rejects.toThrow(/401/)
    await embedder.embed(['y'], 'passage', signal)
    expect(clock.sleeps).toEqual([])
  })
})
