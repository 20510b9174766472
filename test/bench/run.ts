import { spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { storeUrl } from '#operator/demo/local/stack.ts'
import { readOrCreateState, type DemoState } from '#operator/demo/state.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { artifactLocation, fileBytes, openBuilt, readBuildFigures } from './artifact.ts'
import type { ArtifactSettings, BuildFigures } from './artifact.ts'
import { exactAnswers, recallAt, type Exact } from './exact.ts'
import type { BenchFlags } from './flags.ts'
import { assertDurable, install } from './installation.ts'
import { startLance, type Lance } from './lance.ts'
import { untilSettled } from './ledger.ts'
import { askOnce, sumOf } from './load.ts'
import { measureAll, renderCell, warmUp, type Cell } from './measure.ts'
import { openVersion, ownMegabytes } from './node.ts'
import { admitCaller, createBase, publishArtifact } from './publish.ts'
import { TOP_K, nearestRows, openFull, openGrpc, openRaw, openRawSearch } from './paths.ts'
import type { RawSearch, MeasuredPath } from './paths.ts'
import { prepareRealVectors } from './real/corpus.ts'
import { openCorpus, type CorpusSpec } from './spec.ts'
import { compared, inventTasks, type Tasks } from './tasks.ts'

export type BuiltArtifact = Awaited<ReturnType<typeof builtArtifact>>

export function specOf({ realVectors, passages, dimensions, dataDir, seed }: BenchFlags): CorpusSpec {
  return realVectors
    ? { kind: 'real', passages, dataDir: resolve(dataDir), seed }
    : { kind: 'invented', passages, dimensions, seed }
}

/** The artifact of a corpus, built unless an earlier run did so. */
export async function builtArtifact(spec: CorpusSpec, flags: Pick<BenchFlags, 'dataDir'>, steps: Steps) {
  const dataDir = resolve(flags.dataDir)
  mkdirSync(dataDir, { recursive: true })
  rmSync(join(dataDir, 'logs'), { recursive: true, force: true })
  if (spec.kind === 'real') await steps.run('real vectors', () => prepareRealVectors(spec, steps))
  const state = readOrCreateState(join(dataDir, 'state.json'))
  const privateKeyDer = Buffer.from(state.secrets.MANIFEST_PRIVATE_KEY, 'base64')
  const settings = { corpus: openCorpus(spec), storeUrl: storeUrl({ folder: dataDir }), privateKeyDer }
  const build = await steps.run(`build of ${settings.corpus.passages} passages`, () => built(spec, settings, state))
  const artifact = await openBuilt(settings, Buffer.from(state.secrets.MANIFEST_PUBLIC_KEY, 'base64'))
  return { dataDir, state, settings, build, artifact }
}

/** Builds what is not there yet. @returns what that took, now or then. */
async function built(spec: CorpusSpec, settings: ArtifactSettings, state: DemoState): Promise<BuildFigures> {
  const location = artifactLocation(settings)
  const before = readBuildFigures(location)
  if (before !== undefined) return before
  const script = fileURLToPath(new URL('./build.ts', import.meta.url))
  const child = spawn(process.execPath, [script, JSON.stringify(spec), settings.storeUrl], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, MANIFEST_PRIVATE_KEY: state.secrets.MANIFEST_PRIVATE_KEY },
  })
  const code = await new Promise((end) => child.once('close', end))
  const figures = readBuildFigures(location)
  if (code !== 0 || figures === undefined) throw new Error('The build did not come to its end; its reason is above.')
  return figures
}

/** Everything that `--json` writes. */
export type BenchResult = Awaited<ReturnType<typeof benchOf>>

