import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '#test/load/client.ts'
import type { Tenant } from '#test/load/evidence.ts'
import { burst, type Arrival } from '#test/load/arrivals.ts'
import { reservationIdOf, type RequestRecord } from '#test/load/record.ts'
import { outcomeOf, type CheckResult } from '#test/load/report.ts'
import { sendOffer } from '#test/load/schedule.ts'
import { outgoing } from '#test/load/stage.ts'
import { createTenant } from '#test/load/services/services.ts'
import { readTruth } from '#test/load/services/truth-reader.ts'
import { until } from '#test/support/until.ts'
import { BASELINE, FLEET_CHECKS, type FleetEvidence, type Window } from './checks.ts'
import type { Fleet } from './fleet.ts'
import type { History } from './history.ts'
import { USUAL_DELAY_MS, inject } from './inject.ts'
import { TENANTS, drawLoad } from './load.ts'
import { createOperations, endedWork, readCaptures } from './operations.ts'
import { QUIET_MS, drawSchedule, type Fault, type Round } from './schedule.ts'
import { watchProvider, watchSlowness } from './watch.ts'

const BASELINE_EVERY_MS = 150
/** For what an operator began, once the load has ended. */
const OPERATIONS_END_MS = 60_000
const EXAMPLES_MAX = 5
const WARM_ANSWERS = 20
/** A run lasts at most so many times its length, where faults take longer than planned. */
const LATE_MAX = 2
/** At the end of a run. */
const LAST_REQUESTS = 8
const LAST_DELAY_MS = 2_000

export interface FleetRun {
  readonly fleet: Fleet
  readonly seed: number
  readonly minutes: number
  readonly history: History
  /** Ends the faults, then the load; what there is until then is judged. */
  readonly signal: AbortSignal
  /** One line a round. */
  readonly print: (line: string) => void
  /** Processes that ended by themselves; grows during the run. */
  readonly ended: readonly string[]
}

export interface FleetResult {
  readonly checks: readonly CheckResult[]
  /** Requests by outcome. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly rounds: readonly Round[]
  readonly slowness: number
  /** For how long the machine itself excuses failures. */
  readonly busySeconds: number
  readonly interrupted: boolean
}

/** Plays the rounds of a seed under load, waits until everything is settled, and judges what happened. */
export async function runFleet(run: FleetRun): Promise<FleetResult> {
  const { fleet, seed, history, signal } = run
  const runMs = run.minutes * 60_000
  const schedule = drawSchedule(seed, runMs, fleet.sizes)
  history.write('schedule', { seed, minutes: run.minutes, sizes: fleet.sizes, rounds: schedule })
  const tenants: Tenant[] = []
  for (const wanted of TENANTS) tenants.push(await createTenant(fleet, 'fleet', wanted))
  const load = createLoad(run, tenants)
  fleet.provider.behaviour.delayMs = USUAL_DELAY_MS
  await load.warm(await createTenant(fleet, 'fleet', { name: 'warm', limits: {}, keys: 1 }))
  const provider = watchProvider(fleet, load.questions)
  const slowness = watchSlowness()
  const asked = load.questions.map((query, n): Arrival => ({ tenant: 'steady', query, atMs: n * BASELINE_EVERY_MS }))
  await load.offer(BASELINE, asked, signal)
  const { question, passage } = await firstAnswered(fleet, load)
  const operations = createOperations(fleet, () => passage)
  const enough = new AbortController()
  const arrivals = drawLoad(seed, runMs * LATE_MAX, { question, run: `fleet-${seed}-${Date.now().toString(36)}` })
  const offered = load.offer('load', arrivals, enough.signal)
  const work = createWork(history)
  const drawn = await play(run, schedule, load.records, (round) => {
    if (round.operation !== undefined) work.begin(round.operation, operations.run[round.operation])
  })
  enough.abort()
  await offered
  const windows = signal.aborted ? drawn : [...drawn, ...(await playLast(run, load))]
  await work.end()
  const left = await endedWork(fleet, signal)
  const lastEndMs = load.records.reduce((last, { endedMs }) => Math.max(last, endedMs), 0)
  const redisUrl = await fleet.redis.primaryUrl()
  const { most, busy, seconds: busySeconds } = slowness.stop()
  const truth = await readTruth({ ...fleet, settings: { ...fleet.settings, redisUrl } }, tenants, lastEndMs)
  const providerCallsMs = provider.stop()
  await load.close()
  const { records, questionOf } = load
  const { withdrawn, revoked } = operations
  const captures = await readCaptures(fleet)
  const observed = { ...truth, records, questionOf, providerCallsMs, windows: [...windows, ...busy], slowness: most }
  const operated = { work: left, withdrawn, revoked, captures }
  const whole = { ...observed, ...operated, tenants, kills: [], sizes: fleet.sizes, ended: run.ended }
  for (const reservation of truth.reservations) history.write('reservation', reservation)
  for (const counters of truth.counters) history.write('counters', counters)
  history.write('truth', { settledAfterMs: truth.settledAfterMs, work: whole.work, withdrawn, revoked })
  const outcomes = Object.groupBy(records, outcomeOf)
  return {
    checks: judge(whole, history),
    outcomes: Object.fromEntries(Object.entries(outcomes).map(([name, of]) => [name, of?.length ?? 0])),
    rounds: schedule,
    slowness: most,
    busySeconds,
    interrupted: signal.aborted,
  }
}

