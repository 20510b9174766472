import { Counter, type Registry } from 'prom-client'
import { databaseClockMs, type Queryable } from '#core/db/pool.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { Log } from '#core/platform/log.ts'
import { aboutMetric, gauge } from '#core/platform/metrics.ts'
import type { Counters } from './counters.ts'

const SERVERS = ['postgres', 'redis'] as const
type Server = (typeof SERVERS)[number]

/**
 * Compares this process's clock with those of Postgres and Redis. Keys expire by the first, rows are dated by the
 * second, and allowances are charged by the third, so work under clocks that differ is refused.
 */
export type ClockCheck = Awaited<ReturnType<typeof startClockCheck>>

export function checkClocks(database: Queryable, counters: Counters, log: Log): Promise<ClockCheck> {
  return startClockCheck({ postgres: () => databaseClockMs(database), redis: counters.serverClockMs }, log)
}

/** Resolves after the first comparison. @param read ms since 1970-01-01 by each server; each has a deadline of its own. */
export async function startClockCheck(
  read: Readonly<Record<Server, () => Promise<number>>>,
  log: Log,
  nowMs: () => number = Date.now,
) {
  let next: NodeJS.Timeout | undefined
  let stopped = false
  /** Servers less this process, in ms. */
  const known = new Map<Server, number>()
  let fault: string | undefined
  const refusals = new Counter({ ...aboutMetric('evidence_clock_refusals_total'), registers: [] })

  async function compare(): Promise<void> {
    await Promise.all(
      SERVERS.map(async (server) => {
        const before = nowMs()
        const theirs = await read[server]().catch(() => undefined)
        if (theirs === undefined) known.delete(server)
        else known.set(server, outside(theirs, before, nowMs()))
      }),
    )
    const all = [0, ...known.values()]
    const differs = Math.max(...all) - Math.min(...all) > PLATFORM_BOUNDS.clockDifferenceMaxMs
    const said = [...known].map(([server, ms]) => `${server} ${ms < 0 ? '' : '+'}${Math.round(ms / 1_000)} s`)
    const before = fault
    fault = differs ? `clock: against this process, ${said.join(' and ')}` : undefined
    if (differs && before === undefined) log.error('clocks differ', { reason: fault })
    else if (!differs && before !== undefined) log.info('clocks agree')
  }

  function schedule(): void {
    if (!stopped) next = setTimeout(() => void compare().then(schedule), PLATFORM_BOUNDS.clockCheckEveryMs)
  }
  await compare()
  schedule()
  return {
    /** Which clocks differ, and by how much; undefined while those that could be read agree. */
    fault: () => fault,
    /** The same, and counts it as a refused request. */
    refusal() {
      if (fault !== undefined) refusals.inc()
      return fault
    },
    /** Whether it is this process's clock that differs from all others. */
    isOwnFault: () =>
      fault !== undefined && [...known.values()].every((ms) => Math.abs(ms) > PLATFORM_BOUNDS.clockDifferenceMaxMs),
    register(registry: Registry) {
      registry.registerMetric(refusals)
      gauge(registry, 'evidence_clock_difference_seconds', () =>
        [...known].map(([server, ms]) => [{ server }, ms / 1_000]),
      )
    },
    stop() {
      stopped = true
      clearTimeout(next)
    },
  }
}

/** How far a time lies outside of the span in which it was read; a slow reply is no difference. */
function outside(ms: number, fromMs: number, toMs: number): number {
  if (ms < fromMs) return ms - fromMs
  return ms > toMs ? ms - toMs : 0
}
