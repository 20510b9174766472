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
