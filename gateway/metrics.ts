import { Counter, Histogram, type Registry } from 'prom-client'
import { countExpiringKeys } from '#core/db/access.ts'
import type { Database } from '#core/db/pool.ts'
import { RestoredError } from '#core/db/restores.ts'
import type { ClockCheck } from '#core/limits/clock-check.ts'
import {
  aboutMetric,
  createBoundedNames,
  createRegistry,
  createTally,
  gauge,
  registerPool,
  type MetricName,
} from '#core/platform/metrics.ts'
import type { Refusals } from '#core/redis/refusals.ts'
import { registerCertificate } from '#core/rpc/certificates.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import type { Readiness } from './readiness.ts'
import type { SearchTier } from './search-tier.ts'
import type { UsageBoard } from './usage.ts'
import type { ConcurrencyLimit } from './retrieve/concurrency-limit.ts'
import { PARTIES, STAGES, type RequestContext } from './retrieve/request-context.ts'
import type { Finished } from './retrieve/pipeline.ts'

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]

/**
 * Prometheus metrics of the gateway. Labels are codes, stage names, and names that operators gave, never values that a
 * caller sent. A request changes integers, and observes histograms whose labels were resolved before.
 */
export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>

/** Sources that are read when the metrics are collected. */
export interface Observed {
  readonly inFlight: () => number
  readonly readiness: Pick<Readiness, 'dependencies' | 'knowledgeBases'>
  readonly concurrency: Pick<ConcurrencyLimit, 'state'>
  readonly clock: Pick<ClockCheck, 'register'>
  readonly searchTier: Pick<SearchTier, 'register'>
  readonly usage: UsageBoard
  readonly refusals: Pick<Refusals, 'add'>
  readonly database: Database
  /** Of the keys that this runtime accepts. */
  readonly environment: string
  readonly certificate: string | undefined
}

export function createGatewayMetrics(observed: Observed) {
  const registry = createRegistry(GATEWAY_BOUNDS.eventLoopLagEveryMs)
  const registers = [registry]
  const histogram = (name: MetricName) => new Histogram({ ...aboutMetric(name), buckets: SECONDS, registers })
  const total = histogram('evidence_request_seconds')
  const own = histogram('evidence_gateway_own_seconds')
  const stages = histogram('evidence_stage_seconds')
  const waits = histogram('evidence_wait_seconds')
  const restores = new Counter({ ...aboutMetric('evidence_restore_refusals_total'), registers })
  const countModels = registerModels(registers)
  const count = registerOutcomes(registry, observed.refusals)
  registerGauges(registry, observed)
  // Resolved once, because a lookup by label per request costs more than all other metrics together.
  const ofStage = byName(STAGES, (stage) => stages.labels(stage))
  const ofParty = byName(PARTIES, (party) => waits.labels(party))
  return {
    finished: (context: RequestContext, finished: Finished): void => {
      const { timings, usage } = context
      count(context, finished)
      if (usage !== undefined) observed.usage.note(usage)
      countModels(finished)
      if (finished.error?.cause instanceof RestoredError) restores.inc()
      total.observe(timings.totalMs() / 1_000)
      own.observe(ownMs(timings) / 1_000)
      for (const { name, ms } of timings.stages) ofStage[name].observe(ms / 1_000)
      for (const party of PARTIES) ofParty[party].observe(timings.waitedMs[party] / 1_000)
    },
    registry,
  }
}

/** Buckets of scores, which lie between 0 and 1. */
const SCORES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]

