import { access, constants, mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import { ModelError } from '#core/platform/json-endpoint.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { describeCause } from '#core/platform/log.ts'
import { renderPage } from '#jobs/evaluation/page/page.ts'
import { figuresOf } from '#jobs/evaluation/report.ts'
import { withOwnEncoder } from '#operator/command-line/own-encoder.ts'
import { createProgress } from '#operator/command-line/progress.ts'
import { renderPage as renderSections, renderText } from '#operator/command-line/sections.ts'
import { aboutLines, aboutSection, startAbout, type About } from './about.ts'
import { compareEvaluations } from './compare.ts'
import { evaluateDataSet } from './evaluation.ts'
import { evaluateFieldQuestions } from './field-questions/evaluation.ts'
import { countsOf, sectionsOf } from './field-questions/figures.ts'
import { detailLines, perQuestionOf } from './field-questions/judge.ts'
import { comparedFiles, evaluateFlags, usageExitCode, type DataSetFlags, type FieldQuestionFlags } from './flags.ts'
import type { EvaluationOutput } from './tools.ts'

/** Exit code of a shell for SIGINT. */
const INTERRUPTED = 130

interface EvaluationResult {
  readonly text: string
  /** Files by path; undefined if none were requested. */
  readonly files: readonly (readonly [path: string | undefined, content: string])[]
}

const stop = new AbortController()
const onSignal = (): void => stop.abort(new Error('stopped by a signal'))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
// A killed parent stops this process; the open channel alone must not keep it alive.
process.on('disconnect', onSignal)
process.channel?.unref()
process.exitCode = await run(process.argv.slice(2), stop.signal)

/** Evaluates until it is done or the process gets a signal. Results go to standard output, the rest to standard error. */
async function run(args: readonly string[], stopped: AbortSignal): Promise<0 | 1 | 2 | typeof INTERRUPTED> {
  const progress = createProgress(process.stderr)
  const notes: string[] = []
  const { counting, finish } = startAbout(args)
  const note = (sentence: string): void => void notes.push(sentence)
  const output = { progress: progress.update.bind(progress), note, counting }
  try {
    if (args[0] === 'compare') {
      process.stdout.write(`${renderText(compareEvaluations(...comparedFiles(args.slice(1))))}\n`)
      return 0
    }
    const flags = evaluateFlags(args)
    await assertWritable([flags.json, flags.html, 'details' in flags ? flags.details : undefined])
    const { text, files } = await withOwnEncoder(flags, stopped, async (own, either, digest) => {
      const about = (): About => finish(own.embeddingModel, digest)
      return await evaluate(own, { ...output, about }, either)
    })
    progress.end()
    for (const each of notes) process.stderr.write(`note: ${each}\n`)
    process.stdout.write(`${text}\n`)
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

async function evaluate(
  flags: DataSetFlags | FieldQuestionFlags,
  output: EvaluationOutput & { readonly about: () => About },
  signal: AbortSignal,
): Promise<EvaluationResult> {
  const json = (figures: object): string => `${JSON.stringify(figures, null, 2)}\n`
  if ('folder' in flags) {
    const { report, perQuestion, sections } = await evaluateDataSet(flags, output, signal)
    const about = output.about()
    return {
      text: renderText([...sections, aboutSection(about)]),
      files: [
        [flags.json, json({ ...figuresOf(report), about, per_question: perQuestion })],
        [flags.html, renderPage(report, undefined, aboutLines(about))],
      ],
    }
  }
  const asked = await evaluateFieldQuestions(flags, output, signal)
  const counts = countsOf(asked)
  const about = output.about()
  const sections = [...sectionsOf(counts), aboutSection(about)]
  return {
    text: renderText(sections),
    files: [
      [flags.json, json({ ...counts, about, per_question: perQuestionOf(asked.outcomes) })],
      [flags.html, renderSections('Field questions of versions without a question set', sections)],
      [flags.details, detailLines(asked.outcomes)],
    ],
  }
}

/** Fails before the evaluation if an output file cannot be written. */
async function assertWritable(paths: readonly (string | undefined)[]): Promise<void> {
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
  if (error instanceof ModelError) return `A model failed: ${error.message}. Repeat the run, which keeps what it gave.`
  return error instanceof OperatorError
    ? error.message
    : `The evaluation failed in a way that was not foreseen: ${describeCause(error)}`
}
