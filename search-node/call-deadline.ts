import { NodeError } from './node-error.ts'

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
