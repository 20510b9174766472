/**
 * The error codes of a search node, by the names of their gRPC status. Source: the comments of
 * `proto/search/v1/search.proto`.
 */
export const NODE_ERROR_CODES = [
  'INVALID_ARGUMENT',
  'FAILED_PRECONDITION',
  'RESOURCE_EXHAUSTED',
  'DEADLINE_EXCEEDED',
  'CANCELLED',
  'DATA_LOSS',
  'UNAVAILABLE',
] as const
export type NodeErrorCode = (typeof NODE_ERROR_CODES)[number]

/** The message reaches the node's caller. It names the next step and contains no part of the query. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly code: NodeErrorCode

  constructor(code: NodeErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** Returns the thrown value as an Error. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

export interface CallDeadline {
  /** Milliseconds since the epoch; Infinity for none. Checked before work begins. */
  readonly deadlineMs: number
  /** Queued work is dropped when this fires; a running native call is never aborted. */
  readonly signal: AbortSignal
}

/** @throws NodeError CANCELLED or DEADLINE_EXCEEDED. */
export function assertNotExpired({ deadlineMs, signal }: CallDeadline): void {
  if (signal.aborted) throw new NodeError('CANCELLED', 'The caller gave up before its candidates were found.')
  if (Date.now() >= deadlineMs)
    throw new NodeError('DEADLINE_EXCEEDED', 'The deadline passed before the candidates were found; ask again later.')
}