type Load = ReturnType<typeof createLoad>

function createLoad({ fleet, history }: FleetRun, tenants: readonly Tenant[]) {
  const client = createClient()
  const { questions } = fleet
  const records: RequestRecord[] = []
  const questionOf = new Map<number, string>()
  let numbers = 0
  const shared = { questions, gateways: fleet.sizes.gateways, unknownKey: () => '' }
  return {
    questions,
    records,
    questionOf,
    /** Until the gateways answer one request after the other; what they answer is judged nowhere. */
    async warm(tenant: Tenant) {
      const sending = { ...shared, tenants: [tenant], takeNumber: () => 0 }
      let answered = 0
      await until('the gateways answer', async (seen) => {
        for (const [gateway, target] of fleet.baseUrls.entries()) {
          const request = outgoing(sending, { tenant: tenant.name, atMs: 0, gateway }, answered)
          const { status } = await client.send(target, fleet.knowledgeBase, request)
          answered = status === 200 ? answered + 1 : 0
        }
        seen(answered)
        return answered >= WARM_ANSWERS
      })
    },
    async offer(phase: string, arrivals: readonly Arrival[], signal: AbortSignal) {
      const sending = { ...shared, tenants, takeNumber: () => numbers++ }
      const requests = arrivals.map((arrival, n) => outgoing(sending, arrival, n))
      for (const { n, query } of requests) questionOf.set(n, query)
      const target = {
        targets: fleet.baseUrls,
        knowledgeBase: fleet.knowledgeBase,
        clockOffsetMs: 0,
        probeWaitMaxMs: 0,
      }
      await sendOffer({ ...target, phase, requests, signal }, client, (record) => {
        records.push(record)
        history.write('request', { ...record, query: questionOf.get(record.n) })
      })
    },
    close: () => client.close(),
  }
}

/** A question of the baseline that was answered, and its first passage, which the run withdraws. */
async function firstAnswered({ owner }: Fleet, { records, questionOf }: Load) {
  const answered = records.find(({ decision }) => decision === 'answer')
  if (answered === undefined) throw new Error('no question of the baseline was answered')
  const { rows } = await owner.query<{ chunk: string }>(
    `select served->0->>'chunk' as chunk from reservations where id = $1`,
    [reservationIdOf(answered)],
  )
  return { question: questionOf.get(answered.n) ?? '', passage: rows[0]?.chunk ?? '' }
}

/** Operations beside the faults; those of one kind follow each other. */
function createWork(history: History) {
  const last = new Map<string, Promise<unknown>>()
  return {
    begin(operation: string, work: () => Promise<unknown>) {
      const begun = (last.get(operation) ?? Promise.resolve()).then(async () => {
        history.write('operation', { operation, state: 'begun' })
        const outcome = await work().then(
          () => 'done',
          (error: unknown) => `failed: ${String(error)}`,
        )
        history.write('operation', { operation, state: outcome })
      })
      last.set(operation, begun)
    },
    end: () => Promise.race([Promise.all(last.values()), sleep(OPERATIONS_END_MS, undefined, { ref: false })]),
  }
}

