import type { Section } from '#operator/command-line/sections.ts'
import { ownCpuMs, partsOf } from './cpu.ts'
import type { Cell } from './measure.ts'
import type { BenchResult } from './run.ts'
import { ratio } from './thresholds.ts'

const OTHERS_CORES_MAX = 0.1

export function ms(value: number): string {
  return `${value.toFixed(2)} ms`
}

/** Everything that was measured, for a terminal and a page. */
export function sectionsOf(result: BenchResult): readonly Section[] {
  const { passages, dimensions, vectors, threads, seconds, at } = result
  const run = `${at}: ${passages} passages × ${dimensions}, ${vectors} vectors, ${threads} search threads, ${seconds} s a cell and path.`
  return [cellSection(result, run), artifactSection(result)]
}

const THROUGHPUT =
  'Raw: the search alone on its threads, by words and vectors; dense: by vectors alone; gRPC: the search node; full: a ' +
  'request over HTTP with admission, reservation, embedding, search, record and ledger; LanceDB: its hybrid query.'

function cellSection({ cells, found }: BenchResult, run: string): Section {
  const head = ['filter', 'clients', 'raw q/s', 'dense q/s', 'gRPC q/s', 'full q/s', 'full/raw', 'full p50', 'full p99']
  const lanceHead = ['LanceDB q/s', 'full/LanceDB', 'LanceDB p50', 'p99', 'CPU', 'recall@5']
  const withLance = cells.some(({ paths }) => paths.lance !== undefined)
  return {
    title: 'Questions a second, by path',
    head: [...head, 'CPU', 'own p50', 'recall@5 / @10', 'settled after', ...(withLance ? lanceHead : [])],
    rows: cells.map(({ selectivity, clients, paths: { raw, dense, grpc, full, lance }, gateway }) => {
      const { recall_at_5, recall_at_10, lance_recall_at_5: theirs } = found[selectivity]
      const rates = [raw, dense, grpc, full].map(({ per_second }) => per_second.toFixed(0))
      const ofLance =
        lance === undefined
          ? []
          : [
              lance.per_second.toFixed(0),
              ratio(full.per_second, lance.per_second).toFixed(2),
              ...[lance.p50_ms, lance.p99_ms, ownCpuMs(lance.cpu_ms)].map(ms),
              theirs?.toFixed(3) ?? '',
            ]
      return [
        selectivity,
        clients,
        ...rates,
        ratio(full.per_second, raw.per_second).toFixed(2),
        ...[full.p50_ms, full.p99_ms, ownCpuMs(full.cpu_ms), gateway.own_p50_ms].map(ms),
        `${recall_at_5.toFixed(3)} / ${recall_at_10.toFixed(3)}`,
        `${gateway.settled_after_ms.toFixed(0)} ms`,
        ...ofLance,
      ]
    }),
    lines: [run, THROUGHPUT, ...shares(cells)],
  }
}

/** Where the processors' time goes with most clients. */
function shares(cells: readonly Cell[]): readonly string[] {
  const crowded = cells.findLast(({ selectivity }) => selectivity === 'unfiltered')
  if (crowded === undefined) return []
  const { full, raw } = crowded.paths
  const others = cells.map(({ paths }) => (paths.full.cpu_ms.others * paths.full.per_second) / 1_000)
  const mean = Math.max(0, others.reduce((sum, cores) => sum + cores, 0) / others.length)
  return [
    `${crowded.clients} clients, unfiltered, CPU ms a request: ${listOf(partsOf(full.cpu_ms))}; of the raw search ` +
      `${ownCpuMs(raw.cpu_ms).toFixed(2)}, of ${ownCpuMs(full.cpu_ms).toFixed(2)} in all.`,
    `Other programs took ${mean.toFixed(2)} cores meanwhile` +
      (mean > OTHERS_CORES_MAX ? ': measure again when the machine is idle.' : '.'),
  ]
}

function listOf(values: readonly (readonly [string, number])[]): string {
  const shown = values.filter(([, value]) => Math.abs(value) >= 0.005)
  return shown.map(([name, value]) => `${name} ${value.toFixed(2)}`).join(', ')
}

function artifactSection({ disk, passages, build, open_ms, node_megabytes }: BenchResult): Section {
  const files = Object.entries(disk.files).toSorted(([, a], [, b]) => b - a)
  return {
    title: 'Artifact and machine',
    head: ['file', 'megabytes', 'bytes a row'],
    rows: files.map(([name, bytes]) => [name, (bytes / 1_048_576).toFixed(1), (bytes / passages).toFixed(1)]),
    lines: [
      `Built in ${(build.draw_seconds + build.write_seconds).toFixed(1)} s with ${build.peak_megabytes.toFixed(0)} MB at ` +
        `most; ${disk.megabytes.toFixed(0)} MB on disk, opened in ${open_ms.toFixed(0)} ms. The search node holds ` +
        `${node_megabytes?.toFixed(0) ?? '?'} MB beyond the page cache.`,
    ],
  }
}
