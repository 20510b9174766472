/** Time-out of a call that a test expects to succeed: a peer that lives answers far sooner, however busy it is. */
export const CALL_TIMEOUT_MS = 120_000
