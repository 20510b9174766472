import { join, resolve } from 'node:path'
import { z } from 'zod'
import { openEngineClient } from '#core/engine/client.ts'
import { NodeError } from '#search-node/node-error.ts'
import { startCluster } from '#operator/demo/local/opensearch/start.ts'
import { startSearchNode } from '#operator/demo/local/stack.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { fileBytes, type BenchArtifact } from '#test/bench/artifact.ts'
import { SELECTIVITIES } from '#test/bench/corpus.ts'
import { exactAnswers, recallAt, type Exact, type Task } from '#test/bench/exact.ts'
import type { BenchFlags } from '#test/bench/flags.ts'
import { askOnce, sumOf } from '#test/bench/load.ts'
import { openVersion, ownMegabytes, writtenMegabytes } from '#test/bench/node.ts'
import { engineOf, nearestRows, openGrpc, openRawSearch, type BenchCluster, type RawSearch } from '#test/bench/paths.ts'
import { builtArtifact, specOf, type BuiltArtifact } from '#test/bench/run.ts'
import { ms } from '#test/bench/tables.ts'
import { compared, inventTasks } from '#test/bench/tasks.ts'
import { atLeast, type Threshold } from '#test/bench/thresholds.ts'
import type { Query } from '#test/bench/source.ts'
import type { Section } from '#operator/command-line/sections.ts'
import { NOTHING, byTurns, type Latency } from './by-turns.ts'
import { indexedVersion } from './version.ts'

const MEGABYTE = 1_048_576
const HEAP_MB = 3_072
const LIMIT = 10
const RECALL_MIN = 0.99
const ATTEMPTS_MAX = 30
/** Questions under each filter, so that every thread has answered. */
const QUESTIONS = 100
const ENGINES = ['local', 'opensearch'] as const
type Engine = (typeof ENGINES)[number]

/** Hybrid searches under one filter, two at a time, on the threads of a search node. */
interface EngineLine extends Pick<Exact, 'allowed'> {
  readonly name: string
  /** Of the vectors against the exact answer. */
  readonly recall_at_10: number
  readonly latency: Latency
}

export type EnginesResult = Awaited<ReturnType<typeof benchEngines>>

/** The same passages as versions of either engine. */
export async function benchEngines(flags: BenchFlags, steps: Steps) {
  const folder = join(resolve(flags.dataDir), 'opensearch')
  const { urls, pid } = await steps.run('OpenSearch', () =>
    startCluster({ folder, nodes: 1, heapMb: HEAP_MB, onLog: steps.note, onSpawn: steps.onStop }),
  )
  const cluster = { urls, pid: pid() }
  const built = await builtArtifact(specOf(flags), flags, steps)
  const { corpus } = built.settings
  const remote = await steps.run(`index of ${corpus.passages} passages`, () => indexedVersion(built, cluster))
  const invented = await steps.run('questions', async () => inventTasks(corpus, flags.seed))
  // Without a filter, two filters by facets, and a random one.
  const tasks = [...invented.cells, invented.narrowest]
  const shortened = tasks.map((task) => compared<Task>(task, invented))
  const exact = await steps.run('exact answers', () => exactAnswers(corpus, built.artifact, shortened))
  let repeated = 0
  const searches = [
    await openRawSearch(built.artifact),
    patient(await openRawSearch(remote.artifact, cluster), () => (repeated += 1)),
  ]
  const lines: Record<Engine, EngineLine[]> = { local: [], opensearch: [] }
  for (const [at, task] of tasks.entries()) {
    const { queries, filters } = shortened[at] ?? task
    const right = exact[task.name]
    if (right === undefined) throw new Error(`nothing exact of ${task.name}`)
    const found = await Promise.all(searches.map((raw) => nearestRows(raw, queries, filters, LIMIT)))
    const turns = searches.map((raw) => ({ raw, task }))
    const latencies = await steps.run(task.name, () => byTurns(turns, flags.seconds * 1_000))
    for (const [engine, name] of ENGINES.entries())
      lines[name].push({
        name: task.name,
        allowed: right.allowed,
        recall_at_10: recallAt(LIMIT, found[engine] ?? [], right),
        latency: latencies[engine] ?? NOTHING,
      })
  }
  for (const search of searches) await search.close()
  const { queries } = invented
  const local = await steps.run('a search node', () => figuresOf(built, built.artifact, queries))
  const opensearch = await steps.run('a search node with OpenSearch', () =>
    figuresOf(built, remote.artifact, queries, cluster),
  )
  return {
    passages: corpus.passages,
    dimensions: corpus.dimensions,
    /** The files of the local artifact; that of OpenSearch has the same ones, less those that are searched. */
    files_seconds: built.build.draw_seconds + built.build.write_seconds,
    index: remote.load,
    local: { ...local, lines: lines.local },
    opensearch: { ...opensearch, lines: lines.opensearch },
    /** Searches that the cluster did not answer in their time, and that were repeated. */
    repeated,
  }
}

