import { TRACE_DIR } from '#core/index/settings.ts'
import { LOG_LEVEL, listenAddress, readConfig, type ConfigOf, type Variable } from '#core/platform/config.ts'

const ADDRESS = '127.0.0.1:8090'

export const TRACE_VARIABLES = {
  TRACE_DIR,
  TRACE_LISTEN: {
    schema: listenAddress(ADDRESS),
    help: 'host:port of the public source trace, behind a proxy that terminates TLS',
  },
  TRACE_INTERNAL_LISTEN: {
    schema: listenAddress('127.0.0.1:8091'),
    help: 'host:port of metrics; keep it off the public network',
  },
  LOG_LEVEL,
} as const satisfies Record<string, Variable<unknown>>

export function traceConfig(): ConfigOf<typeof TRACE_VARIABLES> {
  return readConfig(TRACE_VARIABLES, process.env)
}
