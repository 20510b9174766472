import { basename } from 'node:path'
import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { parseRecordJson } from '#jobs/import/record-json.ts'
import { firstReadable, lineFault, textLines } from '#jobs/cli/evaluate/text-lines.ts'

/** Other fields of a line, such as a note, are ignored. */
const questionSchema = z.object({
  id: z.string().min(1).max(200),
  question: z
    .string()
    .refine((text) => text.trim() !== '' && text.isWellFormed() && [...text].length <= BOUNDS.queryCharactersMax),
  kind: z.string().min(1).max(100),
  /** Ids of the corpus, each of which answers the question by itself. */
  relevant: z.array(z.string().min(1)).transform((ids): ReadonlySet<string> => new Set(ids)),
  label: z.enum(['answerable', 'unanswerable']),
})
export type NaturalQuestion = z.infer<typeof questionSchema>

/**
 * Reads the questions of all files.
 * @throws OperatorError for a file that cannot be read, the first invalid line, a repeated id, or too many questions.
 */
export async function readNaturalQuestions(
  files: readonly string[],
  signal: AbortSignal,
): Promise<readonly NaturalQuestion[]> {
  const questions = new Map<string, NaturalQuestion>()
  for (const file of files) {
    const path = await firstReadable([file], 'name the file of questions with --questions')
    for await (const { text, number } of textLines(path, signal)) {
      const parsed = questionSchema.safeParse(parseRecordJson(text))
      if (!parsed.success) throw lineFault(path, number, faultOf(parsed.error))
      if (questions.has(parsed.data.id)) throw lineFault(path, number, 'repeats the id of an earlier line')
      if (questions.size === BOUNDS.evaluationQuestionsMax)
        throw new OperatorError(
          `${basename(path)} has more than ${BOUNDS.evaluationQuestionsMax} questions: take a sample and ` +
            'evaluate again.',
        )
      questions.set(parsed.data.id, parsed.data)
    }
  }
  if (questions.size > 0) return [...questions.values()]
  throw new OperatorError(`${files.map((file) => basename(file)).join(' and ')} holds no question: add some.`)
}

function faultOf(error: z.ZodError): string {
  const fields = new Set(error.issues.map(({ path }) => path.join('.') || 'the line itself'))
  return `is not a question (wrong: ${[...fields].join(', ')})`
}
