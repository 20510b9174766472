import { expect, test } from 'vitest'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { timeLeft } from '#gateway/retrieve/time-left.ts'
import { ordering } from '#test/support/reader-endpoint.ts'
import { pinnedRequest } from './pinned.ts'

const RECORD_MS = 1_000

test.each([0, 400, 3_000, 9_500])(
  'when every party stalls after %i ms, each stage still has its time, and the outcome can be recorded',
  (beforeMs) => {
    const pinned = pinnedRequest({ parameters: ordering('m', 3) })
    let at = beforeMs
    for (const stage of ['rewrite', 'embed', 'search', 'read'] as const) {
      const waited = timeLeft(stage, { timings: { totalMs: () => at } as never }, pinned)
      expect(waited).toBeGreaterThanOrEqual(beforeMs <= 4_000 ? RECORD_MS : 1)
      at += waited
    }
    expect(at).toBeLessThanOrEqual(Math.max(PLATFORM_BOUNDS.requestDeadlineMs - RECORD_MS, beforeMs + 4))
  },
)

test('a stage that the profile lacks keeps no time from the others', () => {
  const plain = pinnedRequest({})
  const left = (embedding: typeof plain.profile.embedding): number =>
    timeLeft('rewrite', { timings: { totalMs: () => 0 } as never }, { profile: { ...plain.profile, embedding } })
  expect(left(null) - left(plain.profile.embedding)).toBe(RECORD_MS)
})
