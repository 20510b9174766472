import { statfsSync } from 'node:fs'
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import { PLATFORM_BOUNDS } from './bounds.ts'
import { countedEvents } from './log.ts'
import TEXTS from './metrics-texts.json' with { type: 'json' }
import { COMMIT, RELEASE } from './release.ts'
import { withTimeout } from './with-timeout.ts'

/**
 * Prometheus metrics of a process. Labels are codes and names that operators gave; never a key, a query, or another
 * value that a caller sent.
 */

export type Labels = Readonly<Record<string, string>>
export type Sample = readonly [labels: Labels, value: number]
export type MetricName = keyof typeof TEXTS

/** Name, help and labels of a metric, as prom-client takes them. */
export function aboutMetric(name: MetricName): { name: string; help: string; labelNames: string[] } {
  return { name, ...TEXTS[name] }
}

/** A registry with what every process has: Node's own metrics, the release, and counts of what was logged. */
export function createRegistry(eventLoopLagEveryMs = 10): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopLagEveryMs })
  gauge(registry, 'evidence_build_info', () => [[{ release: RELEASE, commit: COMMIT }, 1]])
  collected(registry, 'evidence_events_total', () =>
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
  name: MetricName,
  samples: () => Iterable<Sample> | Promise<Iterable<Sample>>,
): void {
  const about = aboutMetric(name)
  new Gauge({
    ...about,
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
      if (about.labelNames.length === 0) this.remove()
      for (const [labels, value] of read) this.set({ ...labels }, value)
    },
  })
}

/** Adds a counter whose samples are read at each scrape. */
export function collected(registry: Registry, name: MetricName, samples: () => readonly Sample[]): void {
  new Counter({
    ...aboutMetric(name),
    registers: [registry],
    collect() {
      this.reset()
      for (const [labels, value] of samples()) this.inc({ ...labels }, value)
    },
  })
}

export function createTally(name: MetricName) {
  const { labelNames } = aboutMetric(name)
  const series = new Map<string, { readonly labels: Labels; count: number }>()
  const others = labelNames.map(() => 'other')

  function grown(key: string, values: readonly string[]) {
    const labels = Object.fromEntries(labelNames.map((label, at) => [label, values[at] ?? '']))
    const added = { labels, count: 0 }
    series.set(key, added)
    return added
  }
  return {
    /** @param values of the labels, in their order. Past `metricSeriesMax` series, each value is `other`. */
    add(...values: readonly string[]) {
      const isPlaced = series.size < PLATFORM_BOUNDS.metricSeriesMax || series.has(values.join('\0'))
      const placed = isPlaced ? values : others
      const key = placed.join('\0')
      const counted = series.get(key) ?? grown(key, placed)
      counted.count++
    },
    register: (registry: Registry) =>
      collected(registry, name, () => [...series.values()].map(({ labels, count }) => [labels, count])),
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
  gauge(registry, 'evidence_disk_bytes', () =>
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
  gauge(registry, 'evidence_database_connections', () => [
    [{ state: 'used' }, pool.totalCount - pool.idleCount],
    [{ state: 'idle' }, pool.idleCount],
    [{ state: 'awaited' }, pool.waitingCount],
  ])
}
