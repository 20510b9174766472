import { createBoundOrder } from '#core/platform/bound-order.ts'

/** Bounds of a search: its question, its filters, and how many passages it considers. */
export const SEARCH_BOUNDS = {
  queryCharactersMax: 4_000,
  /** Queries that a rewriter may write for one question, and Unicode code points of each. */
  rewrittenQueriesMax: 3,
  rewrittenCharactersMax: 300,
  topKSchemaMax: 100,
  filterValuesMax: 64,
  filterValueCharactersMax: 100,
  searchLimitMax: 200,
  /** Withdrawals in force of a knowledge base, which every search carries. */
  withdrawalsMax: 200,
  withdrawnProvisionsMax: 32,
  /** Versions that one search node holds. */
  versionsPerNodeMax: 64,
  rowsScoredMinDefault: 64,
  rowsScoredMinMax: 4_096,
} as const

const { assertLess } = createBoundOrder(SEARCH_BOUNDS)

assertLess('rowsScoredMinDefault', 'rowsScoredMinMax')
