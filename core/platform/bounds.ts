import { createBoundOrder } from './bound-order.ts'

/**
 * Bounds that belong to no domain. Those of a domain are in the `bounds.ts` of its folder. Each has its unit and bound at
 * the end of its name, and relations between bounds are asserted when the module loads. These are constants of the code;
 * `core/domain/quota-plan.ts` holds what a plan may set.
 */
export const PLATFORM_BOUNDS = {
  // Deadlines of one request, outermost first.
  hardDeadlineMs: 20_000,
  requestDeadlineMs: 10_000,
  searchTimeoutMs: 3_000,

  // Clocks of a process, of Postgres and of Redis.
  clockCheckEveryMs: 1_000,
  /** Difference beyond which a process refuses its work. */
  clockDifferenceMaxMs: 5_000,

  // Log.
  /** Output that waits for its reader. */
  logBufferBytesMax: 1_048_576,
  logRepetitionMs: 1_000,
  /** Causes whose repetitions are counted at once; those of others are logged one by one. */
  logCausesMax: 256,
  /** Names of events that are counted. */
  logEventsMax: 512,

  // Metrics.
  metricSeriesMax: 1_000,
  /** Time for a scrape to read one of them. */
  metricReadTimeoutMs: 3_000,
  internalRequestTimeoutMs: 10_000,

  // Stop of a service.
  tracesCloseTimeoutMs: 1_000,
  drainMaxMs: 120_000,

  // HTTP endpoints of providers.
  /** Body of a refusal, of an embedding endpoint or a re-ranker. */
  refusalBytesMax: 64 * 1_024,
} as const

const { assertLess } = createBoundOrder(PLATFORM_BOUNDS)

assertLess('requestDeadlineMs', 'hardDeadlineMs')
assertLess('metricReadTimeoutMs', 'internalRequestTimeoutMs')
