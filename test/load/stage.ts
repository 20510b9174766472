import { setTimeout as sleep } from 'node:timers/promises'
import { cpuBetween, cpuTimes } from '#test/bench/cpu.ts'
import type { Arrival, Outgoing } from './arrivals.ts'
import type { Kill, Tenant } from './evidence.ts'
import type { RequestRecord } from './record.ts'
import { outcomeOf, summarize, type PhaseSummary } from './report.ts'
import type { OfferOptions, Scenario, Stage } from './scenarios/scenario.ts'
import { sendOffer } from './schedule.ts'
import type { Gateways } from './services/gateways.ts'
import type { RunDeps } from './services/services.ts'

/** Of one phase; a larger one would not fit into the memory of the run. */
const PHASE_REQUESTS_MAX = 100_000
const PROGRESS_EVERY_MS = 500

interface StageDeps extends RunDeps, Pick<Sending, 'tenants' | 'takeNumber'> {
  readonly scenario: Scenario
  /** Of the clock that the scenario needs. */
  readonly servers: Gateways
  readonly saturation: number
}

/** A stage and what was seen on it. */
export function createStage(deps: StageDeps) {
  const { services, scenario, settings, signal, servers, progress } = deps
  const records: RequestRecord[] = []
  const phases: PhaseSummary[] = []
  const kills: Kill[] = []
  const figures: Record<string, number> = {}
  const sending = { ...deps, ...services, gateways: servers.baseUrls.length }

  async function offer(
    phase: string,
    arrivals: readonly Arrival[],
    { probeWaitMaxMs = 0, lastsMs }: OfferOptions = {},
  ): Promise<readonly RequestRecord[]> {
    if (signal.aborted || arrivals.length === 0) return []
    if (arrivals.length > PHASE_REQUESTS_MAX)
      throw new Error(`phase "${phase}" has more than ${PHASE_REQUESTS_MAX} requests`)
    const seen: RequestRecord[] = []
    const show = (): void => progress.update(`${scenario.name}: ${phase}`, seen.length, arrivals.length, countsOf(seen))
    const timer = setInterval(show, PROGRESS_EVERY_MS)
    const cpuBefore = cpuTimes()
    const offered = {
      phase,
      targets: servers.baseUrls,
      knowledgeBase: services.installation.knowledgeBase,
      clockOffsetMs: servers.clockOffsetMs(),
      probeWaitMaxMs,
      requests: arrivals.map((arrival, n) => outgoing(sending, arrival, n)),
      signal,
    }
    await sendOffer(offered, services.client, (record) => seen.push(record)).finally(() => clearInterval(timer))
    show()
    progress.end()
    records.push(...seen)
    const offeredMs = lastsMs ?? Math.max(...arrivals.map(({ atMs }) => atMs))
    phases.push(summarize(phase, seen, { lastsMs: offeredMs, cpu: cpuBetween(cpuBefore, cpuTimes()) }))
    return seen
  }

  const stage: Stage = {
    ...settings,
    questions: services.questions,
    offer,
    wait: async (ms) => {
      if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => undefined)
    },
    provider: (delayMs, failing = false) =>
      void Object.assign(services.installation.provider.behaviour, { delayMs, failing }),
    kill: async (gateway) => {
      kills.push({ gateway, atMs: Date.now() })
      await servers.kill(gateway)
    },
    restart: servers.restart,
    moveClock: servers.moveClock,
    figure: (name, value) => void (figures[name] = value),
    saturation: () => deps.saturation,
  }
  return { stage, records, phases, kills, figures }
}

/** What an arrival is sent with, where it names nothing else. */
export interface Sending {
  readonly tenants: readonly Tenant[]
  readonly questions: readonly string[]
  readonly gateways: number
  /** Numbers of requests are given out once in a run. */
  readonly takeNumber: () => number
  readonly unknownKey: () => string
}

/** Keys, gateways and questions take turns. */
export function outgoing(
  { tenants, questions, gateways, takeNumber, unknownKey }: Sending,
  { key, probe, ...sent }: Arrival,
  n: number,
): Outgoing {
  const tenant = tenants.find(({ name }) => name === sent.tenant)
  if (tenant === undefined) throw new Error(`the scenario has no tenant "${sent.tenant}"`)
  return {
    ...sent,
    n: takeNumber(),
    probeN: probe === true ? takeNumber() : undefined,
    secret: sent.unknownKey === true ? unknownKey() : (tenant.secrets[(key ?? n) % tenant.secrets.length] ?? ''),
    gateway: (sent.gateway ?? n) % gateways,
    query: sent.query ?? questions[n % questions.length] ?? '',
  }
}

/** `12 × 200, 3 × 429 RATE_LIMITED rate`. */
function countsOf(records: readonly RequestRecord[]): string {
  return [...Map.groupBy(records, outcomeOf)].map(([outcome, of]) => `${of.length} × ${outcome}`).join(', ')
}
