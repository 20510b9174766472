import { createBoundOrder } from '#core/platform/bound-order.ts'

/** Bounds of the public trace: what one job holds, and what the process that serves it takes. */
export const TRACE_BOUNDS = {
  // Writing.
  /** Mean number of proofs of one file. */
  proofsInFileMax: 64,
  /** Proofs that are held at once; a larger version is read several times. */
  proofsHeldMax: 100_000,
  /** Passages between two turns of the event loop. */
  passagesBetweenTurnsMax: 64,
  /** Pages that are compared and written side by side. */
  pagesAtOnceMax: 16,
  /** Knowledge bases whose trace is looked at, each time. */
  tracedBasesMax: 1_000,

  // Serving.
  pathCharactersMax: 300,
  headerBytesMax: 8 * 1_024,
  connectionsMax: 1_000,
  requestTimeoutMs: 10_000,
  keepAliveTimeoutMs: 15_000,
  traceStopTimeoutMs: 10_000,
} as const

const { assertLess } = createBoundOrder(TRACE_BOUNDS)

assertLess('passagesBetweenTurnsMax', 'proofsHeldMax')
