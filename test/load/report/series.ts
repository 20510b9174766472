import { mostAtOnce, occupancyOf } from '../checks/intervals.ts'
import { surelyLeased } from '../checks/leases.ts'
import type { Evidence } from '../checks/check.ts'

/** A number over time beside the cap that it must not exceed. */
export interface Series {
  readonly name: string
  readonly cap: number
  /** Seconds since the first request, and the largest number up to the next point. */
  readonly points: readonly (readonly [seconds: number, value: number])[]
}

const POINTS = 240
const MINUTE_MS = 60_000
/** Caps beyond this are those that no scenario reaches. */
const CAP_SHOWN_MAX = 5_000

/** Leases and admissions of 60 s over time, for the tenants that come closest to their caps. */
export function seriesOf({ tenants, truth }: Evidence, shownMax = 2): readonly Series[] {
  const byEntitlement = Map.groupBy(truth?.reservations ?? [], ({ entitlementId }) => entitlementId)
  const series = tenants.flatMap(({ name, limits, ids }) => {
    const reservations = byEntitlement.get(ids?.entitlementId ?? '') ?? []
    if (limits === undefined || reservations.length < 2) return []
    const admitted = reservations.map(({ admittedAtMs }) => admittedAtMs)
    const [fromMs, toMs] = [Math.min(...admitted), Math.max(...reservations.map((one) => one.finishedAtMs ?? 0))]
    const occupancy = occupancyOf(surelyLeased(reservations))
    const stepMs = Math.max(1, (toMs - fromMs) / POINTS)
    const sample = (valueAt: (atMs: number) => number): Series['points'] =>
      Array.from({ length: POINTS + 1 }, (_, n) => [(n * stepMs) / 1_000, valueAt(fromMs + n * stepMs)] as const)
    return [
      {
        name: `leases of ${name}`,
        cap: limits.concurrency,
        points: sample((atMs) => mostAtOnce(occupancy, atMs, atMs + stepMs).most),
      },
      {
        name: `admissions of ${name} in 60 s`,
        cap: limits.requests_per_minute,
        points: sample((atMs) => admitted.filter((ms) => ms > atMs - MINUTE_MS && ms <= atMs).length),
      },
    ]
  })
  return series
    .filter(({ cap }) => cap <= CAP_SHOWN_MAX)
    .sort((one, other) => closeness(other) - closeness(one))
    .slice(0, shownMax)
}

function closeness({ cap, points }: Series): number {
  return Math.max(...points.map(([, value]) => value)) / cap
}
