import { expect, test } from 'vitest'
import { ServiceError } from '#core/platform/errors.ts'
import type { ChargeDecision } from '#core/limits/counters.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import type { PinnedRequest } from '#gateway/retrieve/pin.ts'
import { errorReply, type Windows } from '#gateway/retrieve/reply.ts'

const ids = { requestId: 'req_1', traceId: 'ret_1' }

function windowsAt(iso: string, given: Partial<ChargeDecision> = {}): Windows {
  const decision: ChargeDecision = {
    status: 'admitted',
    nowMs: Date.parse(iso),
    dayUsed: 1,
    monthUsed: 2,
    minuteUsed: 3,
    retryAfterMs: 0,
    rateInForce: 10,
    mayLookUp: false,
    stoppedDocuments: [],
    exposed: undefined,
    confirmed: {},
    ...given,
  }
  return { pinned: { limits: planLimitsSchema.parse({}) } as unknown as PinnedRequest, decision }
}

const headersAt = (windows: Windows): Readonly<Record<string, string>> =>
  errorReply(ids, new ServiceError('QUOTA_EXHAUSTED'), windows).headers

test.each([
  ['2026-02-28T23:59:59.001Z', 28, 1, 1],
  ['2028-02-28T12:00:00.000Z', 29, 43_200, 129_600],
  ['2026-12-31T00:00:00.000Z', 31, 86_400, 86_400],
  ['2026-04-01T00:00:00.000Z', 30, 86_400, 2_592_000],
])('at %s the month has %i days; the day ends in %i s, the month in %i s', (iso, days, dayEnds, monthEnds) => {
  const headers = headersAt(windowsAt(iso))
  expect(headers['ratelimit-policy']).toBe(`"minute";q=10;w=60, "day";q=250;w=86400, "month";q=5000;w=${days * 86_400}`)
  expect(headers['ratelimit']).toBe(`"minute";r=7;t=60, "day";r=249;t=${dayEnds}, "month";r=4998;t=${monthEnds}`)
})

test('what remains is never negative', () => {
  expect(
    headersAt(windowsAt('2026-04-01T00:00:00.000Z', { minuteUsed: 11, dayUsed: 300, monthUsed: 6_000 }))['ratelimit'],
  ).toMatch(/^"minute";r=0;t=60, "day";r=0;t=\d+, "month";r=0;/)
})

test('Retry-After is rounded up to whole seconds and at least 1', () => {
  const after = (seconds: number): string | undefined =>
    errorReply(ids, new ServiceError('RATE_LIMITED', { retryAfterSeconds: seconds }), undefined).headers['retry-after']
  expect([after(0), after(0.2), after(1.001), after(59.9)]).toEqual(['1', '1', '2', '60'])
})
