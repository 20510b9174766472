import type { Answer } from '#test/support/http.ts'

export interface Window {
  readonly quota: number
  /** Seconds. */
  readonly window: number
  readonly remaining: number
  /** Seconds. */
  readonly reset: number
}
export type Windows = Readonly<Record<'minute' | 'day' | 'month', Window>>

/** What RateLimit-Policy and RateLimit of a reply say. */
export function windowsOf({ headers }: Answer): Windows {
  const one = (name: 'minute' | 'day' | 'month'): Window => {
    const policy = new RegExp(`"${name}";q=(\\d+);w=(\\d+)`).exec(headers.get('ratelimit-policy') ?? '')
    const left = new RegExp(`"${name}";r=(\\d+);t=(\\d+)`).exec(headers.get('ratelimit') ?? '')
    return {
      quota: Number(policy?.[1]),
      window: Number(policy?.[2]),
      remaining: Number(left?.[1]),
      reset: Number(left?.[2]),
    }
  }
  return { minute: one('minute'), day: one('day'), month: one('month') }
}

/** Status and error code, or the decision of a 200. */
export function outcomeOf(answer: Answer): readonly [number, string] {
  return [answer.status, answer.status === 200 ? answer.retrieved().abstention.decision : answer.error().error.code]
}

/** Whether a busy gateway refused the request before anything was charged or recorded, as it may one of many at once. */
export function isShed({ status, headers }: Answer): boolean {
  return status === 503 && !headers.has('ratelimit')
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

const TRACEPARENT = /00-[0-9a-f]{32}-[0-9a-f]{16}-00/g

/** A clock, and what belongs to a connection rather than to a reply. */
const OF_THE_CONNECTION = ['date', 'connection', 'keep-alive']

/**
 * Everything a caller sees of a reply, status line, headers and bytes, with each UUID replaced: two of these are equal
 * exactly when a caller cannot distinguish the replies.
 */
export function withoutIds({ status, headers, bytes }: Answer): string {
  const lines = [...headers]
    .filter(([name]) => !OF_THE_CONNECTION.includes(name))
    .map(([name, value]) => `${name}: ${value}`)
  return [status, ...lines, '', bytes.toString()].join('\n').replaceAll(UUID, 'UUID').replaceAll(TRACEPARENT, 'TRACE')
}
