import { createBoundOrder } from '#core/platform/bound-order.ts'

export const RPC_BOUNDS = {
  grpcConnectionAgeMs: 60_000,
  grpcReconnectFirstMs: 100,
  grpcReconnectMaxMs: 2_000,
  grpcKeepaliveEveryMs: 10_000,
  grpcKeepaliveTimeoutMs: 5_000,
  grpcMessageBytesMax: 4 * 1024 * 1024,
  certificateReadEveryMs: 2_000,
  certificateExpiryDays: 14,
  healthProbeTimeoutMs: 3_000,

  // Names and file of SEARCH_NODES.
  /** Least time between two looks, whatever the time to live; a file is read as often. */
  nodesReadEveryMs: 2_000,
  /** Longest time for which a resolved name is believed. */
  nodesReadMaxMs: 10_000,
  nameTimeoutMs: 1_000,

  // Loading of a version on a node.
  prepareTimeoutMs: 120_000,
} as const

const { assertLess } = createBoundOrder(RPC_BOUNDS)

assertLess('grpcReconnectFirstMs', 'grpcReconnectMaxMs')
assertLess('grpcKeepaliveTimeoutMs', 'grpcKeepaliveEveryMs')
assertLess('nodesReadEveryMs', 'nodesReadMaxMs')
