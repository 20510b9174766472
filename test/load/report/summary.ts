import { CPU_PARTS } from '#test/bench/cpu.ts'
import type { CpuTimes } from '#test/bench/cpu.ts'
import { percentile } from '#test/bench/load.ts'
import type { RequestRecord } from '../record.ts'
import { goodput } from './goodput.ts'

export const SHARES = [0.5, 0.9, 0.95, 0.99, 1] as const

/** Latencies of one outcome, in milliseconds from the scheduled instant; by the shares of `SHARES`. */
export interface OutcomeSummary {
  readonly outcome: string
  readonly requests: number
  readonly latency_ms: readonly number[]
}

/** What one phase showed; nothing here is checked. */
export interface PhaseSummary {
  readonly phase: string
  readonly seconds: number
  readonly requests: number
  readonly offered_per_second: number
  readonly goodput_per_second: number
  readonly outcomes: readonly OutcomeSummary[]
  /** By how much the generator sent too late, 99th percentile. */
  readonly generator_late_p99_ms: number
  /** CPU milliseconds of each part of the service for each request; null where the system does not report it. */
  readonly cpu_ms_a_request: Readonly<Record<string, number>> | null
}

/** Status and code, or what became of the request without a reply. */
export function outcomeOf(record: RequestRecord): string {
  if (record.outcome !== 'replied') return record.outcome
  if (record.status === 200) return '200'
  const limit = record.code === 'RATE_LIMITED' ? (record.minuteLeft === 0 ? ' rate' : ' concurrency or exposure') : ''
  return `${record.status} ${record.code ?? 'without a code'}${limit}`
}

export function summarize(
  phase: string,
  records: readonly RequestRecord[],
  { lastsMs, cpu }: { readonly lastsMs: number; readonly cpu: CpuTimes | undefined },
): PhaseSummary {
  const outcomes = [...Map.groupBy(records, outcomeOf)]
    .map(([outcome, of]) => ({
      outcome,
      requests: of.length,
      latency_ms: percentiles(of.map(({ latencyMs }) => latencyMs)),
    }))
    .sort((one, other) => one.outcome.localeCompare(other.outcome))
  const seconds = lastsMs / 1_000
  return {
    phase,
    seconds,
    requests: records.length,
    offered_per_second: seconds === 0 ? 0 : records.length / seconds,
    goodput_per_second: records.length === 0 ? 0 : goodput(records, lastsMs),
    outcomes,
    generator_late_p99_ms: percentile(
      records.map(({ lateMs }) => lateMs),
      0.99,
    ),
    cpu_ms_a_request: cpu === undefined || records.length === 0 ? null : cpuOfEach(cpu, records.length),
  }
}

function percentiles(values: readonly number[]): readonly number[] {
  return SHARES.map((share) => percentile(values, share))
}

function cpuOfEach(cpu: CpuTimes, requests: number): Readonly<Record<string, number>> {
  const parts = CPU_PARTS.filter((part) => part !== 'others' && part !== 'LanceDB')
  return Object.fromEntries(parts.map((part) => [part, cpu[part] / requests]))
}
