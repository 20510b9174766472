/** Bounds of the load that a gateway takes on; part of `BOUNDS`, which asserts their relations. */
export const CAPACITY_BOUNDS = {
  /** Admitted requests of one gateway, those that wait for a provider included. */
  requestsUnderWayMax: 2_048,
  /** Requests that a gateway works on at once. The limit moves between these two and begins in the middle. */
  requestsWorkedOnMin: 16,
  requestsWorkedOnFirst: 64,
  requestsWorkedOnMax: 256,
  /** Time that the work on a request should take, without its waits for a provider. */
  requestWorkTargetMs: 500,
  /** Share of the limit that stays after a request took longer. */
  requestsWorkedOnKeptShare: 0.9,
  /** Requests that wait for their turn, and for how long. */
  requestsWaitingMax: 512,
  requestTurnTimeoutMs: 250,
} as const
