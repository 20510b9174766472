/** Bounds of the concurrency limit of a gateway; part of `BOUNDS`, which asserts their relations. */
export const CAPACITY_BOUNDS = {
  /** Admitted requests of one gateway, those that wait for a provider included. */
  requestsAdmittedMax: 2_048,
  /** Requests that a gateway works on at the same time. The limit moves between these two and begins in the middle. */
  requestsActiveMin: 16,
  requestsActiveFirst: 64,
  requestsActiveMax: 256,
  /** Time that the work on a request should take, without its waits for a provider. */
  requestWorkTargetMs: 500,
  /** Share of the limit that stays after a request took longer. */
  requestsActiveKeptShare: 0.9,
  /** Requests that wait for a slot, and for how long. */
  requestsWaitingMax: 512,
  requestSlotTimeoutMs: 250,
} as const
