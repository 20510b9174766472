import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { RestoredError } from '#core/db/restores.ts'
import type { ClockCheck } from '#core/limits/clock-check.ts'
import { registerCertificate } from '#core/rpc/certificates.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import type { DependencyStates } from './dependencies.ts'
import type { ConcurrencyLimit } from './retrieve/concurrency-limit.ts'
import { PARTIES, STAGES, type RequestContext } from './retrieve/request-context.ts'
import type { Finished } from './retrieve/pipeline.ts'

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]

/** Prometheus metrics of the gateway. Labels are codes and stage names, never values that a caller sent. */
export interface GatewayMetrics {
  finished(context: RequestContext, finished: Finished): void
  text(): Promise<string>
  readonly contentType: string
}

/** Sources that are read when the metrics are collected. */
export interface Observed {
  readonly inFlight: () => number
  readonly dependencies: () => DependencyStates
  readonly concurrency: Pick<ConcurrencyLimit, 'state'>
  readonly clock: Pick<ClockCheck, 'register'>
  /** Path of this process's certificate. */
  readonly certificate: string | undefined
}

export function createGatewayMetrics(observed: Observed): GatewayMetrics {
  const registers = [new Registry()]
  const [registry] = registers
  if (registry === undefined) throw new Error('no registry')
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: GATEWAY_BOUNDS.eventLoopLagEveryMs })
  const requests = new Counter({
    name: 'evidence_requests_total',
    help: 'Finished exchanges by status, error code and decision.',
    labelNames: ['status', 'code', 'decision'],
    registers,
  })
  const total = new Histogram({
    name: 'evidence_request_seconds',
    help: 'From the request line to the reply.',
    buckets: SECONDS,
    registers,
  })
  const own = new Histogram({
    name: 'evidence_gateway_own_seconds',
    help: 'Total less the time awaiting caller, Redis, Postgres, provider and search.',
    buckets: SECONDS,
    registers,
  })
  const stages = new Histogram({
    name: 'evidence_stage_seconds',
    help: 'Each stage.',
    labelNames: ['stage'],
    buckets: SECONDS,
    registers,
  })
  const waits = new Histogram({
    name: 'evidence_wait_seconds',
    help: 'Time awaiting each outside party, per context.',
    labelNames: ['party'],
    buckets: SECONDS,
    registers,
  })
  const restores = new Counter({
    name: 'evidence_restore_refusals_total',
    help: 'Requests refused because Postgres was restored to an earlier state.',
    registers,
  })
  const countModels = registerModels(registers)
  registerGauges(registers, observed)
  // Resolved once, because a lookup by label per request costs more than all other metrics together.
  const ofStage = byName(STAGES, (stage) => stages.labels(stage))
  const ofParty = byName(PARTIES, (party) => waits.labels(party))
  return {
    finished: ({ timings }, { reply, error, decision, rewriter, reader }) => {
      requests.inc({ status: String(reply.status), code: error?.code ?? '', decision: decision ?? '' })
      if (error?.cause instanceof RestoredError) restores.inc()
      countModels(rewriter, reader)
      total.observe(timings.totalMs() / 1_000)
      own.observe(ownMs(timings) / 1_000)
      for (const { name, ms } of timings.stages) ofStage[name].observe(ms / 1_000)
      for (const party of PARTIES) ofParty[party].observe(timings.waitedMs[party] / 1_000)
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

function registerModels(registers: Registry[]): (rewriter: Finished['rewriter'], reader: Finished['reader']) => void {
  const counterOf = (name: string, help: string): Counter<'result'> =>
    new Counter({ name, help, labelNames: ['result'], registers })
  const tokensOf = (name: string, help: string): Counter => new Counter({ name, help, registers })
  const rewritings = counterOf(
    'evidence_rewritings_total',
    'Requests whose question was given to a rewriter, by result.',
  )
  const readings = counterOf('evidence_readings_total', 'Requests whose passages were given to a reader, by result.')
  const written = tokensOf('evidence_rewriter_tokens_total', 'Tokens that rewriters reported.')
  const read = tokensOf('evidence_reader_tokens_total', 'Tokens that readers reported.')
  return (rewriter, reader) => {
    if (typeof rewriter?.result === 'string') rewritings.inc({ result: rewriter.result })
    if (typeof reader?.result === 'string') readings.inc({ result: reader.result })
    written.inc(rewriter?.tokens ?? 0)
    read.inc(reader?.tokens ?? 0)
  }
}

/** Their values are read when they are collected. */
function registerGauges(registers: Registry[], observed: Observed): void {
  const { inFlight, dependencies, concurrency, clock, certificate } = observed
  for (const registry of registers) {
    clock.register(registry)
    registerCertificate(registry, certificate)
  }
  new Gauge({
    name: 'evidence_requests_in_flight',
    help: 'Exchanges under way.',
    registers,
    collect() {
      this.set(inFlight())
    },
  })
  new Gauge({
    name: 'evidence_concurrent_requests',
    help: 'Requests that may run at once (limit), that run (active), and that wait for a slot (waiting).',
    labelNames: ['state'],
    registers,
    collect() {
      const { limit, active, waiting } = concurrency.state()
      this.set({ state: 'limit' }, limit)
      this.set({ state: 'active' }, active)
      this.set({ state: 'waiting' }, waiting)
    },
  })
  new Gauge({
    name: 'evidence_dependency_up',
    help: '1 while the dependency can be used, else 0.',
    labelNames: ['dependency'],
    registers,
    collect() {
      for (const [dependency, { state }] of Object.entries(dependencies()))
        this.set({ dependency }, Number(state === 'up'))
    },
  })
}

function byName<Name extends string, Child>(
  names: readonly Name[],
  childOf: (name: Name) => Child,
): Readonly<Record<Name, Child>> {
  return Object.fromEntries(names.map((name) => [name, childOf(name)])) as Record<Name, Child>
}

/** The gateway's own time: total minus the time spent waiting for other parties, in milliseconds. */
export function ownMs(timings: RequestContext['timings']): number {
  return Object.values(timings.waitedMs).reduce((left, ms) => left - ms, timings.totalMs())
}
