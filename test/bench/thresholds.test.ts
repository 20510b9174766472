import { expect, test } from 'vitest'
import { judgeCells } from './thresholds.ts'
import type { Threshold } from './thresholds.ts'

const PATH = { answered: 9, failed: 0, failure: null, per_second: 100, p50_ms: 5, p99_ms: 9, cpu_ms: 1 }
const FOUND = { recall_at_5: 1, recall_at_10: 1, grpc_same: 1, full_same: 1 }
const LEDGER = { reservations: 9, open: 0, delivered: 9, charged: 9, entries: 9 }

/** What is judged of CPU time in a version of so many passages. */
function ofCpu(passages: number, cpu: Readonly<Record<string, number>> | null): readonly Threshold[] {
  const cell = {
    selectivity: 'unfiltered' as const,
    clients: 32,
    paths: { raw: PATH, dense: PATH, grpc: PATH, full: PATH },
    gateway: { own_p50_ms: 1, own_p99_ms: 2, mean_ms: {}, settled_after_ms: 9, cpu_ms: cpu },
  }
  const found = { unfiltered: FOUND, '22 %': FOUND, '1.8 %': FOUND }
  return judgeCells([cell], found, LEDGER, 9, passages).filter(({ name }) => name.startsWith('CPU of a request'))
}

test('the CPU time of a search is judged up to 100,000 passages, that of all else in versions of any size', () => {
  const cpu = { 'search node': 2.3, gateway: 2, jobs: 0.9, 'load generator': 7 }
  const search = { name: 'CPU of a request in the search node, unfiltered, 32 clients', wanted: '≤ 2.2 ms' }
  const others = { name: 'CPU of a request in all else, unfiltered, 32 clients', wanted: '≤ 3 ms' }
  expect(ofCpu(100_000, cpu)).toEqual([
    { ...search, measured: '2.30 ms', met: false },
    { ...others, measured: '2.90 ms', met: true },
  ])
  expect(ofCpu(100_001, cpu)).toEqual([{ ...others, measured: '2.90 ms', met: true }])
  expect(ofCpu(100_000, null)).toEqual([])
})
