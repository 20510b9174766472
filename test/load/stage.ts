import { setTimeout as sleep } from 'node:timers/promises'
import { cpuBetween, cpuTimes } from '#test/bench/cpu.ts'
import type { Progress } from '#operator/command-line/progress.ts'
import type { Arrival } from './arrivals.ts'
import type { Generator } from './generator/generator.ts'
import type { Outgoing } from './generator/messages.ts'
import type { RequestRecord } from './record.ts'
import { outcomeOf, summarize } from './report/summary.ts'
import type { PhaseSummary } from './report/summary.ts'
import type { LoadSettings, OfferOptions, Scenario, Stage } from './scenarios/scenario.ts'
import { chosen } from './target.ts'
import type { Kill, Target } from './target.ts'
import type { Tenant } from './tenant.ts'

/** Of one phase; a larger one would not fit into the memory of the run. */
const PHASE_REQUESTS_MAX = 100_000

export interface StageDeps {
  readonly target: Target
  readonly generator: Generator
  readonly scenario: Scenario
  readonly settings: LoadSettings
  readonly tenants: readonly Tenant[]
  readonly saturation: number
  readonly signal: AbortSignal
  readonly progress: Progress
  /** Numbers of requests are given out once in a run. */
  readonly takeNumber: () => number
}

/** A stage and what was seen on it. */
export interface RecordedStage {
  readonly stage: Stage
  readonly records: readonly RequestRecord[]
  readonly phases: readonly PhaseSummary[]
  readonly kills: readonly Kill[]
  readonly figures: Readonly<Record<string, number>>
}

export function createStage(deps: StageDeps): RecordedStage {
  const { target, scenario, settings, signal } = deps
  const clock = scenario.clock ?? 'real'
  const records: RequestRecord[] = []
  const phases: PhaseSummary[] = []
  const kills: Kill[] = []
  const figures: Record<string, number> = {}

  async function offer(
    phase: string,
    arrivals: readonly Arrival[],
    { probeWaitMaxMs = 0, lastsMs }: OfferOptions = {},
  ): Promise<readonly RequestRecord[]> {
    if (signal.aborted || arrivals.length === 0) return []
    if (arrivals.length > PHASE_REQUESTS_MAX)
      throw new Error(`phase "${phase}" has more than ${PHASE_REQUESTS_MAX} requests`)
    const targets = await target.baseUrls(clock)
    const seen: RequestRecord[] = []
    const cpuBefore = cpuTimes()
    const message = {
      phase,
      targets: [...targets],
      knowledgeBase: target.knowledgeBase,
      clockOffsetMs: target.clockOffsetMs(clock),
      probeWaitMaxMs,
      requests: arrivals.map((arrival, n) => outgoing(deps, arrival, n, targets.length)),
    }
    await deps.generator.offer(message, (some) => {
      seen.push(...some)
      deps.progress.update(`${scenario.name}: ${phase}`, seen.length, arrivals.length, countsOf(seen))
    })
    deps.progress.end()
    records.push(...seen)
    const offeredMs = lastsMs ?? Math.max(...arrivals.map(({ atMs }) => atMs))
    phases.push(summarize(phase, seen, { lastsMs: offeredMs, cpu: cpuBetween(cpuBefore, cpuTimes()) }))
    return seen
  }

  const stage: Stage = {
    ...settings,
    questions: target.questions,
    embedded: target.controls(clock, (gateway) => kills.push({ gateway, atMs: Date.now() })),
    offer,
    wait: async (ms) => {
      if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => undefined)
    },
    figure: (name, value) => void (figures[name] = value),
    saturation: () => deps.saturation,
  }
  return { stage, records, phases, kills, figures }
}

function outgoing({ target, tenants, takeNumber }: StageDeps, arrival: Arrival, n: number, gateways: number): Outgoing {
  const tenant = tenants.find(({ name }) => name === arrival.tenant)
  if (tenant === undefined) throw new Error(`the scenario has no tenant "${arrival.tenant}"`)
  const unknownKey = arrival.unknownKey === true
  return {
    n: takeNumber(),
    probeN: arrival.probe === true ? takeNumber() : null,
    atMs: arrival.atMs,
    tenant: tenant.name,
    secret: unknownKey ? target.unknownKey() : chosen(arrival, n, tenant.secrets),
    unknownKey,
    gateway: (arrival.gateway ?? n) % gateways,
    query: arrival.query ?? target.questions[n % target.questions.length] ?? '',
    idempotencyKey: arrival.idempotencyKey ?? null,
    behaviour: arrival.behaviour ?? null,
    from: arrival.from ?? null,
  }
}

/** `12 × 200, 3 × 429 RATE_LIMITED rate`. */
function countsOf(records: readonly RequestRecord[]): string {
  return [...Map.groupBy(records, outcomeOf)].map(([outcome, of]) => `${of.length} × ${outcome}`).join(', ')
}
