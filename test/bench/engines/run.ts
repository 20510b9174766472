import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { openEngineClient } from '#core/engine/client.ts'
import { NodeError } from '#search-node/node-error.ts'
import { startCluster } from '#operator/demo/local/opensearch/start.ts'
import type { LocalCluster } from '#operator/demo/local/opensearch/start.ts'
import { startSearchNode } from '#operator/demo/local/stack.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { fileBytes } from '#test/bench/artifact.ts'
import type { BenchArtifact } from '#test/bench/artifact.ts'
import { exactAnswers, recallAt } from '#test/bench/exact.ts'
import type { Task } from '#test/bench/exact.ts'
import type { BenchFlags } from '#test/bench/flags.ts'
import { NOTHING, byTurns, nearestRows } from '#test/bench/in-process.ts'
import { loadAndAsk } from '#test/bench/memory.ts'
import { openVersion, ownMegabytes } from '#test/bench/node.ts'
import { openRawSearch } from '#test/bench/paths.ts'
import type { RawSearch } from '#test/bench/paths.ts'
import { builtArtifact } from '#test/bench/run.ts'
import type { BuiltArtifact } from '#test/bench/run.ts'
import { compared, inventTasks } from '#test/bench/tasks.ts'
import type { Tasks } from '#test/bench/tasks.ts'
import type { Query } from '#test/bench/source.ts'
import { engineOf } from './cluster.ts'
import type { BenchCluster } from './cluster.ts'
import { indexedVersion } from './version.ts'
import type { EngineLine, EnginesResult, NodeFigures } from './result.ts'
import { renderEngines } from './table.ts'

const MEGABYTE = 1_048_576
const HEAP_MB = 3_072
const LIMIT = 10
const ATTEMPTS_MAX = 30
/** A filter that keeps so many percent of the passages at random, beside the filters of the throughput table. */
const NARROWEST = 'random 0.1 %'

/** The same passages as versions of either engine, at each size. */
export async function benchEngines(flags: BenchFlags, steps: Steps): Promise<readonly EnginesResult[]> {
  const folder = join(resolve(flags.dataDir), 'opensearch')
  const cluster = await steps.run('OpenSearch', () =>
    startCluster({ folder, nodes: 1, heapMb: HEAP_MB, onLog: steps.note, onSpawn: steps.onStop }),
  )
  const sizes: EnginesResult[] = []
  for (const passages of flags.passages) {
    const result = await atSize(passages, flags, cluster, steps)
    steps.print(renderEngines(result))
    sizes.push(result)
  }
  return sizes
}

