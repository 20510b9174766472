import { availableParallelism } from 'node:os'
import { ENGINE_SETTINGS, engineFaults } from '#core/engine/settings.ts'
import { ARTIFACT_SETTINGS, STORE_SETTINGS } from '#core/index/settings.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { LOG_LEVEL, listenAddress, readConfig, wholeNumber } from '#core/platform/config.ts'
import type { ConfigOf, Variable } from '#core/platform/config.ts'
import { TRACING_SETTINGS } from '#core/platform/tracing.ts'
import { TRANSPORT_SETTINGS } from '#core/rpc/settings.ts'
import { transportFaults } from '#core/rpc/transport.ts'
import { SEARCH_NODE_BOUNDS } from './bounds.ts'

export const SEARCH_NODE_VARIABLES = {
  ...STORE_SETTINGS,
  MANIFEST_PUBLIC_KEY: ARTIFACT_SETTINGS.MANIFEST_PUBLIC_KEY,
  ...TRANSPORT_SETTINGS,
  ...ENGINE_SETTINGS,
  LOG_LEVEL,
  ...TRACING_SETTINGS,
  SEARCH_LISTEN: { schema: listenAddress('127.0.0.1:7070'), help: 'host:port of the gRPC service' },
  SEARCH_INTERNAL_LISTEN: {
    schema: listenAddress('127.0.0.1:7071'),
    help: 'host:port of metrics and of the versions that are loaded; keep it off the public network',
  },
  SEARCH_THREADS: {
    schema: wholeNumber(1, SEARCH_NODE_BOUNDS.searchThreadsMax, availableParallelism()),
    help: 'scoring threads',
    fallback: 'the number of cores',
  },
  DRAIN_MS: {
    schema: wholeNumber(0, PLATFORM_BOUNDS.drainMaxMs, 2_000),
    help: 'how long calls are still answered after SIGTERM',
  },
} as const satisfies Record<string, Variable<unknown>>

export type SearchNodeConfig = ConfigOf<typeof SEARCH_NODE_VARIABLES>

export function searchNodeConfig(): SearchNodeConfig {
  return readConfig(SEARCH_NODE_VARIABLES, process.env, (values) => [
    ...transportFaults(values.SEARCH_LISTEN === undefined ? [] : [values.SEARCH_LISTEN], values),
    ...engineFaults(values),
  ])
}
