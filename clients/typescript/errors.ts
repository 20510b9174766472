import type { ErrorDetail, ErrorReason } from './contract.ts'

/** Every failure of a client. What it names is never "no evidence". */
export class EvidenceError extends Error {
  override readonly name: string = this.constructor.name
}

/** No connection was made: nothing was sent, nothing is charged. */
export class NotConnected extends EvidenceError {}

/**
 * The request was sent, and no whole reply came in time; it may be charged. Ask again with `idempotencyKey`: a
 * `RequestAlreadyProcessed` then says that the reply is lost.
 */
export class NoReply extends EvidenceError {
  readonly idempotencyKey: string

  constructor(message: string, idempotencyKey: string, options?: ErrorOptions) {
    super(message, options)
    this.idempotencyKey = idempotencyKey
  }
}

/** The reply is none of the service, for example a page of a proxy. */
export class UnexpectedReply extends EvidenceError {
  readonly status: number

  constructor(status: number) {
    super(`status ${status} with a body that is none of the service`)
    this.status = status
  }
}

export interface ErrorResponse {
  readonly error: {
    readonly code: ErrorCode
    readonly message: string
    readonly retryable: boolean
    readonly details?: readonly ErrorDetail[]
    readonly original_request_id?: string
  }
  readonly request_id: string
  readonly trace_id: string
}

/** A refusal of the service. `message` has what `details` say. */
export class Refusal extends EvidenceError {
  readonly status: number
  readonly code: ErrorCode
  readonly requestId: string
  readonly retryable: boolean
  /** Whole seconds; on every retryable error and only there. */
  readonly retryAfter: number | undefined
  /** Of the first detail. */
  readonly reason: ErrorReason | undefined
  readonly details: readonly ErrorDetail[]
  /** Of the first request with an Idempotency-Key that was sent again. */
  readonly originalRequestId: string | undefined

  constructor(status: number, retryAfter: number | undefined, { error, request_id: requestId }: ErrorResponse) {
    const { code, message, retryable, details = [], original_request_id: originalRequestId } = error
    super([message, ...details.map(({ path, message: fault }) => `${path} ${fault}`)].join(' '))
    this.status = status
    this.code = code
    this.requestId = requestId
    this.retryable = retryable
    this.retryAfter = retryAfter
    this.reason = details[0]?.reason
    this.details = details
    this.originalRequestId = originalRequestId
  }
}

export class InvalidRequest extends Refusal {}
export class InvalidApiKey extends Refusal {}
export class ScopeForbidden extends Refusal {}
export class EntitlementInactive extends Refusal {}
export class FilterForbidden extends Refusal {}
export class RequestAlreadyProcessed extends Refusal {}
export class RateLimited extends Refusal {}
export class QuotaExhausted extends Refusal {}
export class InternalUnavailable extends Refusal {}
export class RetrievalUnavailable extends Refusal {}

export const REFUSALS = {
  INVALID_REQUEST: InvalidRequest,
  INVALID_API_KEY: InvalidApiKey,
  SCOPE_FORBIDDEN: ScopeForbidden,
  ENTITLEMENT_INACTIVE: EntitlementInactive,
  FILTER_FORBIDDEN: FilterForbidden,
  REQUEST_ALREADY_PROCESSED: RequestAlreadyProcessed,
  RATE_LIMITED: RateLimited,
  QUOTA_EXHAUSTED: QuotaExhausted,
  INTERNAL_UNAVAILABLE: InternalUnavailable,
  RETRIEVAL_UNAVAILABLE: RetrievalUnavailable,
} as const
export type ErrorCode = keyof typeof REFUSALS