/** Makes what is searched and starts the services that search it; then takes the measurements one after the other. */
export async function benchOf(flags: BenchFlags, steps: Steps) {
  const { seed, seconds } = flags
  const { dataDir, state, settings, build, artifact } = await builtArtifact(specOf(flags), flags, steps)
  const { corpus } = settings
  const tasks = await steps.run('questions', async () => inventTasks(corpus, seed))
  const { queries } = tasks
  const asked = tasks.cells.map((task) => compared(task, tasks))
  const exact = await steps.run('exact answers', () => exactAnswers(corpus, artifact, asked))
  const installation = await install({ dataDir, dimensions: corpus.dimensions, state, queries }, steps)
  const durability = await assertDurable(installation.owner)
  const openMs = await steps.run('a fresh search node opens the version', () =>
    openVersion(installation.searchNode, artifact),
  )
  const base = await createBase(installation)
  await steps.run('activation', () => publishArtifact(installation, base, artifact))
  const key = await admitCaller(installation)
  const full = openFull(installation.gateway.baseUrl, key)
  const raw = await openRawSearch(artifact)
  steps.onStop(() => raw.close())
  const lance = flags.lancedb ? await startLance({ dataDir, artifact, queries }, steps) : undefined
  const own = [openRaw(raw, 'raw'), openRaw(raw, 'dense'), openGrpc(installation.searchNode.address, artifact), full]
  const paths = [...own, ...(lance === undefined ? [] : [lance.path])]
  for (const path of paths) steps.onStop(() => path.close())

  const found = await steps.run('recall', () => foundBy(raw, own, tasks, exact, lance))
  const onCell = (cell: Cell): void => steps.note(renderCell(cell))
  const measured = { installation, paths, queries, seconds, onCell }
  await steps.run('warm-up', () => warmUp(measured))
  const cells = await steps.run('measurement', () => measureAll(measured))
  const settled = await untilSettled(installation.owner)
  const delivered = full.delivered()
  const nodeMegabytes = ownMegabytes(installation.searchNode.pid)
  const files = fileBytes(artifact)
  return {
    /** ISO 8601 UTC. */
    at: new Date().toISOString(),
    passages: corpus.passages,
    dimensions: corpus.dimensions,
    vectors: flags.realVectors ? 'real' : 'generated',
    seconds,
    seed,
    threads: availableParallelism(),
    /** Settings of Postgres as the server itself says them. */
    durability,
    build,
    disk: { megabytes: sumOf(Object.values(files), (bytes) => bytes) / 1_048_576, files },
    /** A fresh search node verifies and opens the version. */
    open_ms: openMs,
    /** Of the search node, beyond the page cache, after all measurements. */
    node_megabytes: nodeMegabytes,
    cells,
    found,
    /** Replies of the full path, and what is on record after the last of them. */
    delivered,
    ledger: settled.state,
  }
}

/** Each path answers the compared questions once; this warms it up, too. */
async function foundBy(
  raw: RawSearch,
  [hybrid, , grpc, full]: readonly MeasuredPath[],
  tasks: Tasks,
  exact: Readonly<Record<string, Exact>>,
  lance: Lance | undefined,
) {
  return { unfiltered: await of(0), '22 %': await of(1), '1.8 %': await of(2) }
  async function of(at: number) {
    const task = tasks.cells[at]
    const right = exact[task?.name ?? '']
    if (task === undefined || right === undefined || hybrid === undefined || grpc === undefined || full === undefined)
      throw new Error('a path is missing')
    const { queries, selectivity, filters } = compared(task, tasks)
    const rows = await nearestRows(raw, queries, filters, 10)
    const expected = await askOnce(hybrid, queries, selectivity)
    const same = (lists: readonly (readonly string[])[]): number =>
      lists.filter((list, number) => list.join(' ') === expected[number]?.join(' ')).length / expected.length
    const theirs = await lance?.nearest(queries, selectivity)
    return {
      /** Of the vectors, against the exact answer. */
      recall_at_5: recallAt(TOP_K, rows, right),
      recall_at_10: recallAt(10, rows, right),
      lance_recall_at_5: theirs === undefined ? null : recallAt(TOP_K, theirs, right),
      /** Share of the questions to which the path gives the very list of the raw search. */
      grpc_same: same(await askOnce(grpc, queries, selectivity)),
      full_same: same(await askOnce(full, queries, selectivity)),
    }
  }
}
