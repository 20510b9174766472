export interface CallLimits {
  /** Milliseconds since the epoch; Infinity for none. Checked before work begins. */
  readonly deadlineMs: number
  /** Queued work is dropped when this fires; a running native call is never aborted. */
  readonly signal: AbortSignal
}
