import { statfsSync } from 'node:fs'
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import { PLATFORM_BOUNDS } from './bounds.ts'
import { countedEvents } from './log.ts'
import { COMMIT, RELEASE } from './release.ts'
import { withTimeout } from './with-timeout.ts'

/**
 * Prometheus metrics of a process. Labels are codes and names that operators gave; never a key, a query, or another
 * value that a caller sent.
 */

export type Labels = Readonly<Record<string, string>>
export type Sample = readonly [labels: Labels, value: number]

/** A registry with what every process has: Node's own metrics, the release, and counts of what was logged. */
export function createRegistry(eventLoopLagEveryMs = 10): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopLagEveryMs })
  gauge(registry, 'evidence_build_info', '1, with the release and the commit that run.', ['release', 'commit'], () => [
    [{ release: RELEASE, commit: COMMIT }, 1],
  ])
  collected(registry, 'evidence_events_total', 'Events of the log by level and name.', ['level', 'event'], () =>
    [...countedEvents()].map(([event, { level, count }]) => [{ level, event }, count]),
  )
  return registry
}

/**
 * Adds a gauge whose samples are read at each scrape. Where they cannot be read it has none, so that one fault does not
 * hide the other metrics.
 */
export function gauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  samples: () => Iterable<Sample> | Promise<Iterable<Sample>>,
): void {
  new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    async collect() {
      let read: readonly Sample[] = []
      try {
        const reading = samples()
        const all =
          reading instanceof Promise ? await withTimeout(PLATFORM_BOUNDS.metricReadTimeoutMs, name, reading) : reading
        read = [...all].slice(0, PLATFORM_BOUNDS.metricSeriesMax)
      } catch {
        // Its absence is the sign.
      }
      this.reset()
      // A gauge without labels is 0 after its reset.
      if (labelNames.length === 0) this.remove()
      for (const [labels, value] of read) this.set({ ...labels }, value)
    },
  })
}

/** Adds a counter whose samples are read at each scrape. */
export function collected(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  samples: () => readonly Sample[],
): void {
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset()
      for (const [labels, value] of samples()) this.inc({ ...labels }, value)
    },
  })
}

interface Branch {
  readonly below: Map<string, Branch>
  count: number
}

export function createTally(name: string, help: string, labelNames: readonly string[]) {
  const root: Branch = { below: new Map(), count: 0 }
  const series: { readonly labels: Labels; readonly branch: Branch }[] = []
  const others = labelNames.map(() => 'other')

  function branchOf(values: readonly string[]): Branch | undefined {
    let branch: Branch | undefined = root
    for (let at = 0; at < values.length && branch !== undefined; at++) branch = branch.below.get(values[at] ?? '')
    return branch
  }
  function grown(values: readonly string[]): Branch {
    let branch = root
    for (const value of values) {
      const next = branch.below.get(value) ?? { below: new Map<string, Branch>(), count: 0 }
      branch.below.set(value, next)
      branch = next
    }
    series.push({ labels: Object.fromEntries(labelNames.map((label, at) => [label, values[at] ?? ''])), branch })
    return branch
  }
  return {
    /** @param values of the labels, in their order. Past `metricSeriesMax` series, each value is `other`. */
    add(...values: readonly string[]) {
      const known = branchOf(values)
      if (known !== undefined) known.count++
      else if (series.length < PLATFORM_BOUNDS.metricSeriesMax) grown(values).count++
      else (branchOf(others) ?? grown(others)).count++
    },
    register: (registry: Registry) =>
      collected(registry, name, help, labelNames, () => series.map(({ labels, branch }) => [labels, branch.count])),
  }
}

/** Returns a name as a label; names past the first `max` are `other`. */
export function createBoundedNames(max: number): (name: string) => string {
  const names = new Set<string>()
  return (name) => {
    if (!names.has(name) && names.size >= max) return 'other'
    names.add(name)
    return name
  }
}

export function diskOf(place: string, path: string) {
  const { bavail, blocks, bsize } = statfsSync(path)
  return { place, freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/** @param paths of folders on the file systems to watch, by the name of what is kept there. */
export function registerDisks(registry: Registry, paths: Readonly<Record<string, string>>): void {
  gauge(registry, 'evidence_disk_bytes', 'Space of a file system by what is kept there.', ['place', 'state'], () =>
    Object.entries(paths).flatMap(([name, path]) => {
      const { place, freeBytes, totalBytes } = diskOf(name, path)
      return [[{ place, state: 'free' }, freeBytes] as const, [{ place, state: 'total' }, totalBytes] as const]
    }),
  )
}

/** @param pool that `core/db` opened. */
export function registerPool(
  registry: Registry,
  pool: { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number },
): void {
  gauge(
    registry,
    'evidence_database_connections',
    'Connections to Postgres: used, idle, and awaited.',
    ['state'],
    () => [
      [{ state: 'used' }, pool.totalCount - pool.idleCount],
      [{ state: 'idle' }, pool.idleCount],
      [{ state: 'awaited' }, pool.waitingCount],
    ],
  )
}
