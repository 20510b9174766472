import { resolve } from 'node:path'
import { writeDurably } from '#core/platform/durable-file.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { createProgress } from '#operator/command-line/progress.ts'
import { interruptible, runWithSteps } from '#test/support/long-run.ts'
import { renderPage, renderText } from '#operator/command-line/sections.ts'
import { USAGE, loadFlags, type LoadFlags } from './flags.ts'
import { checkSection, exitCodeOf, scenarioSection, sectionsOf } from './report.ts'
import { runLoad } from './run.ts'
import { install } from './services/installation.ts'
import { openServices } from './services/services.ts'

async function run({ scenarios, json, html, dataDir, ...settings }: LoadFlags, steps: Steps): Promise<number> {
  const signal = interruptible(steps, 'what is under way ends')
  steps.print(`Seed ${settings.seed}.`)
  const installation = await install(dataDir, settings.gateways === 1 ? 1 : 2, steps)
  const services = await openServices(installation, { count: settings.gateways }, steps)
  const progress = createProgress(process.stderr)
  const report = await runLoad({
    services,
    settings,
    scenarios,
    signal,
    progress,
    onScenario: (result) => steps.print(renderText([scenarioSection(result)])),
  })
  steps.print(renderText([checkSection(report)]))
  if (json !== undefined) await writeDurably(resolve(json), `${JSON.stringify(report, null, 2)}\n`)
  if (html !== undefined) await writeDurably(resolve(html), renderPage(`Load test of ${report.at}`, sectionsOf(report)))
  return exitCodeOf(report)
}

await runWithSteps(USAGE, loadFlags, run)
