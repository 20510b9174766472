import { createBoundOrder } from '#core/platform/bound-order.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'

/** Bounds of the requests to OpenSearch, and limits that OpenSearch has by itself. */
export const ENGINE_BOUNDS = {
  // A search.
  engineSearchTimeoutMs: 2_000,
  searchTimeoutMs: PLATFORM_BOUNDS.searchTimeoutMs,
  /** `index.max_result_window` of OpenSearch. */
  hitsMax: 10_000,
  /** Below 65,536, `index.max_terms_count` of OpenSearch. */
  termsPerClauseMax: 65_535,
  /** Rows that one query may name. */
  rowsNamedMax: 2_000_000,
  /**
   * Rows of its graph that a shard ranks for one query, at least. Of the ten nearest among 100,000 vectors as hard as
   * those of a sentence encoder, the best of 100 hold 0.80, of 1,600 0.98; in shards of 250,000 the best of so many
   * hold 0.99.
   */
  exploredRows: 5_000,
  /** Sockets that one thread opens to one node of the cluster. */
  socketsMax: 4,

  // A look at an index, and any other short request.
  requestTimeoutMs: 15_000,

  // The load of an index.
  bulkRowsMax: 500,
  /** Each is indexed by a thread of its own. */
  bulksAtOnce: 4,
  bulkTimeoutMs: 120_000,
  bulkRetryMs: 2_000,
  bulkAttemptsMax: 60,
  /** Refresh, merge and the allocation of replicas are polled; each may last so long without progress. */
  pollEveryMs: 500,
  stageTimeoutMs: 6 * 3_600_000,
  /** One shard for so many passages: a graph of a million holds 0.94 of the ten nearest at 3,000 rows, 0.98 at 9,999. */
  rowsPerShard: 250_000,

  // Checks of an index that is in use.
  pageRows: 2_000,
  pagePauseMs: 50,
  /** A larger index is read after its version was loaded, because a call of gRPC ends with its connection. */
  readOnLoadRowsMax: 20_000,
} as const

const { assertLess } = createBoundOrder(ENGINE_BOUNDS)

assertLess('engineSearchTimeoutMs', 'searchTimeoutMs')
assertLess('pageRows', 'hitsMax')
assertLess('exploredRows', 'hitsMax')
