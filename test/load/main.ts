import { resolve } from 'node:path'
import { writeDurably } from '#core/platform/durable-file.ts'
import { describeCause } from '#core/platform/log.ts'
import { createSteps } from '#operator/demo/steps.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { createProgress } from '#operator/command-line/progress.ts'
import { openEmbedded } from './embedded/controls.ts'
import { install } from './embedded/installation.ts'
import { embeddedTarget } from './embedded/target.ts'
import { UsageError } from '#test/support/long-run.ts'
import { USAGE, loadFlags } from './flags.ts'
import type { LoadFlags } from './flags.ts'
import { startGenerator } from './generator/generator.ts'
import { remoteTarget } from './remote-target.ts'
import { planOf } from './plan.ts'
import { violationsOf } from './report/load-report.ts'
import type { LoadReport } from './report/load-report.ts'
import { renderFigures } from './report/figures.ts'
import { renderPage } from './report/page.ts'
import { renderChecks, renderScenario } from './report/table.ts'
import { runLoad } from './run.ts'
import type { Target } from './target.ts'

/** Exit code of a shell for SIGINT. */
const INTERRUPTED = 130

/** The first signal ends what is offered, and the run reports what it has; the second one ends the run. */
function interruptible(steps: Steps): AbortSignal {
  const interrupted = new AbortController()
  const onSignal = (): void => {
    if (interrupted.signal.aborted) return void steps.stop(INTERRUPTED)
    steps.print('Interrupted: what is under way ends, then the report follows.')
    interrupted.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  if (process.send !== undefined) process.on('disconnect', () => void steps.stop(INTERRUPTED))
  return interrupted.signal
}

async function openTarget(flags: LoadFlags, steps: Steps): Promise<Target> {
  if (flags.url !== undefined) return remoteTarget(flags.url)
  const { gateways, dataDir } = flags
  const installation = await install({ dataDir, searchNodes: gateways === 1 ? 1 : 2 }, steps)
  return embeddedTarget(await openEmbedded(installation, { count: gateways, preload: [] }, steps))
}

async function run(flags: LoadFlags, steps: Steps): Promise<LoadReport> {
  const signal = interruptible(steps)
  steps.print(`Seed ${flags.seed}.`)
  const { scenarios, leftOut } = planOf(flags.url === undefined ? 'embedded' : 'url', flags.scenarios)
  const target = await openTarget(flags, steps)
  const generator = await startGenerator()
  steps.onStop(() => generator.close())
  const { seconds, seed } = flags
  const report = await runLoad({
    target,
    generator,
    settings: { seconds, seed, gateways: flags.url === undefined ? flags.gateways : 1 },
    scenarios,
    signal,
    progress: createProgress(process.stderr),
    onScenario: (result) => steps.print(renderScenario(result)),
  })
  return { ...report, left_out: leftOut }
}

async function write(flags: LoadFlags, report: LoadReport): Promise<void> {
  if (flags.json !== undefined) await writeDurably(resolve(flags.json), `${JSON.stringify(report, null, 2)}\n`)
  if (flags.html !== undefined) await writeDurably(resolve(flags.html), renderPage(report))
}

const steps = createSteps(process.stdout)
try {
  const flags = loadFlags(process.argv.slice(2))
  if (flags === 'help') {
    steps.print(USAGE)
    await steps.stop(0)
  } else {
    const report = await run(flags, steps)
    steps.print(renderFigures(report))
    steps.print(renderChecks(report))
    await write(flags, report)
    await steps.stop(violationsOf(report) > 0 ? 1 : report.interrupted ? INTERRUPTED : 0)
  }
} catch (error) {
  steps.print(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : describeCause(error))
  await steps.stop(error instanceof UsageError ? 2 : 1)
}
