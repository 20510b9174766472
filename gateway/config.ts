import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { z } from 'zod'
import { CREDENTIAL_SETTINGS } from '#core/credentials/settings.ts'
import { DATABASE_URL } from '#core/db/url.ts'
import { EMBEDDING_SETTINGS, withEncoder } from '#core/embedding/settings.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { LOG_LEVEL, listenAddress, movedFaults, optional, readConfig, wholeNumber } from '#core/platform/config.ts'
import type { ConfigOf, Variable } from '#core/platform/config.ts'
import { TRACING_SETTINGS } from '#core/platform/tracing.ts'
import { MOVED_READER_VARIABLES, READING_SETTINGS } from '#core/reading/settings.ts'
import { REWRITING_SETTINGS } from '#core/rewriting/settings.ts'
import { SEARCH_NODES, TRANSPORT_SETTINGS, addressesOf } from '#core/rpc/settings.ts'
import { transportFaults } from '#core/rpc/transport.ts'
import { REDIS_URL } from '#core/redis/url.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'

const cidrs = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine((parts) => parts.every((part) => isIP(part.split('/')[0] ?? '') !== 0 && /^[^/]+(\/\d{1,3})?$/.test(part)))

export const GATEWAY_VARIABLES = {
  DATABASE_URL,
  REDIS_URL,
  SEARCH_NODES,
  ...CREDENTIAL_SETTINGS,
  EMBEDDING: EMBEDDING_SETTINGS.EMBEDDING,
  OPENAI_BASE_URL: EMBEDDING_SETTINGS.OPENAI_BASE_URL,
  OPENAI_API_KEY: EMBEDDING_SETTINGS.OPENAI_API_KEY,
  OPENAI_TIMEOUT_MS: EMBEDDING_SETTINGS.OPENAI_TIMEOUT_MS,
  ...REWRITING_SETTINGS,
  ...READING_SETTINGS,
  ...TRANSPORT_SETTINGS,
  LOG_LEVEL,
  ...TRACING_SETTINGS,
  GATEWAY_LISTEN: { schema: listenAddress('127.0.0.1:8080'), help: 'host:port of the public operation' },
  GATEWAY_INTERNAL_LISTEN: {
    schema: listenAddress('127.0.0.1:8081'),
    help: 'host:port of health, readiness and metrics; keep it off the public network',
  },
  TRUSTED_PROXIES: {
    schema: optional(cidrs),
    help: 'CIDR ranges of proxies whose X-Forwarded-For is believed, separated by commas',
  },
  DRAIN_MS: {
    schema: wholeNumber(0, PLATFORM_BOUNDS.drainMaxMs, 5_000),
    help: 'how long requests are still served after SIGTERM',
  },
} as const satisfies Record<string, Variable<unknown>>

export type GatewayConfig = ConfigOf<typeof GATEWAY_VARIABLES>

export function gatewayConfig(): GatewayConfig {
  return withEncoder(
    readConfig(GATEWAY_VARIABLES, process.env, (values) => [
      ...transportFaults(values.SEARCH_NODES === undefined ? [] : addressesOf(values.SEARCH_NODES), values),
      ...movedFaults(process.env, MOVED_READER_VARIABLES),
    ]),
  )
}

/**
 * Connections of callers that the descriptors of this process allow, so that health, Postgres and Redis keep theirs.
 * @param limits as /proc/self/limits lists them; a system without that file has no such limit here.
 * @throws OperatorError where too few are left.
 */
export function connectionsMax(limits: string): number {
  const descriptors = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity)
  const { descriptorsKept, connectionsMax: most, connectionsMin } = GATEWAY_BOUNDS
  const left = Math.min(most, descriptors - descriptorsKept)
  if (left < connectionsMin)
    throw new OperatorError(
      `This process may open ${descriptors} files and connections: allow ${descriptorsKept + connectionsMin} at least ` +
        '(ulimit -n, LimitNOFILE).',
    )
  return left
}

export function descriptorLimits(): string {
  return existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
}
