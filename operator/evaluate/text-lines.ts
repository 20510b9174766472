import { isUtf8 } from 'node:buffer'
import { access } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { linesOf } from '#law/import/record/lines.ts'

export interface TextLine {
  readonly text: string
  readonly number: number
}

/** The files of one evaluation; each exists. */
export type TaskFiles = Awaited<ReturnType<typeof findTaskFiles>>

interface NamedFiles {
  readonly folder: string
  readonly queries?: string | undefined
  readonly qrels?: string | undefined
  readonly answerability?: string | undefined
}

/**
 * Returns the named files, else those of the folder under their usual names.
 * @throws OperatorError naming the first missing file.
 */
export async function findTaskFiles({ folder, queries, qrels, answerability }: NamedFiles) {
  const labels = join(folder, 'answerability.tsv')
  return {
    corpus: await firstReadable([join(folder, 'corpus.jsonl')], 'name a folder that holds a data set'),
    queries: await firstReadable(
      [queries ?? join(folder, 'queries.jsonl')],
      'name the file of questions with --queries',
    ),
    qrels: await firstReadable(
      qrels === undefined ? [join(folder, 'qrels.tsv'), join(folder, 'qrels', 'test.tsv')] : [qrels],
      'name the judgments with --qrels',
    ),
    /** Undefined: abstention is not measured. */
    answerability:
      answerability === undefined
        ? await ifReadable(labels)
        : await firstReadable([answerability], 'name the labels with --answerability'),
  }
}

/** @throws OperatorError when none of the paths can be read. */
export async function firstReadable(paths: readonly string[], remedy: string): Promise<string> {
  for (const path of paths) if ((await ifReadable(path)) !== undefined) return path
  throw new OperatorError(`${paths.join(' and ')} cannot be read: ${remedy}.`)
}

async function ifReadable(path: string): Promise<string | undefined> {
  return access(path).then(
    () => path,
    () => undefined,
  )
}

/** Makes the error of one line: file, number, fault and remedy, never the line's content. */
export function lineFault(path: string, line: number, fault: string): OperatorError {
  return new OperatorError(`${basename(path)}, line ${line}, ${fault}: correct it and evaluate again.`)
}

/** Yields the lines of a file that are not blank. @throws OperatorError for a line that is too long or not UTF-8. */
export async function* textLines(path: string, signal?: AbortSignal): AsyncGenerator<TextLine> {
  for await (const { number, bytes } of linesOf(path, IMPORT_BOUNDS.lineBytesMax, signal)) {
    if (bytes === undefined) throw lineFault(path, number, `is longer than ${IMPORT_BOUNDS.lineBytesMax} bytes`)
    if (!isUtf8(bytes)) throw lineFault(path, number, 'is not valid UTF-8')
    const text = bytes.toString('utf8')
    if (text.trim() !== '') yield { text, number }
  }
}
