import { resolve } from 'node:path'
import { writeDurably } from '#core/platform/durable-file.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { runWithSteps } from '#test/support/long-run.ts'
import { renderPage, renderText, type Section } from '#operator/command-line/sections.ts'
import { againstSection, benchAgainst } from './against/run.ts'
import { encoderSection, measureEncoder } from './encoder.ts'
import { benchEngines, engineSections, judgeEngines } from './engines/run.ts'
import { USAGE, benchFlags, type BenchFlags } from './flags.ts'
import { benchOf } from './run.ts'
import { sectionsOf } from './tables.ts'
import { judge, thresholdSection, type Threshold } from './thresholds.ts'

interface Measured {
  readonly result: object
  readonly sections: readonly Section[]
  readonly thresholds: readonly Threshold[]
}

async function measure(flags: BenchFlags, steps: Steps): Promise<Measured> {
  const { model, against } = flags
  if (against !== undefined) {
    const result = await benchAgainst({ ...flags, against }, steps)
    return { result, sections: [againstSection(result)], thresholds: [] }
  }
  if (model !== undefined) {
    const result = await measureEncoder({ ...flags, model }, steps)
    return { result, sections: [encoderSection(result)], thresholds: [] }
  }
  if (flags.engine) {
    const result = await benchEngines(flags, steps)
    return { result, sections: engineSections(result), thresholds: judgeEngines(result) }
  }
  const result = await benchOf(flags, steps)
  return { result, sections: sectionsOf(result), thresholds: judge(result) }
}

/** @returns 1 if a threshold was missed. */
async function bench(flags: BenchFlags, steps: Steps): Promise<number> {
  steps.stopOnSignals()
  const { result, sections, thresholds } = await measure(flags, steps)
  const all = [...sections, ...(thresholds.length === 0 ? [] : [thresholdSection(thresholds)])]
  steps.print(renderText(all))
  if (flags.json !== undefined)
    await writeDurably(resolve(flags.json), `${JSON.stringify({ ...result, thresholds }, null, 2)}\n`)
  if (flags.html !== undefined) await writeDurably(resolve(flags.html), renderPage('Benchmark', all))
  return thresholds.every(({ met }) => met) ? 0 : 1
}

await runWithSteps(USAGE, benchFlags, bench)