async function atSize(
  passages: number,
  flags: BenchFlags,
  { urls, pid }: LocalCluster,
  steps: Steps,
): Promise<EnginesResult> {
  const dataDir = resolve(flags.dataDir)
  const { dimensions, seed } = flags
  const spec = flags.realVectors
    ? ({ kind: 'real', passages, dataDir, seed } as const)
    : ({ kind: 'invented', passages, dimensions, seed } as const)
  const cluster = { urls, pid: pid() }
  const local = await builtArtifact(spec, flags, steps)
  const remote = await steps.run(`index of ${passages} passages`, () => indexedVersion(local, cluster))
  const { corpus } = local.settings
  const invented = await steps.run('questions', async () => inventTasks(corpus, seed))
  const tasks = tasksOf(invented)
  const exact = await steps.run('exact answers', () =>
    exactAnswers(corpus, local.artifact, tasks.map(shortened(invented))),
  )
  let repeated = 0
  const searches = [
    await openRawSearch(local.artifact, flags.codesMb),
    patient(await openRawSearch(remote.artifact, 0, cluster), () => (repeated += 1)),
  ]
  for (const search of searches) steps.onStop(() => search.close())
  const lines = new Map(searches.map((search) => [search, [] as EngineLine[]]))
  for (const task of tasks) {
    const right = exact[task.name]
    if (right === undefined) throw new Error(`nothing exact of ${task.name}`)
    const found = await steps.run(`recall, ${task.name}`, () => recalls(searches, shortened(invented)(task)))
    const latencies = await steps.run(`latency, ${task.name}`, () =>
      byTurns(
        searches.map((raw) => ({ raw, mode: 'hybrid' as const, task })),
        flags.seconds * 1_000,
      ),
    )
    for (const [at, search] of searches.entries())
      lines.get(search)?.push({
        name: task.name,
        allowed: right.allowed,
        recall_at_10: recallAt(LIMIT, found[at] ?? [], right),
        latency: latencies[at] ?? NOTHING,
      })
  }
  const [ofLocal = [], ofRemote = []] = lines.values()
  for (const search of searches) await search.close()
  const { queries } = invented
  return {
    at: new Date().toISOString(),
    passages: corpus.passages,
    dimensions: corpus.dimensions,
    files_seconds: local.build.draw_seconds + local.build.write_seconds,
    index: remote.load,
    local: { ...(await steps.run('a search node', () => figuresOf(local, local.artifact, queries))), lines: ofLocal },
    opensearch: {
      ...(await steps.run('a search node with OpenSearch', () => figuresOf(local, remote.artifact, queries, cluster))),
      lines: ofRemote,
    },
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

/** Without a filter, two filters by facets, and a random one. */
function tasksOf({ cells, narrow }: Tasks): readonly Task[] {
  return [...cells, ...narrow.filter(({ name }) => name === NARROWEST)]
}

const shortened =
  (tasks: Tasks) =>
  (task: Task): Task =>
    compared(task, tasks)

/** Rows that the vectors alone find, of each search. */
async function recalls(
  searches: readonly RawSearch[],
  { queries, filters }: Task,
): Promise<readonly (readonly (readonly number[])[])[]> {
  return await Promise.all(searches.map((raw) => nearestRows(raw, queries, filters, LIMIT)))
}

/** What a search node needs for one version. */
async function figuresOf(
  { dataDir, state }: BuiltArtifact,
  artifact: BenchArtifact,
  queries: readonly Query[],
  cluster?: BenchCluster,
): Promise<NodeFigures> {
  const environment = cluster === undefined ? {} : { OPENSEARCH_URL: cluster.urls.join(',') }
  const node = await startSearchNode({ folder: dataDir, secrets: state.secrets, environment })
  try {
    const openMs = await openVersion(node, artifact)
    await loadAndAsk(node.address, artifact, queries, 4)
    const bytes = Object.values(fileBytes(artifact)).reduce((sum, each) => sum + each, 0)
    return {
      artifact_megabytes: bytes / MEGABYTE,
      index_megabytes: cluster === undefined ? null : await indexMegabytes(cluster, artifact.manifest.engine?.index),
      cluster_megabytes: cluster === undefined ? null : ownMegabytes(cluster.pid),
      open_ms: openMs,
      node_megabytes: ownMegabytes(node.pid),
      node_written_megabytes: writtenMegabytes(node.pid),
    }
  } finally {
    await node.stop()
  }
}

/** What a process wrote to disks since it began; null where the system does not report it. */
function writtenMegabytes(pid: number): number | null {
  try {
    const bytes = /^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]
    return bytes === undefined ? null : Number(bytes) / MEGABYTE
  } catch {
    return null
  }
}

const storeSchema = z.object({
  _all: z.object({ primaries: z.object({ store: z.object({ size_in_bytes: z.int() }) }) }),
})

async function indexMegabytes(cluster: BenchCluster, index = ''): Promise<number> {
  const client = await openEngineClient(engineOf(cluster))
  try {
    const { _all } = await client.request({ method: 'GET', path: `/${index}/_stats/store` }, storeSchema)
    return _all.primaries.store.size_in_bytes / MEGABYTE
  } finally {
    await client.close()
  }
}
