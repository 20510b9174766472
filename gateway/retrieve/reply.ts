import type { ChargeDecision } from '#core/limits/counters.ts'
import type { ServiceError } from '#core/platform/errors.ts'
import type { PinnedRequest } from './pin.ts'
import type { LimitUsage, PublicIds } from './request-context.ts'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Usage of the rate-limit windows and the plan with their limits; known once admission was evaluated. */
export interface Windows {
  readonly pinned: PinnedRequest
  readonly decision: ChargeDecision
}

export function usageOf({ pinned, decision }: Windows): LimitUsage {
  const { limits } = pinned
  return {
    entitlement_id: pinned.entitlementId,
    day: decision.dayUsed / limits.requests_per_day,
    month: decision.monthUsed / limits.requests_per_month,
    tightened: decision.rateInForce < limits.requests_per_minute,
    atMs: decision.nowMs,
  }
}

function commonHeaders(ids: PublicIds, body: Buffer, windows: Windows | undefined): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(body.length),
    'cache-control': 'no-store',
    ...idHeaders(ids),
    ...(windows === undefined ? {} : rateLimitHeaders(windows)),
  }
}

/** On every reply of the public port. */
export function idHeaders(ids: PublicIds): Readonly<Record<string, string>> {
  return { 'request-id': ids.requestId, 'x-request-id': ids.requestId, traceparent: traceparentOf(ids) }
}

/** W3C trace context of the service's own trace: trace-id and parent-id are of the ids that the caller sees. */
function traceparentOf({ requestId, traceId }: PublicIds): string {
  const [trace, parent] = [traceId, requestId].map((id) => id.slice(4).replaceAll('-', ''))
  return `00-${trace}-${parent?.slice(0, 16)}-00`
}

export function deliveredReply(ids: PublicIds, body: Buffer, windows: Windows): Reply {
  return { status: 200, headers: commonHeaders(ids, body, windows), body }
}

export function errorBody(ids: PublicIds, error: ServiceError): object {
  return {
    error: {
      code: error.code,
      message: error.message,
      retryable: error.retryable,
      ...(error.details === undefined ? {} : { details: error.details }),
      ...(error.originalRequestId === undefined ? {} : { original_request_id: error.originalRequestId }),
    },
    request_id: ids.requestId,
    trace_id: ids.traceId,
  }
}

export function errorReply(ids: PublicIds, error: ServiceError, windows?: Windows): Reply {
  const body = Buffer.from(JSON.stringify(errorBody(ids, error)))
  return {
    status: error.status,
    headers: {
      ...commonHeaders(ids, body, windows),
      ...(error.retryAfterSeconds === undefined ? {} : { 'retry-after': String(error.retryAfterSeconds) }),
      ...(error.status === 409 ? { 'x-should-retry': 'false' } : {}),
      ...(error.allow === undefined ? {} : { allow: error.allow }),
      ...(error.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    },
    body,
  }
}

/**
 * RateLimit-Policy and RateLimit as structured fields (draft-ietf-httpapi-ratelimit-headers): quota q, window w,
 * remaining r, reset t, in seconds.
 */
function rateLimitHeaders({ pinned, decision }: Windows): Record<string, string> {
  const { limits } = pinned
  const now = new Date(decision.nowMs)
  const dayEndMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)
  const monthEndMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  const monthBeganMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)
  const left = (quota: number, used: number): number => Math.max(0, quota - used)
  const until = (endMs: number): number => Math.ceil((endMs - decision.nowMs) / 1_000)
  return {
    'ratelimit-policy':
      `"minute";q=${decision.rateInForce};w=60, "day";q=${limits.requests_per_day};w=86400, ` +
      `"month";q=${limits.requests_per_month};w=${(monthEndMs - monthBeganMs) / 1_000}`,
    ratelimit:
      `"minute";r=${left(decision.rateInForce, decision.minuteUsed)};t=60, ` +
      `"day";r=${left(limits.requests_per_day, decision.dayUsed)};t=${until(dayEndMs)}, ` +
      `"month";r=${left(limits.requests_per_month, decision.monthUsed)};t=${until(monthEndMs)}`,
  }
}
