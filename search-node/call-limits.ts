export interface CallLimits {
  /** Milliseconds since the epoch; Infinity for none. Checked before work is begun. */
  readonly deadlineMs: number
  /** Work that waits is dropped when this fires; a running native call is never aborted. */
  readonly signal: AbortSignal
}
