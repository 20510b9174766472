import { mkdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { writeDurably } from '#core/artifact/store.ts'
import { describeCause } from '#core/log.ts'
import { storeUrl } from '#jobs/demo/stack.ts'
import { readOrCreateState } from '#jobs/demo/state.ts'
import { newSteps } from '#jobs/demo/steps.ts'
import type { Steps } from '#jobs/demo/steps.ts'
import { createProgress } from '#jobs/operator/progress.ts'
import { corpusArtifact } from './artifact.ts'
import { judge } from './bars.ts'
import type { Recall } from './bars.ts'
import { SELECTIVITIES } from './corpus.ts'
import { exactAnswers, recallAt5 } from './exact.ts'
import type { Exact } from './exact.ts'
import { UsageError, benchFlags } from './flags.ts'
import type { BenchFlags } from './flags.ts'
import { assertDurable, install } from './installation.ts'
import { untilSettled } from './ledger.ts'
import { askOnce } from './load.ts'
import { measureAll, warmUp } from './measure.ts'
import type { Cell } from './measure.ts'
import { admitCaller, publishArtifact } from './publish.ts'
import { COMPARED_QUERIES, inventQueries } from './queries.ts'
import type { Query } from './queries.ts'
import { renderPage } from './page.ts'
import type { BenchResult } from './result.ts'
import { openFull, openGrpc, openRaw } from './roads.ts'
import type { Road } from './roads.ts'
import { renderBars, renderCell, renderShares, renderTable } from './table.ts'

async function bench(flags: BenchFlags, steps: Steps): Promise<BenchResult> {
  const { passages, dimensions, seed, seconds } = flags
  const dataDir = resolve(flags.dataDir)
  mkdirSync(dataDir, { recursive: true })
  rmSync(join(dataDir, 'logs'), { recursive: true, force: true })
  const state = readOrCreateState(join(dataDir, 'state.json'))
  const shape = { passages, seed }
  const progress = createProgress(process.stderr)
  const artifact = await steps.run('corpus and index', () =>
    corpusArtifact({
      ...shape,
      dimensions,
      storeUrl: storeUrl({ folder: dataDir }),
      privateKeyDer: Buffer.from(state.secrets.MANIFEST_PRIVATE_KEY, 'base64'),
      onProgress: (done, total) => progress.update('passages', done, total),
    }),
  )
  progress.end()
  const queries = inventQueries(artifact.space, seed)
  const exact = await steps.run('exact answers', () => exactAnswers(shape, artifact, queries, dataDir))
  const installation = await install({ dataDir, dimensions, state, queries }, steps)
  const durability = await assertDurable(installation.owner)
  await steps.run('activation', () => publishArtifact(installation, artifact))
  const key = await admitCaller(installation)
  const full = openFull(installation.gateway.baseUrl, key)
  const roads = [await openRaw(artifact), openGrpc(installation.searchNode.address, artifact), full]
  for (const road of roads) steps.onStop(() => road.close())

  const recall = await steps.run('recall', () => compare(roads, queries.slice(0, COMPARED_QUERIES), exact))
  const measured = { installation, roads, queries, seconds, onCell: (cell: Cell): void => steps.note(renderCell(cell)) }
  await steps.run('warm-up', () => warmUp(measured))
  const cells = await steps.run('measurement', () => measureAll(measured))
  const settled = await untilSettled(installation.owner)
  const bars = judge(cells, recall, settled.state, full.delivered())
  const results = { cells, recall_at_5: recall, ledger: settled.state, settled_after_ms: settled.ms, bars }
  return { at: new Date().toISOString(), passages, dimensions, seconds, seed, threads: availableParallelism(), durability, allowed: exact.allowed, ...results }
}

/** Each road answers the compared questions once; this warms it up, too. */
async function compare([raw, grpc, full]: readonly Road[], queries: readonly Query[], exact: Exact): Promise<Recall> {
  if (raw === undefined || grpc === undefined || full === undefined) throw new Error('a road is missing')
  const recallOf = async (road: Road, at: number): Promise<number> => {
    const selectivity = SELECTIVITIES[at]
    if (selectivity === undefined) throw new Error('no such selectivity')
    return recallAt5(await askOnce(road, queries, selectivity), exact.nearest[selectivity.name])
  }
  const of = async (at: number): Promise<Recall['unfiltered']> => ({
    raw: await recallOf(raw, at),
    grpc: await recallOf(grpc, at),
    full: await recallOf(full, at),
  })
  return { unfiltered: await of(0), '22 %': await of(1), '1.8 %': await of(2) }
}

async function report(flags: BenchFlags, result: BenchResult, steps: Steps): Promise<number> {
  steps.print(renderTable(result.cells, result.recall_at_5))
  steps.print(renderShares(result.cells))
  steps.print(renderBars(result.bars))
  if (flags.json !== undefined) await writeDurably(resolve(flags.json), `${JSON.stringify(result, null, 2)}\n`)
  if (flags.html !== undefined) await writeDurably(resolve(flags.html), renderPage(result))
  const missed = result.bars.filter((bar) => !bar.met)
  steps.print(
    missed.length === 0
      ? 'Every bar is met.'
      : `${missed.length} bar(s) missed: ${missed.map((bar) => `${bar.name} (${bar.measured}, wanted ${bar.wanted})`).join('; ')}`,
  )
  return missed.length === 0 ? 0 : 1
}

const steps = newSteps(process.stdout)
try {
  const flags = benchFlags(process.argv.slice(2))
  steps.stopOnSignals()
  await steps.stop(await report(flags, await bench(flags, steps), steps))
} catch (error) {
  steps.print(error instanceof UsageError ? error.message : describeCause(error))
  await steps.stop(1)
}
