import { EMBEDDING_BOUNDS } from './bounds.ts'
import type { Clock } from './retry.ts'

const BYTES_PER_TOKEN = 4

/**
 * Estimates the tokens of a text without its model's tokenizer. Decision 0022 has the measurement: 4 to 4.7 bytes of
 * UTF-8 are one token of a multilingual vocabulary, in English, German and French.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/** When the next request to one endpoint may be sent. Concurrent requests share it. */
export interface RateLimit {
  /**
   * Waits until a request with this estimate of tokens may be sent, and charges them. Returns early once the signal is
   * aborted.
   */
  admit(tokens: number, signal: AbortSignal): Promise<void>
  /** Corrects a charge: to the tokens that the endpoint reported, or to 0 where it refused the request. */
  correct(charged: number, used: number): void
  /** Delays every request, because the endpoint has asked for it. */
  delay(ms: number): void
}

/**
 * A leaky bucket (ITU-T I.371, virtual scheduling) without a burst: a request starts when the tokens before it have
 * drained. In any minute at most the limit is started, and the request that passes it.
 */
export function createRateLimit(tokensPerMinute: number | undefined, clock: Clock): RateLimit {
  const msPerToken = tokensPerMinute === undefined ? 0 : 60_000 / tokensPerMinute
  let drainedAtMs = 0
  let delayedUntilMs = 0

  return {
    async admit(tokens, signal) {
      const startMs = Math.max(clock.nowMs(), drainedAtMs)
      drainedAtMs = startMs + tokens * msPerToken
      for (;;) {
        const waitMs = Math.max(startMs, delayedUntilMs) - clock.nowMs()
        if (waitMs <= 0 || signal.aborted) return
        await clock.sleep(Math.min(waitMs, EMBEDDING_BOUNDS.embedRateSleepMaxMs), signal)
      }
    },
    correct(charged, used) {
      drainedAtMs += (used - charged) * msPerToken
    },
    delay(ms) {
      delayedUntilMs = Math.max(delayedUntilMs, clock.nowMs() + ms)
    },
  }
}