/** Repeats a search that the cluster did not answer in its time; that time counts. */
function patient(raw: RawSearch, onRepeated: () => void): RawSearch {
  return {
    ...raw,
    async search(query, options) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await raw.search(query, options)
        } catch (error) {
          if (!(error instanceof NodeError && error.code === 'UNAVAILABLE') || attempt === ATTEMPTS_MAX) throw error
          onRepeated()
        }
      }
    },
  }
}

/** What a search node needs for one version; memory is beyond the page cache. */
async function figuresOf(
  { dataDir, state }: BuiltArtifact,
  artifact: BenchArtifact,
  queries: readonly Query[],
  cluster?: BenchCluster,
) {
  const environment = cluster === undefined ? {} : { OPENSEARCH_URL: cluster.urls.join(',') }
  const node = await startSearchNode({ folder: dataDir, secrets: state.secrets, environment })
  const path = openGrpc(node.address, artifact)
  await using ending = new AsyncDisposableStack()
  ending.defer(async () => void (await node.stop()))
  ending.defer(() => path.close())
  const openMs = await openVersion(node, artifact)
  for (const selectivity of SELECTIVITIES) await askOnce(path, queries.slice(0, QUESTIONS), selectivity)
  return {
    artifact_megabytes: sumOf(Object.values(fileBytes(artifact)), (bytes) => bytes) / MEGABYTE,
    /** In the cluster, one copy; null: the version has no index there. */
    index_megabytes: cluster === undefined ? null : await indexMegabytes(cluster, artifact.manifest.engine?.index),
    cluster_megabytes: cluster === undefined ? null : ownMegabytes(cluster.pid),
    open_ms: openMs,
    node_megabytes: ownMegabytes(node.pid),
    node_written_megabytes: writtenMegabytes(node.pid),
  }
}

const storeSchema = z.object({
  _all: z.object({ primaries: z.object({ store: z.object({ size_in_bytes: z.int() }) }) }),
})

async function indexMegabytes(cluster: BenchCluster, index = ''): Promise<number> {
  await using client = await openEngineClient(engineOf(cluster))
  const { _all } = await client.request({ method: 'GET', path: `/${index}/_stats/store` }, storeSchema)
  return _all.primaries.store.size_in_bytes / MEGABYTE
}

export function judgeEngines({ opensearch }: EnginesResult): readonly Threshold[] {
  return opensearch.lines.map(({ name, recall_at_10 }) =>
    atLeast(`recall@10 of OpenSearch, ${name}`, RECALL_MIN, recall_at_10, 3),
  )
}

export function engineSections(result: EnginesResult): readonly Section[] {
  const { passages, dimensions, files_seconds, index, repeated } = result
  const megabytes = (value: number | null): string => (value === null ? '–' : `${value.toFixed(0)} MB`)
  return [
    {
      title: `Engines, ${passages} passages × ${dimensions}`,
      head: ['engine', 'artifact', 'index', 'cluster memory', 'node memory', 'node disk', 'node opens in'],
      rows: ENGINES.map((name) => {
        const { open_ms, ...of } = result[name]
        const sizes = [of.artifact_megabytes, of.index_megabytes, of.cluster_megabytes]
        return [
          name,
          ...[...sizes, of.node_megabytes, of.node_written_megabytes].map(megabytes),
          `${(open_ms / 1_000).toFixed(1)} s`,
        ]
      }),
      lines: [
        `The files are built in ${files_seconds.toFixed(0)} s, and the index in ${index.seconds.toFixed(0)} s, with ` +
          `${index.cpu_seconds.toFixed(0)} s of the cluster's CPU.`,
        `${repeated} searches were repeated, because the cluster did not answer in their time.`,
      ],
    },
    {
      title: 'Searches by words and vectors, two at a time',
      head: ['filter', 'engine', 'passages', 'p50', 'p95', 'CPU', 'recall@10', 'searches'],
      rows: result.local.lines.flatMap((_, at) =>
        ENGINES.flatMap((engine) => {
          const line = result[engine].lines[at]
          if (line === undefined) return []
          const { p50_ms, p95_ms, cpu_ms, searches } = line.latency
          const times = [p50_ms, p95_ms, cpu_ms].map(ms)
          return [[line.name, engine, line.allowed, ...times, line.recall_at_10.toFixed(3), searches]]
        }),
      ),
    },
  ]
}
