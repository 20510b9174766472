import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeDurably } from '#core/platform/durable-file.ts'
import { describeCause } from '#core/platform/log.ts'
import { createSteps } from '#operator/demo/steps.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { measureEncoder, renderEncoder } from './encoder.ts'
import { benchEngines } from './engines/run.ts'
import { judgeEngines } from './engines/table.ts'
import { UsageError, benchFlags } from './flags.ts'
import type { BenchFlags } from './flags.ts'
import { renderLance } from './lance.ts'
import { renderFiles, renderMemory } from './memory.ts'
import { renderPage } from './page.ts'
import { renderRebuild } from './rebuild.ts'
import { renderRefusals } from './refusals.ts'
import type { BenchResult } from './result.ts'
import { benchOf } from './run.ts'
import { growth, renderGrowth, renderInside } from './scale.ts'
import type { Threshold } from './thresholds.ts'
import { renderThresholds, renderShares, renderTable } from './table.ts'

async function report(flags: BenchFlags, result: BenchResult, steps: Steps): Promise<number> {
  steps.print(renderTable(result.cells, result.found))
  steps.print(renderShares(result.cells))
  steps.print(renderInside(result))
  steps.print(renderRefusals(result.refusals))
  steps.print(renderRebuild(result.rebuild))
  if (result.lance !== null) steps.print(renderLance(result.lance))
  steps.print(renderGrowth(growth([result])))
  steps.print(
    `Load of the machine before and after: ${result.load_average.before.toFixed(1)}, ` +
      `${result.load_average.after.toFixed(1)}. The search node holds ` +
      `${result.node_megabytes?.toFixed(0) ?? '?'} MB, with two versions ` +
      `${result.node_megabytes_two_versions?.toFixed(0) ?? '?'} MB.`,
  )
  steps.print(renderMemory(result.memory))
  steps.print(renderFiles(result.disk.files, result.passages))
  steps.print(renderThresholds(result.thresholds))
  if (flags.json !== undefined) await writeDurably(resolve(flags.json), `${JSON.stringify(result, null, 2)}\n`)
  if (flags.html !== undefined) await writeDurably(resolve(flags.html), renderPage(result))
  return verdict(result.thresholds, steps)
}

function verdict(thresholds: readonly Threshold[], steps: Steps): number {
  const missed = thresholds.filter((threshold) => !threshold.met)
  steps.print(
    missed.length === 0
      ? 'Every threshold is met.'
      : `${missed.length} threshold(s) missed: ` +
          missed.map((threshold) => `${threshold.name} (${threshold.measured}, wanted ${threshold.wanted})`).join('; '),
  )
  return missed.length === 0 ? 0 : 1
}

/**
 * Runs each size in its own process, one after the other; then shows all of them in one table. @returns 1 if a
 * threshold was missed at any size.
 */
async function severalSizes(flags: BenchFlags, steps: Steps): Promise<number> {
  const results: BenchResult[] = []
  for (const passages of flags.passages) {
    const file = join(resolve(flags.dataDir), `result-${passages}.json`)
    rmSync(file, { force: true })
    const options = {
      passages,
      dimensions: flags.dimensions,
      seconds: flags.seconds,
      seed: flags.seed,
      deliveries: flags.deliveries,
      'data-dir': flags.dataDir,
      json: file,
    }
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...args], { stdio: 'inherit' })
    steps.onStop(async () => void child.kill('SIGTERM'))
    await new Promise((end) => child.once('close', end))
    // Written by the process that just ended, from the same type.
    results.push(JSON.parse(readFileSync(file, 'utf8')) as BenchResult)
  }
  const table = growth(results)
  steps.print(renderGrowth(table))
  if (flags.json !== undefined)
    await writeDurably(resolve(flags.json), `${JSON.stringify({ growth: table, sizes: results }, null, 2)}\n`)
  return results.every(({ thresholds }) => thresholds.every(({ met }) => met)) ? 0 : 1
}

async function encoderAlone(model: string, flags: BenchFlags, steps: Steps): Promise<number> {
  const result = await measureEncoder({ ...flags, model }, steps)
  steps.print(renderEncoder(result))
  if (flags.json !== undefined) await writeDurably(resolve(flags.json), `${JSON.stringify(result, null, 2)}\n`)
  return 0
}

/** Versions in their own files beside versions in a cluster. @returns 1 if a threshold was missed. */
async function engines(flags: BenchFlags, steps: Steps): Promise<number> {
  const sizes = await benchEngines(flags, steps)
  const thresholds = judgeEngines(sizes)
  if (flags.json !== undefined)
    await writeDurably(resolve(flags.json), `${JSON.stringify({ sizes, thresholds }, null, 2)}\n`)
  return verdict(thresholds, steps)
}

async function measured(flags: BenchFlags, steps: Steps): Promise<number> {
  if (flags.model !== undefined) return encoderAlone(flags.model, flags, steps)
  if (flags.engine) return engines(flags, steps)
  const [passages = 0] = flags.passages
  return flags.passages.length > 1
    ? severalSizes(flags, steps)
    : report(flags, await benchOf(passages, flags, steps), steps)
}

const steps = createSteps(process.stdout)
try {
  const flags = benchFlags(process.argv.slice(2))
  steps.stopOnSignals()
  const code = await measured(flags, steps)
  await steps.stop(code)
} catch (error) {
  steps.print(error instanceof UsageError ? error.message : describeCause(error))
  await steps.stop(1)
}
