import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { BOUNDS } from '#core/platform/bounds.ts'
import { assertSchemaCurrent } from '#core/db/migrate.ts'
import type { Database } from '#core/db/pool.ts'
import type { Limiter } from '#core/limits/limiter.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { GatewayMetrics } from './metrics.ts'
import { openApiDocument } from './openapi.ts'
import type { SearchTier } from './search-tier.ts'

export interface InternalDeps {
  readonly database: Database
  readonly limiter: Limiter
  readonly searchTier: SearchTier
  readonly lifecycle: Lifecycle
  readonly metrics: GatewayMetrics
}

/** Health, readiness, metrics and the API document, on a separate port that is never public. */
export function createInternalApp(deps: InternalDeps): FastifyInstance {
  const app = Fastify({ logger: false, requestTimeout: BOUNDS.internalRequestTimeoutMs })
  const document = openApiDocument()
  app.get('/livez', () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const faults = await readinessFaults(deps)
    return reply
      .code(faults.length === 0 ? 200 : 503)
      .send({ status: faults.length === 0 ? 'ready' : 'not ready', faults })
  })
  app.get('/metrics', async (_request, reply) => reply.type(deps.metrics.contentType).send(await deps.metrics.text()))
  app.get('/openapi.json', () => document)
  return app
}

async function readinessFaults(deps: InternalDeps): Promise<readonly string[]> {
  if (deps.lifecycle.phase() !== 'serving') return ['stopping']
  const checks: readonly (readonly [string, Promise<boolean>])[] = [
    ['postgres', assertSchemaCurrent(deps.database).then(() => true)],
    ['redis', deps.limiter.ping().then(() => deps.limiter.runId() !== undefined)],
    ['search', deps.searchTier.isReachable()],
  ]
  const results = await Promise.all(
    checks.map(async ([name, check]) => ((await check.catch(() => false)) ? undefined : `${name} is unavailable`)),
  )
  return results.filter((fault) => fault !== undefined)
}
