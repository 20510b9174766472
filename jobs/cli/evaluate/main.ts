import { access, constants, mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { writeDurably } from '#core/platform/durable-file.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { describeCause } from '#core/platform/log.ts'
import { renderPage } from '#jobs/evaluate/page/page.ts'
import { createProgress } from '#jobs/cli/progress.ts'
import { evaluateDataSet } from './evaluation.ts'
import { evaluateFlags, usageExitCode } from './flags.ts'
import type { EvaluateFlags } from './flags.ts'
import { figuresOf } from '#jobs/evaluate/report.ts'

/** Exit code of a shell for SIGINT. */
const INTERRUPTED = 130

/** Writes results to standard output, everything else to standard error. @returns the exit code. */
async function main(args: readonly string[], stopped: AbortSignal): Promise<number> {
  const progress = createProgress(process.stderr)
  try {
    const flags = evaluateFlags(args)
    await assertWritable(flags)
    const notes: string[] = []
    const output = { progress: progress.update.bind(progress), note: (sentence: string) => void notes.push(sentence) }
    const { report, table } = await evaluateDataSet(flags, output, stopped)
    progress.end()
    for (const note of notes) process.stderr.write(`note: ${note}\n`)
    process.stdout.write(table)
    if (flags.json !== undefined)
      await writeDurably(resolve(flags.json), `${JSON.stringify(figuresOf(report), null, 2)}\n`)
    if (flags.html !== undefined) await writeDurably(resolve(flags.html), renderPage(report))
    return 0
  } catch (error) {
    progress.end()
    const usage = usageExitCode(error)
    if (usage !== undefined) return usage
    process.stderr.write(stopped.aborted ? 'Stopped; the temporary files are removed.\n' : `${sentenceOf(error)}\n`)
    return stopped.aborted ? INTERRUPTED : 1
  }
}

/** Fails before the evaluation if an output file cannot be written. */
async function assertWritable({ json, html }: EvaluateFlags): Promise<void> {
  for (const path of [json, html]) {
    if (path === undefined) continue
    const folder = dirname(resolve(path))
    await mkdir(folder, { recursive: true })
      .then(() => access(folder, constants.W_OK))
      .catch((cause: unknown) => {
        throw new OperatorError(`${path} cannot be written: name a file in a folder that this account may write to.`, {
          cause,
        })
      })
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof OperatorError
    ? error.message
    : `The evaluation failed in a way that was not foreseen: ${describeCause(error)}`
}

const stop = new AbortController()
const onSignal = (): void => stop.abort(new Error('stopped by a signal'))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
// A killed parent stops this process; the open channel alone must not keep it alive.
process.on('disconnect', onSignal)
process.channel?.unref()
process.exitCode = await main(process.argv.slice(2), stop.signal)
