import { access, constants, mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { writeDurably } from '#core/platform/durable-file.ts'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { describeCause } from '#core/platform/log.ts'
import { createProgress } from '#operator/command-line/progress.ts'
import { usageExitCode } from './flags.ts'

/** Exit code of a shell for SIGINT. */
const INTERRUPTED = 130

export interface EvaluationOutput {
  /** Shows progress to the user. */
  progress(stage: string, done: number, total: number, more?: string): void
  /** Shows one sentence to the user. */
  note(sentence: string): void
}

export interface EvaluationResult {
  /** Text for standard output. */
  readonly table: string
  /** Files by path; undefined if none were requested. */
  readonly files: readonly (readonly [path: string | undefined, content: string])[]
}

/**
 * Runs a command line that evaluates, until it is done or the process gets a signal. Results go to standard output,
 * everything else to standard error. Sets the exit code.
 */
export async function runEvaluation(
  evaluate: (args: readonly string[], output: EvaluationOutput, signal: AbortSignal) => Promise<EvaluationResult>,
): Promise<void> {
  const stop = new AbortController()
  const onSignal = (): void => stop.abort(new Error('stopped by a signal'))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  // A killed parent stops this process; the open channel alone must not keep it alive.
  process.on('disconnect', onSignal)
  process.channel?.unref()
  process.exitCode = await exitCodeOf(evaluate, stop.signal)
}

async function exitCodeOf(
  evaluate: Parameters<typeof runEvaluation>[0],
  stopped: AbortSignal,
): Promise<0 | 1 | 2 | typeof INTERRUPTED> {
  const progress = createProgress(process.stderr)
  const notes: string[] = []
  const output = { progress: progress.update.bind(progress), note: (sentence: string) => void notes.push(sentence) }
  try {
    const { table, files } = await evaluate(process.argv.slice(2), output, stopped)
    progress.end()
    for (const note of notes) process.stderr.write(`note: ${note}\n`)
    process.stdout.write(table)
    for (const [path, content] of files) if (path !== undefined) await writeDurably(resolve(path), content)
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
export async function assertWritable(paths: readonly (string | undefined)[]): Promise<void> {
  for (const path of paths) {
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
  if (error instanceof EmbeddingError) return `The embedding endpoint failed: ${error.message}.`
  return error instanceof OperatorError
    ? error.message
    : `The evaluation failed in a way that was not foreseen: ${describeCause(error)}`
}
