import { setTimeout as sleep } from 'node:timers/promises'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import type { Answer } from './http.ts'
import { until } from './until.ts'
import { adjustedNowMs } from './clock.ts'
import type { Caller } from './service.ts'

/** One request of the load and its outcome. */
export interface Sent {
  readonly baseUrl: string
  /** On the load-adjusted clock. */
  readonly sentMs: number
  readonly repliedMs: number
  /** Real time. */
  readonly tookMs: number
  /** undefined: no reply came. */
  readonly answer: Answer | undefined
}

/** Answers with status 200. */
export const servedOf = (sent: readonly Sent[]): Answer[] =>
  sent.flatMap(({ answer }) => (answer?.status === 200 ? answer : []))

export type Load = ReturnType<typeof startLoad>

const SENT_MAX = 20_000
/** Of all replies, those that a machine without time for a request may cause. */
const LATE_SHARE_MAX = 1 / 20

/**
 * Requests of a load that did not get a 200. One 503 of twenty may have met a deadline of the gateway, which starts at
 * the shortest of them.
 */
export function failuresOf(sent: readonly Sent[]): object[] {
  const failed = sent.filter(({ answer }) => answer?.status !== 200)
  const isLate = ({ answer, tookMs }: Sent) => answer?.status === 503 && tookMs >= GATEWAY_BOUNDS.requestSlotTimeoutMs
  const excused = failed.filter(isLate).length <= sent.length * LATE_SHARE_MAX
  return failed
    .filter((each) => !excused || !isLate(each))
    .map(({ answer, tookMs, baseUrl }) => ({ baseUrl, tookMs, status: answer?.status, body: answer?.bytes.toString() }))
}

/**
 * Callers that ask one after the other with a pause, each at its gateway, until told to stop. A gateway that refused or
 * was unreachable is not asked again.
 */
export function startLoad(
  caller: Caller,
  baseUrls: readonly string[],
  options: { readonly callers: number; readonly pauseMs: number; readonly untilRefused?: boolean },
) {
  const sent: Sent[] = []
  const stopped = new AbortController()
  async function keepAsking(baseUrl: string): Promise<void> {
    while (!stopped.signal.aborted && sent.length < SENT_MAX) {
      const [sentMs, beganMs] = [adjustedNowMs(), performance.now()]
      const answer = await caller.ask({}, { baseUrl }).catch(() => undefined)
      const tookMs = performance.now() - beganMs
      sent.push({ baseUrl, sentMs, repliedMs: adjustedNowMs(), tookMs, answer })
      if (options.untilRefused === true && answer?.status !== 200) return
      await sleep(options.pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined)
    }
  }
  const asking = Array.from({ length: options.callers }, (_, n) => keepAsking(baseUrls[n % baseUrls.length] ?? ''))
  return {
    sent,
    /** Resolves with what `found` finds in everything sent so far; each further reply is progress. */
    until: <T>(what: string, found: (sent: readonly Sent[]) => T | undefined | false): Promise<T> =>
      until(what, (seen) => {
        seen(sent.length)
        return found(sent)
      }),
    /** Resolves with everything sent, once the requests under way have their replies. */
    stop: async () => {
      stopped.abort()
      await Promise.all(asking)
      return sent
    },
  }
}
