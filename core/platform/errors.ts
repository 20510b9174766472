const lasting = (status: number, message: string) => ({ status, retryable: false, message })
const passing = (status: number, message: string) => ({ status, retryable: true, message })

/**
 * The error catalogue: HTTP status, retryability and public message of each code. Source: the contract's error table.
 * What a caller sees never contains the cause.
 */
const catalogue = {
  INVALID_REQUEST: lasting(400, 'The request does not match the schema; correct it before sending it again.'),
  INVALID_API_KEY: lasting(401, 'The API key is missing or not valid for this environment.'),
  SCOPE_FORBIDDEN: lasting(403, 'The API key lacks the scope retrieval:read; ask the operator for a key that has it.'),
  ENTITLEMENT_INACTIVE: lasting(403, 'The knowledge base is not active for this client; ask the operator.'),
  FILTER_FORBIDDEN: lasting(
    403,
    'A filter or the profile lies outside the entitlement; narrow the request to what was granted.',
  ),
  REQUEST_ALREADY_PROCESSED: lasting(
    409,
    'This Idempotency-Key was already received: the first reply cannot be had again; ask with a new key.',
  ),
  RATE_LIMITED: passing(429, 'A rate, concurrency or extraction throttle is active; wait for Retry-After.'),
  QUOTA_EXHAUSTED: lasting(
    429,
    'The daily or monthly allowance is used up; it opens again at the start of the next UTC day or month.',
  ),
  INTERNAL_UNAVAILABLE: passing(503, 'The service is unavailable for a moment; retry after Retry-After.'),
  RETRIEVAL_UNAVAILABLE: passing(503, 'Retrieval could not be completed; retry after Retry-After.'),
}

/** What a code means in a special case: INVALID_REQUEST under a status of its own, and a header without its scheme. */
const SPECIAL_MESSAGES = {
  scheme: 'The header Authorization must be the scheme Bearer, a space and the API key.',
  404: 'There is no such path; the one operation is POST /v1/retrieve, and GET /openapi.json describes it.',
  405: 'The path does not take this method; Allow lists those that it takes.',
  413: 'The body is too large; shorten it before sending it again.',
} as const

export type ErrorCode = keyof typeof catalogue
export const ERROR_CODES = Object.keys(catalogue) as readonly ErrorCode[]

export const ERROR_REASONS = [
  'unknown_field',
  'not_entitled',
  'same_body',
  'another_body',
  'rate',
  'concurrency',
  'day',
  'month',
  'exposure',
] as const

/**
 * One fault of a request: its position and a message, never the value that was sent. The position is a JSON pointer
 * into the body, the name of a header, or `(body)`.
 */
export interface ErrorDetail {
  readonly path: string
  readonly message: string
  /** For programs. */
  readonly reason?: (typeof ERROR_REASONS)[number]
  /** Of the exposure: what is not served, and when it is served again. */
  readonly scope?: string
  readonly access_grows_at?: string
}

export interface ServiceErrorOptions {
  readonly cause?: unknown
  /** INVALID_REQUEST under another status. */
  readonly status?: Exclude<keyof typeof SPECIAL_MESSAGES, 'scheme'>
  /** INVALID_API_KEY where no key could be read. */
  readonly lacksScheme?: boolean
  /** Methods that the path takes; only with 405. */
  readonly allow?: string
  readonly details?: readonly ErrorDetail[]
  readonly originalRequestId?: string
  /** Whole seconds, ≥ 1; only meaningful on retryable codes. */
  readonly retryAfterSeconds?: number
}

const RETRY_AFTER_DEFAULT_SECONDS = 1

/** An error that a caller may see. `message` is public; `cause` is private and only logged. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly retryable: boolean
  readonly details: readonly ErrorDetail[] | undefined
  readonly originalRequestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly allow: string | undefined

  constructor(code: ErrorCode, options: ServiceErrorOptions = {}) {
    const entry = catalogue[code]
    const special = options.status ?? (options.lacksScheme === true ? 'scheme' : undefined)
    super(
      special === undefined ? entry.message : SPECIAL_MESSAGES[special],
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.name = 'ServiceError'
    this.code = code
    this.status = options.status ?? entry.status
    this.retryable = entry.retryable
    this.details = options.details
    this.originalRequestId = options.originalRequestId
    this.allow = options.allow
    this.retryAfterSeconds = entry.retryable
      ? Math.max(1, Math.ceil(options.retryAfterSeconds ?? RETRY_AFTER_DEFAULT_SECONDS))
      : undefined
  }
}

/**
 * Maps anything thrown to a catalogue entry. An unknown error is a fault of a dependency or a bug, never the caller's.
 */
export function toServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('INTERNAL_UNAVAILABLE', { cause: error })
}

/** A fault that an operator can correct: `message` says what is wrong and what to do next. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}

/** A fault of the object store, which is the operator's to correct. */
export class StoreError extends OperatorError {
  override readonly name = 'StoreError'
  /** A later try may succeed by itself. */
  readonly passing: boolean

  constructor(message: string, options: ErrorOptions & { readonly passing?: boolean } = {}) {
    super(message, options)
    this.passing = options.passing ?? false
  }
}
