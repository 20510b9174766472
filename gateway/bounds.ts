import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'

/** Bounds of the gateway: transport of the public port (contract: Limits), access cache, load and stop. */
export const GATEWAY_BOUNDS = {
  // Transport.
  bodyBytesMax: 16_384,
  headerBytesMax: 16_384,
  idempotencyKeyCharactersMin: 16,
  idempotencyKeyCharactersMax: 128,
  /** Faults of one request that a 400 reply names. */
  errorDetailsMax: 20,
  errorPathCharactersMax: 64,
  /** Values of the entitlement that a 403 lists for a filter. */
  errorValuesMax: 64,
  /** Time for which an idle connection of a caller stays open. */
  keepAliveTimeoutMs: 60_000,
  /** Descriptors that stay for Postgres, Redis, search nodes, providers, files and the internal port. */
  descriptorsKept: 256,
  /** Connections of callers that are open at once, where the system allows as many descriptors. */
  connectionsMax: 16_384,
  connectionsMin: 64,
  /** Connections that wait to be accepted, as far as the system allows (net.core.somaxconn); Node's default is 511. */
  waitingConnectionsMax: 4_096,
  /** Time between two samples of the lag of the gateway's event loop. Each sample wakes the process. */
  eventLoopLagEveryMs: 50,

  // Parts of one request.
  bodyReadTimeoutMs: 5_000,
  /** `Retry-After` of a 503: this share of the outage so far, or what a provider asks for, up to a bound. */
  retryAfterShare: 1 / 4,
  retryAfterMaxMs: 60_000,
  /** Time after its last 503 from which the next one begins another outage. */
  outageOverMs: 120_000,
  /** One node's share of the search time-out, so that time remains for another node if one hangs. */
  searchAttemptTimeoutMs: 1_200,
  /** Time for which a failed node is tried last; it doubles with each trial that fails, up to the second. */
  searchNodeCoolDownMs: 1_000,
  searchNodeCoolDownMaxMs: 30_000,
  /** Times of each node's last calls that are kept for its quantiles. */
  searchNodeTimesKept: 512,

  // Metrics.
  /** Clients that metrics name; the others are one. */
  clientsNamedMax: 200,
  /** Entitlements whose usage is known. */
  usageEntitlementsMax: 2_000,
  /** Part of a quota from which its client is near it. */
  nearShare: 0.8,
  /** Keys that expire within so many days count as expiring. */
  keyExpiryDays: 14,

  // Access.
  accessCacheMs: 4_000,
  accessCacheEntriesMax: 10_000,
  /** Connections to Postgres on which the statement of access is planned before the first request. */
  connectionsPrepared: 4,
  /** Pause before a lost connection for access notifications is opened again. */
  accessListenRetryMs: 1_000,
  validDigestsMax: 100_000,
  failedKeysPerAddressPerMinute: 30,
  failureWindowMs: 60_000,
  failureAddressesMax: 10_000,

  // Load that a gateway takes on.
  /** Admitted requests of one gateway, those that wait for a provider included. */
  requestsAdmittedMax: 2_048,
  /** Requests that a gateway works on at once. The limit moves between these two and begins in the middle. */
  requestsActiveMin: 16,
  requestsActiveFirst: 64,
  requestsActiveMax: 256,
  /** Time that the work on a request should take, without its waits for a provider. */
  requestWorkTargetMs: 500,
  /** Share of the limit that stays after a request took longer. */
  requestsActiveKeptShare: 0.9,
  /** Requests that wait for their turn, and for how long. */
  requestsWaitingMax: 512,
  requestSlotTimeoutMs: 250,

  // State of the dependencies, which are checked in the background.
  dependencyCheckEveryMs: 1_000,
  /** Pause between two checks until the dependency is reached for the first time. */
  dependencyConnectEveryMs: 100,
  dependencyCheckTimeoutMs: 1_000,
  /** Time for which the failure of a statement or a model counts that is not used again. */
  failureCountsMs: 10_000,
  /** Time after which it is looked who blocks a statement. */
  statementSlowMs: 400,
  /** Time after the start in which a gateway waits, to be ready, for a search node with each active version. */
  versionsAwaitedMs: 60_000,

  // Stop.
  /** Time for a load balancer to see that new requests are refused. */
  refusingMinMs: 250,
  /** Time for the last refusals to be sent before open connections are closed. */
  lastRepliesMs: 250,
  /** Time after the drain period and the hard deadline to close connections to Redis, Postgres and the search nodes. */
  gatewayCloseTimeoutMs: 5_000,
  /** Clients that a gateway keeps of embedding spaces, of readers and of rewriters. */
  modelsOpenMax: 64,
} as const

const { assertLess } = createBoundOrder({ ...PLATFORM_BOUNDS, ...DATABASE_BOUNDS, ...LIMIT_BOUNDS, ...GATEWAY_BOUNDS })

assertLess('bodyReadTimeoutMs', 'requestDeadlineMs')
assertLess('searchNodeCoolDownMs', 'searchNodeCoolDownMaxMs')
assertLess('idempotencyKeyCharactersMin', 'idempotencyKeyCharactersMax')
assertLess('accessListenRetryMs', 'accessCacheMs')
assertLess('requestsActiveMin', 'requestsActiveFirst', 'requestsActiveMax', 'requestsAdmittedMax')
// A search that waits for others under the same limit still ends within its attempt.
assertLess('requestSlotTimeoutMs', 'requestWorkTargetMs', 'searchAttemptTimeoutMs', 'searchTimeoutMs')
assertLess('reservationCollectMs', 'requestWorkTargetMs')
assertLess('retryAfterMaxMs', 'outageOverMs')
assertLess('dependencyConnectEveryMs', 'dependencyCheckEveryMs')
assertLess('refusingMinMs', 'hardDeadlineMs')
assertLess('lastRepliesMs', 'gatewayCloseTimeoutMs')
assertLess('settlementsEndMs', 'gatewayCloseTimeoutMs')
