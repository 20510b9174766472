import { expect, test, vi } from 'vitest'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { startClockCheck } from '#core/limits/clock-check.ts'
import { createLog } from '#core/platform/log.ts'

const DAY_MS = 86_400_000
/** A change of the clocks, with what is said of them and whether this process is at fault. */
const CASES: readonly (readonly [string, readonly [own: number, postgres: number, redis: number], unknown, boolean])[] =
  [
    ['clocks that agree', [0, 1_000, -1_000], undefined, false],
    ['a process 400 days ahead', [400 * DAY_MS, 0, 0], expect.stringContaining('postgres -34560000 s'), true],
    ['a process behind', [-60_000, 0, 0], expect.stringContaining('redis +60 s'), true],
    ['a Redis two days ahead', [0, 0, 2 * DAY_MS], expect.stringContaining('redis +172800 s'), false],
    ['a Postgres behind', [0, -10_000, 0], expect.stringContaining('postgres -10 s'), false],
  ]

test.each(CASES)('of %s it is said which differ, once in the log, until they agree', async (_, moved, fault, own) => {
  vi.useFakeTimers()
  const lines: string[] = []
  const now = Date.now()
  let [ownMs, postgresMs, redisMs] = moved
  const read = { postgres: async () => now + postgresMs, redis: async () => now + redisMs }
  const log = createLog('test', 'info', (line) => lines.push(line))
  const clock = await startClockCheck(read, log, () => now + ownMs)
  expect([clock.fault(), clock.isOwnFault()]).toEqual([fault, own])
  await vi.advanceTimersByTimeAsync(3 * PLATFORM_BOUNDS.clockCheckEveryMs)
  expect(lines).toHaveLength(fault === undefined ? 0 : 1)
  ;[ownMs, postgresMs, redisMs] = [0, 0, 0]
  await vi.advanceTimersByTimeAsync(PLATFORM_BOUNDS.clockCheckEveryMs)
  expect([clock.fault(), clock.isOwnFault()]).toEqual([undefined, false])
  clock.stop()
  vi.useRealTimers()
})

test('a slow reply is no difference, and a server that cannot be read none either', async () => {
  const times = [0, 60_000]
  const clock = await startClockCheck(
    { postgres: async () => 30_000, redis: () => Promise.reject(new Error('away')) },
    createLog('test', 'silent'),
    () => times.shift() ?? 60_000,
  )
  expect(clock.fault()).toBeUndefined()
  clock.stop()
})
