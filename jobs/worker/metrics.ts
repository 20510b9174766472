import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import { candidatesWaiting } from '#core/db/reviews.ts'
import { CAPTURE_OUTCOMES, sourcesByLastCapture } from '#core/db/sources.ts'
import type { Database } from '#core/db/pool.ts'
import type { Drifts } from './maintenance/canaries.ts'
import type { ClockCheck } from '#core/limits/clock-check.ts'
import { registerCertificate } from '#core/rpc/certificates.ts'
import { JOB_BOUNDS } from '../platform/bounds.ts'

interface MetricsDeps {
  readonly database: Database
  readonly clock: Pick<ClockCheck, 'fault' | 'register'>
  /** Path of this process's certificate. */
  readonly certificate: string | undefined
  readonly drifts: Drifts
  /** Time since the last success of each maintenance task, ms. */
  readonly tasks: () => Readonly<Record<string, number>>
}

/** Health and Prometheus metrics of the job worker, on a port that is never public. Each scrape counts in Postgres. */
export function createMetricsApp({ database, clock, certificate, drifts, tasks }: MetricsDeps): FastifyInstance {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'evidence_candidates_waiting',
    help: 'Candidate versions without a review, built since the active version became active.',
    labelNames: ['knowledge_base'],
    registers,
    async collect() {
      this.reset()
      for (const { knowledge_base, count } of await candidatesWaiting(database, JOB_BOUNDS.metricSeriesMax))
        this.set({ knowledge_base }, count)
    },
  })
  new Gauge({
    name: 'evidence_sources',
    help: 'Sources by the outcome of their last capture; none: not captured yet.',
    labelNames: ['knowledge_base', 'outcome'],
    registers,
    async collect() {
      this.reset()
      for (const { knowledge_base, outcome, count } of await sourcesByLastCapture(
        database,
        JOB_BOUNDS.metricSeriesMax,
      )) {
        // An alert on failures needs a zero, too.
        for (const each of CAPTURE_OUTCOMES) this.inc({ knowledge_base, outcome: each }, 0)
        this.inc({ knowledge_base, outcome }, count)
      }
    },
  })
  registerDrift(registry, drifts)
  clock.register(registry)
  registerCertificate(registry, certificate)
  new Gauge({
    name: 'evidence_task_success_age_seconds',
    help: 'Time since the last success of each maintenance task of this worker, or since its start.',
    labelNames: ['task'],
    registers,
    collect() {
      for (const [task, ms] of Object.entries(tasks())) this.set({ task }, ms / 1_000)
    },
  })
  const app = Fastify({ logger: false, requestTimeout: JOB_BOUNDS.metricsRequestTimeoutMs })
  app.get('/readyz', (_request, reply) => {
    const agesMs = tasks()
    const isSwept = (agesMs['sweep'] ?? 0) < JOB_BOUNDS.sweepAgeMaxMs
    const faults = [clock.fault(), isSwept ? undefined : 'sweep: no success lately'].filter((one) => one !== undefined)
    const isReady = faults.length === 0
    return reply
      .code(isReady ? 200 : 503)
      .send({ status: isReady ? 'ready' : 'not ready', faults, ms_since_success: agesMs })
  })
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  return app
}

function registerDrift(registry: Registry, drifts: Drifts): void {
  new Gauge({
    name: 'evidence_rewriter_drift',
    help: 'Share of words in which the daily queries of a rewriter differ from those of the build; NaN: no answer.',
    labelNames: ['knowledge_base'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [knowledge_base, drift] of drifts) this.set({ knowledge_base }, drift)
    },
  })
}
