import { mkdirSync, rmSync, statSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join, resolve } from 'node:path'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { storeUrl } from '#operator/demo/local/stack.ts'
import { readOrCreateState } from '#operator/demo/state.ts'
import type { DemoState } from '#operator/demo/state.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { artifactLocation, fileBytes, openBuilt, readBuildFigures } from './artifact.ts'
import type { ArtifactSettings, BenchArtifact, BuildFigures } from './artifact.ts'
import { judgeCells } from './thresholds.ts'
import type { Found, FoundBy } from './thresholds.ts'
import { exactAnswers, recallAt } from './exact.ts'
import type { Exact } from './exact.ts'
import type { BenchFlags } from './flags.ts'
import { measureInside, nearestRows } from './in-process.ts'
import { assertDurable, install } from './installation.ts'
import { judgeLance, measureLance } from './lance.ts'
import { untilSettled } from './ledger.ts'
import { askOnce } from './load.ts'
import { measureAll, warmUp } from './measure.ts'
import { judgeMemory, measureMemory } from './memory.ts'
import { openVersion, ownMegabytes, swapUnderLoad } from './node.ts'
import { admitCaller, createBase, publishArtifact } from './publish.ts'
import type { BenchResult } from './result.ts'
import { openFull, openGrpc, openRaw, openRawSearch } from './paths.ts'
import type { RawSearch, MeasuredPath } from './paths.ts'
import { judgeRebuild, measureRebuild } from './rebuild.ts'
import { judgeRefusals, measureRefusals, refusalRounds } from './refusals.ts'
import { judgeScale } from './scale.ts'
import { prepareRealVectors } from './real/corpus.ts'
import { openCorpus } from './spec.ts'
import type { CorpusSpec } from './spec.ts'
import { renderCell } from './table.ts'
import { compared, inventTasks } from './tasks.ts'
import type { Tasks } from './tasks.ts'
import { cloneOf } from './clone.ts'

const MEGABYTE = 1_048_576

export interface BuiltArtifact {
  readonly dataDir: string
  readonly state: DemoState
  readonly settings: ArtifactSettings
  readonly build: BuildFigures
  readonly artifact: BenchArtifact
}

interface Prepared extends BuiltArtifact {
  readonly tasks: Tasks
  readonly exact: Readonly<Record<string, Exact>>
}

/** The artifact, the questions and their right answers; what an earlier run made of them is used again. */
async function prepare(passages: number, flags: BenchFlags, steps: Steps): Promise<Prepared> {
  const { dimensions, seed } = flags
  const dataDir = resolve(flags.dataDir)
  const spec: CorpusSpec = flags.realVectors
    ? { kind: 'real', passages, dataDir, seed }
    : { kind: 'invented', passages, dimensions, seed }
  if (spec.kind === 'real') await steps.run('real vectors', () => prepareRealVectors(spec, steps))
  const prepared = await builtArtifact(spec, flags, steps)
  const { settings, artifact } = prepared
  const tasks = await steps.run('questions', async () => inventTasks(settings.corpus, seed))
  const asked = [...tasks.narrow, ...tasks.cells].map((task) => compared(task, tasks))
  const exact = await steps.run('exact answers', () => exactAnswers(settings.corpus, artifact, asked))
  return { ...prepared, tasks, exact }
}

/** The artifact of a corpus, built unless an earlier run did so. */
export async function builtArtifact(spec: CorpusSpec, flags: BenchFlags, steps: Steps): Promise<BuiltArtifact> {
  const dataDir = resolve(flags.dataDir)
  mkdirSync(dataDir, { recursive: true })
  rmSync(join(dataDir, 'logs'), { recursive: true, force: true })
  const state = readOrCreateState(join(dataDir, 'state.json'))
  const privateKeyDer = Buffer.from(state.secrets.MANIFEST_PRIVATE_KEY, 'base64')
  const settings = { corpus: openCorpus(spec), storeUrl: storeUrl({ folder: dataDir }), privateKeyDer }
  const build = await steps.run(`build of ${settings.corpus.passages} passages`, () => built(spec, settings, state))
  const artifact = await openBuilt(settings, Buffer.from(state.secrets.MANIFEST_PUBLIC_KEY, 'base64'))
  return { dataDir, state, settings, build, artifact }
}

/**
 * Everything at one size: first what is searched and the services that search it, then the measurements one after the
 * other.
 */
