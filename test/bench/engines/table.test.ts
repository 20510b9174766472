import { expect, test } from 'vitest'
import type { EngineFigures, EnginesResult } from './result.ts'
import { judgeEngines } from './table.ts'

function resultOf(passages: number, megabytes: number, recall = 0.995): EnginesResult {
  const latency = { searches: 1, p50_ms: 1, p95_ms: 1, p99_ms: 1, cpu_ms: 1 }
  const figures: EngineFigures = {
    artifact_megabytes: 1,
    index_megabytes: 1,
    cluster_megabytes: 1,
    open_ms: 1,
    node_megabytes: megabytes,
    node_written_megabytes: 0,
    lines: [{ name: 'unfiltered', allowed: passages, recall_at_10: recall, latency }],
  }
  const index = { seconds: 1, cpu_seconds: 1 }
  const at = '2026-01-01T00:00:00.000Z'
  return { at, passages, dimensions: 8, files_seconds: 1, index, local: figures, opensearch: figures, repeated: 0 }
}

const missed = (sizes: readonly EnginesResult[]): readonly string[] =>
  judgeEngines(sizes).flatMap(({ met, name }) => (met ? [] : [name]))

test('a search node may need 200 MB more for the largest corpus than for the smallest, and no more', () => {
  expect(missed([resultOf(1_000_000, 451), resultOf(100_000, 250), resultOf(500_000, 900)])).toEqual([
    'memory of a search node with OpenSearch at 1000000 passages less that at 100000',
  ])
  expect(missed([resultOf(100_000, 250), resultOf(1_000_000, 240)])).toEqual([])
})

test('the nearest that a cluster gives must hold 0.99 of the true ten', () => {
  expect(missed([resultOf(100_000, 250, 0.98)])).toEqual(['recall@10 of OpenSearch, 100000 passages, unfiltered'])
})
