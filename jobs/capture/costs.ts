import { Histogram, type Registry } from 'prom-client'

interface CaptureCost {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly peakBytes: number
}

function createCaptureCosts() {
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name, help, buckets, registers: [] })
  const seconds = histogram(
    'evidence_capture_seconds',
    'Time of the process of each scheduled capture.',
    [1, 5, 15, 60, 300, 900, 1_800],
  )
  const cpu = histogram(
    'evidence_capture_cpu_seconds',
    'CPU time of the same, where it ended by itself.',
    [1, 5, 15, 60, 300, 900, 1_800],
  )
  const memory = histogram(
    'evidence_capture_memory_bytes',
    'The most memory of the same.',
    [128, 256, 512, 1_024, 2_048, 4_096].map((mb) => mb * 1_048_576),
  )
  return {
    /** @param seconds from start to end. @param cost as the process told; undefined: it was killed. */
    add(took: number, cost: Omit<CaptureCost, 'seconds'> | undefined): void {
      seconds.observe(took)
      if (cost === undefined) return
      cpu.observe(cost.cpuSeconds)
      memory.observe(cost.peakBytes)
    },
    register(registry: Registry): void {
      for (const metric of [seconds, cpu, memory]) registry.registerMetric(metric)
    },
  }
}

export const captureCosts = createCaptureCosts()
