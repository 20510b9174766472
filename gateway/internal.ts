import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { GATEWAY_BOUNDS } from './bounds.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Readiness } from './readiness.ts'

export interface InternalDeps {
  readonly readiness: Pick<Readiness, 'faults' | 'dependencies'>
  readonly metrics: GatewayMetrics
}

/** Health, readiness and metrics, on a separate port that is never public. */
export function createInternalApp({ readiness, metrics }: InternalDeps): FastifyInstance {
  const app = Fastify({ logger: false, requestTimeout: GATEWAY_BOUNDS.internalRequestTimeoutMs })
  app.get('/livez', () => ({ status: 'alive' }))
  app.get('/readyz', (_request, reply) => {
    const faults = readiness.faults()
    const isReady = faults.length === 0
    return reply
      .code(isReady ? 200 : 503)
      .send({ status: isReady ? 'ready' : 'not ready', faults, dependencies: readiness.dependencies() })
  })
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()))
  return app
}