/** Begins and ends the faults of each round. @returns when each was in effect. */
async function play(
  { fleet, history, signal, print, minutes }: FleetRun,
  schedule: readonly Round[],
  records: readonly RequestRecord[],
  onRound: (round: Round) => void,
): Promise<readonly Window[]> {
  const windows: Window[] = []
  const runMs = minutes * 60_000
  const began = Date.now()
  const pause = (ms: number): Promise<unknown> => sleep(Math.max(0, ms), undefined, { signal }).catch(() => undefined)
  // A round that took longer than planned moves the later ones.
  let lateMs = 0
  for (const [at, round] of schedule.entries()) {
    await pause(began + lateMs + round.atMs - Date.now())
    if (signal.aborted || Date.now() - began > runMs * LATE_MAX - 2 * QUIET_MS) break
    const seen = records.length
    const fromMs = Date.now()
    for (const fault of round.faults) history.write('fault', { ...fault, state: 'begun' })
    onRound(round)
    const undos = await Promise.all(round.faults.map((fault) => inject(fleet, fault)))
    await pause(round.lastsMs)
    await Promise.all(undos.map((undo) => undo()))
    const toMs = Date.now()
    for (const fault of round.faults) history.write('fault', { ...fault, state: 'ended' })
    windows.push(...round.faults.map((fault) => ({ ...fault, fromMs, toMs })))
    const plannedMs = (schedule[at + 1]?.atMs ?? Infinity) - round.atMs
    lateMs += Math.max(0, toMs - fromMs + QUIET_MS - plannedMs)
    print(lineOf(round, { fromMs: fromMs - began, toMs: toMs - began }, records.slice(seen)))
  }
  await pause(QUIET_MS)
  return windows
}

/**
 * Kills the gateways while requests are under way, then cuts Redis off while others are settled. Both are of callers
 * who send nothing more, because their next admission would repair what a faulty service leaves.
 * @returns when each was in effect.
 */
async function playLast({ fleet, signal, history }: FleetRun, load: Load): Promise<readonly Window[]> {
  const { gateways, provider, redis } = fleet
  const windows: Window[] = []
  async function during(tenant: string, faults: readonly Fault[]): Promise<void> {
    const asked = (): number => provider.requests.filter(({ input }) => input.length === 1).length
    const before = asked()
    const sent = load.offer('last', burst(LAST_REQUESTS, { tenant }), signal)
    await Promise.race([until('they wait for the provider', () => asked() - before >= LAST_REQUESTS), sent])
    const fromMs = Date.now()
    const undos = await Promise.all(faults.map((fault) => inject(fleet, fault)))
    await sent
    await Promise.all(undos.map((undo) => undo()))
    windows.push(...faults.map((fault) => ({ ...fault, fromMs, toMs: Date.now() })))
    history.write('fault', { faults, state: 'ended', fromMs })
  }
  provider.behaviour.delayMs = LAST_DELAY_MS
  const kills = gateways.map((_, n) => ({ party: `gateway-${n}`, kind: 'kill' }))
  await during('impatient', kills)
  // A failover would lose what is settled meanwhile.
  await redis.waitLonger()
  await during('steady', [{ party: 'redis', kind: 'network cut' }])
  return windows
}

function lineOf(
  { faults, operation }: Round,
  { fromMs, toMs }: Pick<Window, 'fromMs' | 'toMs'>,
  seen: readonly RequestRecord[],
) {
  const names = [
    ...faults.map(({ party, kind }) => `${party} ${kind}`),
    ...(operation === undefined ? [] : [operation]),
  ]
  const counts = [...Map.groupBy(seen, outcomeOf)].map(([outcome, of]) => `${of.length} × ${outcome}`)
  return `${(fromMs / 1_000).toFixed(1)}–${(toMs / 1_000).toFixed(1)} s  ${names.join(' + ')}: ${counts.join(', ')}`
}

function judge(evidence: FleetEvidence, history: History): readonly CheckResult[] {
  return FLEET_CHECKS.map(({ name, guarantee, find }) => {
    const { checked, violations } = find(evidence)
    for (const violation of violations) history.write('violation', { check: name, ...violation })
    return { name, guarantee, checked, violations: violations.length, examples: violations.slice(0, EXAMPLES_MAX) }
  })
}
