import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import { ServiceError } from '#core/platform/errors.ts'
import { createLog } from '#core/platform/log.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { startDependencyMonitor, type Checks } from '#gateway/dependencies.ts'
import { createOutages } from '#gateway/outages.ts'
import { createRequestContext } from '#gateway/retrieve/request-context.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const lines: string[] = []
const log = createLog('test', 'info', (line) => lines.push(line))
const answers = (): Promise<undefined> => Promise.resolve(undefined)

function monitor(checks: Partial<Checks>): ReturnType<typeof startDependencyMonitor> {
  return startDependencyMonitor({ postgres: answers, redis: answers, search: answers, models: answers, ...checks }, log)
}

test('a dependency is down with a reason until it first answered, and up from then on', async () => {
  const running = monitor({})
  expect(running.states().redis).toEqual({ state: 'down', reason: 'not checked yet' })
  expect(running.neverReached()).toEqual(['postgres', 'redis', 'search', 'models'])
  await vi.advanceTimersByTimeAsync(GATEWAY_BOUNDS.dependencyConnectEveryMs)
  expect(new Set(Object.values(running.states()).map(({ state }) => state))).toEqual(new Set(['up']))
  expect(running.neverReached()).toEqual([])
  running.stop()
})

test('a check that hangs is down after its time-out, is not repeated, and delays no other check', async () => {
  let hanging = 0
  let others = 0
  const held = Promise.withResolvers<undefined>()
  const running = monitor({
    search: () => {
      hanging += 1
      return held.promise
    },
    redis: () => {
      others += 1
      return answers()
    },
  })
  const rounds = 5
  await vi.advanceTimersByTimeAsync(
    GATEWAY_BOUNDS.dependencyConnectEveryMs + rounds * GATEWAY_BOUNDS.dependencyCheckEveryMs,
  )
  expect([hanging, others]).toEqual([1, rounds + 1])
  expect(running.states()).toMatchObject({
    redis: { state: 'up' },
    search: { state: 'down', reason: 'no answer in time' },
  })
  held.resolve(undefined)
  await vi.advanceTimersByTimeAsync(GATEWAY_BOUNDS.dependencyCheckEveryMs)
  expect([hanging, running.states().search.state]).toEqual([2, 'up'])
  running.stop()
})

test('a reason is a code or the word of the check, never the message of an error', async () => {
  const secret = 'postgres://user:password@host'
  const coded = Object.assign(new Error(secret), { code: 'ECONNREFUSED' })
  const running = monitor({
    postgres: () => Promise.reject(coded),
    redis: () => Promise.resolve('it is a replica'),
    search: () => Promise.reject(new Error(secret)),
  })
  await vi.advanceTimersByTimeAsync(GATEWAY_BOUNDS.dependencyConnectEveryMs)
  expect(running.states()).toMatchObject({
    postgres: { state: 'down', reason: 'ECONNREFUSED' },
    redis: { state: 'down', reason: 'it is a replica' },
    search: { state: 'down', reason: 'unavailable' },
  })
  running.stop()
})

test('each change is logged once, and nothing is checked or logged after the stop', async () => {
  lines.length = 0
  let checks = 0
  const faults: string[] = []
  const running = monitor({
    redis: () => {
      checks += 1
      return Promise.resolve(faults[0])
    },
  })
  await vi.advanceTimersByTimeAsync(GATEWAY_BOUNDS.dependencyConnectEveryMs + GATEWAY_BOUNDS.dependencyCheckEveryMs)
  faults.push('it is a replica')
  await vi.advanceTimersByTimeAsync(2 * GATEWAY_BOUNDS.dependencyCheckEveryMs)
  const ofRedis = lines.filter((line) => line.includes('redis'))
  expect(ofRedis.map((line) => /"event":"([^"]+)"/.exec(line)?.[1])).toEqual([
    'dependency available',
    'dependency unavailable',
  ])
  running.stop()
  const before = checks
  await vi.advanceTimersByTimeAsync(5 * GATEWAY_BOUNDS.dependencyCheckEveryMs)
  expect([checks, lines.filter((line) => line.includes('redis')).length]).toEqual([before, 2])
})

const finished = (status: number, further: object = {}) =>
  ({
    reply: { status, headers: {}, body: Buffer.alloc(0) },
    error: undefined,
    decision: undefined,
    ...further,
  }) as const
const asked = (base?: string, stage: 'embed' | 'read' = 'embed') => {
  const context = createRequestContext(new IncomingMessage(new Socket()), '', new AbortController().signal, () => false)
  if (base !== undefined) context.about.knowledge_base = base
  context.timings.stages.push({ name: stage, ms: 1 })
  return context
}

test('Retry-After grows with the outage up to a minute, keeps what a provider asks for, and begins anew after a 200', () => {
  // A second more than this instant is more than a second later, by rounding.
  let nowMs = 25.566724764472546
  const outages = createOutages(() => nowMs)
  const after = (ms: number, base?: string, retryAfterSeconds?: number): number => {
    nowMs += ms
    const error = new ServiceError(
      'RETRIEVAL_UNAVAILABLE',
      retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
    )
    return Number(outages.finished(asked(base), finished(503, { error }))['retry-after'])
  }
  expect([after(0), after(2_000), after(38_000), after(100_000), after(100_000)]).toEqual([1, 1, 10, 35, 60])
  expect(outages.finished(asked(), finished(429))).toEqual({})
  // Each knowledge base has its own; a 200 of any ends the one that all share.
  expect([after(0, 'a', 30), after(10_000, 'a'), after(0, 'b')]).toEqual([30, 20, 1])
  expect(outages.finished(asked('b'), finished(200))).toEqual({})
  expect([after(0), after(0, 'a'), after(0, 'b')]).toEqual([1, 20, 1])
  expect(after(GATEWAY_BOUNDS.outageOverMs, 'a')).toBe(1)
})

test('a model is down from a failure that a request met until it is used again, or for a short while', () => {
  let nowMs = 0
  const outages = createOutages(() => nowMs)
  const error = new ServiceError('RETRIEVAL_UNAVAILABLE', { cause: new EmbeddingError('no answer') })
  outages.finished(asked('a'), finished(503, { error }))
  outages.finished(asked('a', 'read'), finished(200, { reader: { result: 'failed', tokens: null } }))
  expect(outages.models()).toBe('the embedding provider fails, the reader fails')
  outages.finished(asked('a', 'read'), finished(200, { reader: { result: 'read', tokens: 1 } }))
  expect(outages.models()).toBe('the embedding provider fails')
  nowMs += GATEWAY_BOUNDS.failureCountsMs
  expect(outages.models()).toBeUndefined()
})