/** What became of requests: in all, by client, by knowledge base, and where failures arose. */
function registerOutcomes(
  registry: Registry,
  refusals: Observed['refusals'],
): (context: RequestContext, finished: Finished) => void {
  const tally = (name: MetricName) => {
    const made = createTally(name)
    made.register(registry)
    return made
  }
  const requests = tally('evidence_requests_total')
  const byClient = tally('evidence_client_requests_total')
  const decisions = tally('evidence_decisions_total')
  const failures = tally('evidence_failed_requests_total')
  const scores = new Histogram({
    ...aboutMetric('evidence_first_passage_score'),
    buckets: SCORES,
    registers: [registry],
  })
  const ofKnowledgeBase = new Map<string, { observe(score: number): void }>()
  const named = createBoundedNames(GATEWAY_BOUNDS.clientsNamedMax)
  return ({ client, about, timings, firstScore }, { reply, error, decision }) => {
    const code = error?.code ?? ''
    requests.add(String(reply.status), code, decision ?? '')
    const outcome = decision ?? limitOf(error) ?? code
    if (client !== undefined) byClient.add(named(client), outcome)
    if (REFUSALS.has(reply.status)) refusals.add(about.client_id ?? '', reply.status, outcome)
    const { knowledge_base: base } = about
    if (base !== undefined && decision !== undefined) {
      decisions.add(base, decision)
      let score = ofKnowledgeBase.get(base)
      if (score === undefined) ofKnowledgeBase.set(base, (score = scores.labels(base)))
      score.observe(firstScore ?? 0)
    }
    if (reply.status === 503) failures.add(timings.stages.at(-1)?.name ?? 'headers', code)
  }
}

/** Statuses by which a caller learns that it, or the service, has to change something. */
const REFUSALS = new Set([401, 403, 429, 503])

/** Which limit refused a request; undefined: none did. */
function limitOf(error: Finished['error']): string | undefined {
  return error?.status === 429 ? error.details?.[0]?.reason : undefined
}

function registerModels(registers: Registry[]) {
  const counterOf = (requests: MetricName, reported: MetricName) => {
    const results = new Counter({ ...aboutMetric(requests), registers })
    const tokens = new Counter({ ...aboutMetric(reported), registers })
    return (use: Finished['rewriter'] | Finished['reader']): void => {
      if (typeof use?.result === 'string') results.inc({ result: use.result })
      tokens.inc(use?.tokens ?? 0)
    }
  }
  const rewriter = counterOf('evidence_rewritings_total', 'evidence_rewriter_tokens_total')
  const reader = counterOf('evidence_readings_total', 'evidence_reader_tokens_total')
  return (finished: Finished): void => {
    rewriter(finished.rewriter)
    reader(finished.reader)
  }
}

/** Their values are read when they are collected. */
function registerGauges(registry: Registry, observed: Observed): void {
  const { inFlight, readiness, concurrency, clock, certificate, searchTier, usage, database, environment } = observed
  clock.register(registry)
  registerCertificate(registry, certificate)
  searchTier.register(registry)
  registerPool(registry, database)
  gauge(registry, 'evidence_requests_in_flight', () => [[{}, inFlight()]])
  gauge(registry, 'evidence_concurrent_requests', () => {
    const { limit, active, waiting } = concurrency.state()
    return Object.entries({ limit, active, waiting }).map(([state, value]) => [{ state }, value])
  })
  gauge(registry, 'evidence_dependency_up', () =>
    Object.entries(readiness.dependencies()).map(([dependency, { state }]) => [{ dependency }, Number(state === 'up')]),
  )
  gauge(registry, 'evidence_knowledge_base_served', () =>
    readiness
      .knowledgeBases()
      .map(({ knowledge_base, version, reason }) => [
        { knowledge_base, version: version ?? '' },
        Number(reason === null),
      ]),
  )
  gauge(registry, 'evidence_clients_near_limit', () => {
    const near = usage.near()
    const { nearShare } = GATEWAY_BOUNDS
    return [
      [{ limit: 'day' }, near.filter(({ day }) => day >= nearShare).length],
      [{ limit: 'month' }, near.filter(({ month }) => month >= nearShare).length],
      [{ limit: 'exposure' }, near.filter(({ tightened }) => tightened).length],
    ]
  })
  gauge(registry, 'evidence_api_keys_expiring', async () => [
    [{ environment }, await countExpiringKeys(database, environment, GATEWAY_BOUNDS.keyExpiryDays)],
  ])
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
