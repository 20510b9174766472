import type { Clock } from './clock.ts'
import { EndpointFailure } from './endpoint.ts'
import type { Endpoint, EndpointReply } from './endpoint.ts'
import type { Pace } from './pace.ts'
import { estimateTokens } from './pace.ts'
import { attemptUntilAnswered } from './patience.ts'
import type { Patience } from './patience.ts'

/** What one request carries, and how long it may take. */
export interface Call {
  readonly texts: readonly string[]
  readonly patience: Patience
  /** Undefined: the call does not wait for others. */
  readonly pace: Pace | undefined
  readonly deadline: { endMs: number }
  readonly signal: AbortSignal
}

/** Sends one request until it is answered or the patience ends. @throws EndpointFailure */
export type Send = (call: Call) => Promise<EndpointReply>

const FORMATS = ['base64', 'numbers'] as const
type Format = (typeof FORMATS)[number]

/**
 * Asks for base64 (little-endian float32), which takes a quarter of the bytes. An endpoint that refuses a request is
 * asked once more without naming a format, until it has answered a request in one of the two.
 */
export function createSend(
  endpoint: Endpoint,
  asked: { readonly model: string; readonly dimensions?: number },
  clock: Clock,
): Send {
  let accepted: Format | undefined

  function sendAs(format: Format, call: Call): Promise<EndpointReply> {
    const { texts, patience, pace, deadline, signal } = call
    const request = { ...asked, input: texts, ...(format === 'base64' ? { encoding_format: format } : {}) }
    const estimated = pace === undefined ? 0 : texts.reduce((sum, text) => sum + estimateTokens(text), 0)
    const attempt = async (): Promise<EndpointReply> => {
      const beganMs = clock.nowMs()
      await pace?.admit(estimated, signal)
      deadline.endMs += clock.nowMs() - beganMs
      const timeoutMs = Math.max(1, Math.min(patience.attemptTimeoutMs, deadline.endMs - clock.nowMs()))
      try {
        const reply = await endpoint.embed(request, timeoutMs, signal)
        pace?.correct(estimated, reply.tokens ?? estimated)
        return reply
      } catch (error) {
        pace?.correct(estimated, 0)
        throw error
      }
    }
    return attemptUntilAnswered(attempt, { patience, deadline, clock, signal, onRetryAfter: (ms) => pace?.hold(ms) })
  }

  return async (call) => {
    if (accepted !== undefined) return await sendAs(accepted, call)
    try {
      const reply = await sendAs('base64', call)
      accepted ??= 'base64'
      return reply
    } catch (refused) {
      if (!isRefusal(refused) || refused.status === 413) throw refused
      const reply = await sendAs('numbers', call).catch((error: unknown) => {
        throw isRefusal(error) ? refused : error
      })
      accepted ??= 'numbers'
      return reply
    }
  }
}

/** The endpoint refuses what the request holds: too many texts, a text that is too long, or a field. */
export function isRefusal(error: unknown): error is EndpointFailure {
  return error instanceof EndpointFailure && [400, 413, 422].includes(error.status ?? 0)
}
