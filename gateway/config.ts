import { isIP } from 'node:net'
import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { listenAddress, optional, readConfig, wholeNumber } from '#core/platform/config.ts'
import type { ConfigOf, Variable } from '#core/platform/config.ts'
import { transportFaults } from '#core/rpc/transport.ts'
import { REDIS_URL } from '#core/redis/url.ts'
import { SETTINGS } from '#core/platform/settings.ts'

const cidrs = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine((parts) => parts.every((part) => isIP(part.split('/')[0] ?? '') !== 0 && /^[^/]+(\/\d{1,3})?$/.test(part)))

export const GATEWAY_VARIABLES = {
  DATABASE_URL: SETTINGS.DATABASE_URL,
  REDIS_URL,
  SEARCH_NODES: SETTINGS.SEARCH_NODES,
  KEY_ENVIRONMENT: SETTINGS.KEY_ENVIRONMENT,
  KEY_PEPPERS: SETTINGS.KEY_PEPPERS,
  SERVICE_SECRET: SETTINGS.SERVICE_SECRET,
  OPENAI_BASE_URL: SETTINGS.OPENAI_BASE_URL,
  OPENAI_API_KEY: SETTINGS.OPENAI_API_KEY,
  OPENAI_TIMEOUT_MS: SETTINGS.OPENAI_TIMEOUT_MS,
  RERANK_BASE_URL: SETTINGS.RERANK_BASE_URL,
  RERANK_API_KEY: SETTINGS.RERANK_API_KEY,
  RERANK_TIMEOUT_MS: SETTINGS.RERANK_TIMEOUT_MS,
  SEARCH_TLS_CA: SETTINGS.SEARCH_TLS_CA,
  SEARCH_TLS_CERT: SETTINGS.SEARCH_TLS_CERT,
  SEARCH_TLS_KEY: SETTINGS.SEARCH_TLS_KEY,
  SEARCH_PLAINTEXT: SETTINGS.SEARCH_PLAINTEXT,
  LOG_LEVEL: SETTINGS.LOG_LEVEL,
  GATEWAY_LISTEN: {
    schema: listenAddress('127.0.0.1:8080'),
    help: 'host:port of the public operation',
    fallback: '127.0.0.1:8080',
  },
  GATEWAY_INTERNAL_LISTEN: {
    schema: listenAddress('127.0.0.1:8081'),
    help: 'host:port of health, readiness, metrics and OpenAPI; keep it off the public network',
    fallback: '127.0.0.1:8081',
  },
  TRUSTED_PROXIES: {
    schema: optional(cidrs),
    help: 'CIDR ranges of proxies whose X-Forwarded-For is believed, separated by commas',
  },
  DRAIN_MS: {
    schema: wholeNumber(0, BOUNDS.drainMaxMs, 5_000),
    help: 'how long requests are still served after SIGTERM',
    fallback: '5000',
  },
} as const satisfies Record<string, Variable<unknown>>

export type GatewayConfig = ConfigOf<typeof GATEWAY_VARIABLES>

export function gatewayConfig(): GatewayConfig {
  return readConfig(GATEWAY_VARIABLES, process.env, (values) => transportFaults(values.SEARCH_NODES ?? [], values))
}
