import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'

export const REDIS_BOUNDS = {
  /** Also the time until a server has answered everything that a new connection asks. */
  redisCommandTimeoutMs: 1_000,
  /** Time within which a server that is no longer the primary is left and the primary is found. */
  redisFailoverMaxMs: 2_000,
  redisCheckEveryMs: 300,
  sentinelTimeoutMs: 300,
  redisReconnectFirstMs: 50,
  redisReconnectMaxMs: 250,
  /** Time for a server to close a connection that the client ended. */
  redisDisconnectTimeoutMs: 100,

  // What processes say of themselves.
  statusEveryMs: 5_000,
  /** Time after which a process that says nothing is forgotten. */
  statusDroppedMs: 600_000,
  statusKeptSeconds: 86_400,
  refusalsKeptSeconds: 30 * 86_400,
  /** Kinds of refusals of one client that a gateway collects before it sends them, for all clients together. */
  refusalsCollectedMax: 10_000,
} as const

const { assertLess, assertSumLess } = createBoundOrder({ ...PLATFORM_BOUNDS, ...REDIS_BOUNDS })

assertLess('redisCommandTimeoutMs', 'requestDeadlineMs')
assertLess('statusEveryMs', 'statusDroppedMs')
// A connected server falls silent; a server does not answer a connection that was begun.
assertSumLess(
  ['redisCheckEveryMs', 'redisCommandTimeoutMs', 'redisReconnectFirstMs', 'sentinelTimeoutMs'],
  'redisFailoverMaxMs',
)
assertSumLess(['redisCommandTimeoutMs', 'redisReconnectMaxMs', 'sentinelTimeoutMs'], 'redisFailoverMaxMs')
