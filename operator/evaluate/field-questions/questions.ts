import { basename } from 'node:path'
import { z } from 'zod'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { questionTextSchema } from '#jobs/evaluation/questions.ts'
import { assignFolds } from '#jobs/evaluation/calibration/fit.ts'
import { parseRecordJson } from '#law/import/record/record-json.ts'
import { firstReadable, lineFault, textLines } from '../text-lines.ts'

/** Other fields of a line, such as a note, are ignored. */
const questionSchema = z.object({
  id: z.string().min(1).max(200),
  question: questionTextSchema,
  kind: z.string().min(1).max(100),
  /** Ids of the corpus, each of which answers the question by itself. */
  relevant: z.array(z.string().min(1)).transform((ids): ReadonlySet<string> => new Set(ids)),
  label: z.enum(['answerable', 'unanswerable']),
})
type Question = z.infer<typeof questionSchema>

/** Parameters are tuned on one half of the questions of a file, and figures are reported on the other. */
export const HALVES = ['tuning', 'reporting'] as const
export type Half = (typeof HALVES)[number]

export interface FieldQuestion extends Question {
  readonly half: Half
  /** What a rewriter wrote for it, best first; undefined without recorded rewritings. */
  readonly rewritten?: readonly string[] | undefined
}

const UNITS_MAX = 2 * SEARCH_BOUNDS.rewrittenCharactersMax
const rewritingSchema = z.object({
  id: z.string(),
  queries: z.array(z.string().trim().min(1).max(UNITS_MAX)).max(SEARCH_BOUNDS.rewrittenQueriesMax),
})

export interface QuestionFiles {
  readonly questions: readonly string[]
  /** Files of questions that the service was tuned on. */
  readonly tuning: readonly string[]
  /** A file of their recorded rewritings. */
  readonly rewritings?: string | undefined
}

/**
 * Reads the questions of all files. The halves of a file differ by at most one question; they are dealt by the hashes
 * of the ids. Where files of the tuning half are named, the others are the reporting half.
 * @param half the one to keep; undefined: both.
 * @throws OperatorError for a file that cannot be read, the first invalid line, a repeated id, or too many questions.
 */
export async function readFieldQuestions(
  { questions: files, tuning, rewritings }: QuestionFiles,
  half: Half | undefined,
  signal: AbortSignal,
): Promise<readonly FieldQuestion[]> {
  const questions: FieldQuestion[] = []
  const ids = new Set<string>()
  const rewritten = rewritings === undefined ? undefined : await readRewritings(rewritings, signal)
  for (const file of [...tuning, ...files]) {
    const read = await readFileOfQuestions(file, ids, signal)
    const own = read.map(({ id }) => id)
    const folds = assignFolds(own, HALVES.length)
    for (const [at, question] of read.entries()) {
      const dealt = HALVES[folds[at] ?? 0] ?? HALVES[0]
      const given = tuning.length === 0 ? dealt : tuning.includes(file) ? 'tuning' : 'reporting'
      if (half === undefined || half === given)
        questions.push({ ...question, half: given, rewritten: rewritten?.get(question.id) })
    }
  }
  if (questions.length > 0) return questions
  throw new OperatorError(`${files.map((file) => basename(file)).join(' and ')} holds no question: add some.`)
}

/** @throws OperatorError for a file that cannot be read, or the first invalid line or repeated id. */
async function readRewritings(file: string, signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]>> {
  const queries = new Map<string, readonly string[]>()
  const path = await firstReadable([file], 'name recorded rewritings with --rewritings')
  for await (const { text, number } of textLines(path, signal)) {
    const parsed = rewritingSchema.safeParse(parseRecordJson(text))
    if (!parsed.success) throw lineFault(path, number, 'is no record of a question with queries')
    if (queries.has(parsed.data.id)) throw lineFault(path, number, 'repeats the id of an earlier line')
    queries.set(parsed.data.id, parsed.data.queries)
  }
  return queries
}

/** @param ids of earlier files; those of this file are added. */
async function readFileOfQuestions(file: string, ids: Set<string>, signal: AbortSignal): Promise<readonly Question[]> {
  const questions: Question[] = []
  const path = await firstReadable([file], 'name the file of questions with --questions')
  for await (const { text, number } of textLines(path, signal)) {
    const parsed = questionSchema.safeParse(parseRecordJson(text))
    if (!parsed.success) throw lineFault(path, number, faultOf(parsed.error))
    if (ids.has(parsed.data.id)) throw lineFault(path, number, 'repeats the id of an earlier line')
    if (ids.size === EVALUATION_BOUNDS.evaluationQuestionsMax)
      throw new OperatorError(
        `${basename(path)} has more than ${EVALUATION_BOUNDS.evaluationQuestionsMax} questions: take a sample and evaluate again.`,
      )
    ids.add(parsed.data.id)
    questions.push(parsed.data)
  }
  return questions
}

function faultOf(error: z.ZodError): string {
  const fields = new Set(error.issues.map(({ path }) => path.join('.') || 'the line itself'))
  return `is not a question (wrong: ${[...fields].join(', ')})`
}