export async function benchOf(passages: number, flags: BenchFlags, steps: Steps): Promise<BenchResult> {
  const { dimensions, seed, seconds } = flags
  const { dataDir, state, settings, build, artifact, tasks, exact } = await prepare(passages, flags, steps)
  const loadBefore = loadavg()
  const environment = { SEARCH_CODES_MB: String(flags.codesMb) }
  const installation = await install({ dataDir, dimensions, state, queries: tasks.queries, environment }, steps)
  const durability = await assertDurable(installation.owner)
  const openMs = await steps.run('a fresh search node opens the version', () =>
    openVersion(installation.searchNode, artifact),
  )
  const base = await createBase(installation)
  await steps.run('activation', () => publishArtifact(installation, base, artifact))
  const key = await admitCaller(installation)
  const full = openFull(installation.gateway.baseUrl, key)
  const raw = await openRawSearch(artifact, flags.codesMb)
  steps.onStop(() => raw.close())
  const paths = [openRaw(raw, 'raw'), openRaw(raw, 'dense'), openGrpc(installation.searchNode.address, artifact), full]
  for (const path of paths) steps.onStop(() => path.close())

  const inside = await steps.run('inside the node', () =>
    measureInside({ raw, tasks: tasks.narrow, compared: tasks.compared, exact, seconds }),
  )
  const found = await steps.run('recall', () => foundBy(raw, paths, tasks, exact))
  const measured = {
    installation,
    paths,
    queries: tasks.queries,
    seconds,
    onCell: (cell: BenchResult['cells'][number]): void => steps.note(renderCell(cell)),
  }
  await steps.run('warm-up', () => warmUp(measured))
  const cells = await steps.run('measurement', () => measureAll(measured))
  const nodeMegabytes = ownMegabytes(installation.searchNode.pid)
  const lance = flags.lancedb
    ? await measureLance({ dataDir, artifact, full, tasks, exact, found, seconds }, steps)
    : null
  const swap = await steps.run('another version under load', async () =>
    swapUnderLoad(installation, base, {
      full,
      queries: tasks.queries,
      to: await cloneOf(artifact, settings.privateKeyDer),
    }),
  )
  const nodeMegabytesTwo = ownMegabytes(installation.searchNode.pid)
  const memory = await steps.run('memory of a search node', async () =>
    measureMemory(installation.settings, [artifact, await cloneOf(artifact, settings.privateKeyDer)], tasks.queries),
  )
  const settled = await untilSettled(installation.owner)
  const refusals = await steps.run('refusals', () =>
    measureRefusals({ installation, key, question: tasks.queries[0]?.text ?? '', rounds: refusalRounds(seconds) }),
  )
  const rebuild = await steps.run(`rebuild of ${flags.deliveries} deliveries`, () =>
    measureRebuild(installation, flags),
  )
  const files = fileBytes(artifact)
  const result = {
    at: new Date().toISOString(),
    passages: settings.corpus.passages,
    dimensions,
    vectors: flags.realVectors ? ('real' as const) : ('generated' as const),
    seconds,
    seed,
    threads: availableParallelism(),
    load_average: { before: loadBefore[0] ?? 0, after: loadavg()[0] ?? 0 },
    durability,
    build,
    disk: {
      megabytes: Object.values(files).reduce((sum, bytes) => sum + bytes, 0) / MEGABYTE,
      vectors_megabytes: statSync(join(artifact.folder, 'vectors.f32')).size / MEGABYTE,
      files,
    },
    open_ms: openMs,
    node_megabytes: nodeMegabytes,
    node_megabytes_two_versions: nodeMegabytesTwo,
    memory,
    inside,
    swap,
    cells,
    found,
    ledger: settled.state,
    settled_after_ms: settled.ms,
    lance,
    refusals,
    rebuild,
  }
  const thresholds = [
    ...judgeCells(cells, found, settled.state, full.delivered()),
    ...judgeScale(result),
    ...judgeMemory(memory, settings.corpus.passages),
    ...judgeRefusals(refusals),
    ...judgeRebuild(rebuild),
    ...(lance === null ? [] : judgeLance(lance)),
  ]
  return { ...result, thresholds }
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

/** Each path answers the compared questions once; this warms it up, too. */
async function foundBy(
  raw: RawSearch,
  [hybrid, , grpc, full]: readonly MeasuredPath[],
  tasks: Tasks,
  exact: Readonly<Record<string, Exact>>,
): Promise<FoundBy> {
  const of = async (at: number): Promise<Found> => {
    const task = tasks.cells[at]
    const right = exact[task?.name ?? '']
    if (task === undefined || right === undefined || hybrid === undefined || grpc === undefined || full === undefined)
      throw new Error('a path is missing')
    const { queries, selectivity, filters } = compared(task, tasks)
    const rows = await nearestRows(raw, queries, filters, 10)
    const expected = await askOnce(hybrid, queries, selectivity)
    const same = (lists: readonly (readonly string[])[]): number =>
      lists.filter((list, number) => list.join(' ') === expected[number]?.join(' ')).length / expected.length
    return {
      recall_at_5: recallAt(5, rows, right),
      recall_at_10: recallAt(10, rows, right),
      grpc_same: same(await askOnce(grpc, queries, selectivity)),
      full_same: same(await askOnce(full, queries, selectivity)),
    }
  }
  return { unfiltered: await of(0), '22 %': await of(1), '1.8 %': await of(2) }
}
