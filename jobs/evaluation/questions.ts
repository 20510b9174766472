import { z } from 'zod'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import type { Qrels } from './metrics/ranking.ts'
import { readFile, stat } from 'node:fs/promises'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { sha256 } from '#core/platform/digest.ts'

/** What a caller may ask. */
export const questionTextSchema = z
  .string()
  .refine((text) => text.trim() !== '' && text.isWellFormed() && [...text].length <= SEARCH_BOUNDS.queryCharactersMax)
const list = z.array(z.string().min(1)).min(1).max(SEARCH_BOUNDS.filterValuesMax)

/**
 * One line of a question set. `relevant` holds the `source_id` of each passage that answers the question; empty: the
 * corpus has no answer. `answerable` may say the same once more; a line that says otherwise is refused. `filters`
 * narrows the question, as in a caller's request. `in_force_on` sets another UTC day than today.
 */
const questionSchema = z.object({
  id: z.string().min(1).max(200),
  text: questionTextSchema,
  relevant: z.array(z.string().min(1)).transform((ids) => [...new Set(ids)]),
  answerable: z.boolean().optional(),
  filters: z
    .strictObject({
      language: list.optional(),
      jurisdiction: list.optional(),
      subject: list.optional(),
      in_force_on: z.iso.date().optional(),
    })
    .optional(),
})
export type Question = z.infer<typeof questionSchema>

/**
 * Reads a question set, one JSON object per line; blank lines are skipped.
 * @throws OperatorError naming the first invalid line.
 */
export function parseQuestions(jsonl: string): readonly Question[] {
  const questions: Question[] = []
  const ids = new Set<string>()
  for (const [index, line] of jsonl.split('\n').entries()) {
    if (line.trim() === '') continue
    if (questions.length >= EVALUATION_BOUNDS.evaluationQuestionsMax)
      throw new OperatorError(
        `The question set has more than ${EVALUATION_BOUNDS.evaluationQuestionsMax} questions: take a sample and build again.`,
      )
    const question = parseLine(line, index + 1)
    if (ids.has(question.id))
      throw new OperatorError(
        `Line ${index + 1} of the question set repeats the id of an earlier line: give each question ` +
          'its own and build again.',
      )
    ids.add(question.id)
    questions.push(question)
  }
  const contradictory = questions.filter(
    ({ answerable, relevant }) => answerable !== undefined && answerable !== relevant.length > 0,
  )
  if (contradictory.length > 0)
    throw new OperatorError(
      `The question set contradicts itself: ${idsInWords(contradictory)}. A question is answerable if and only if ` +
        '"relevant" names a passage: correct these lines and build again.',
    )
  if (!questions.some((question) => question.relevant.length > 0))
    throw new OperatorError('The question set has no question with a relevant passage: add some and build again.')
  return questions
}

/** `3 questions: "a", "b", "c"`; of many, the first ones. */
export function idsInWords(questions: readonly { readonly id: string }[]): string {
  const named = questions.slice(0, EVALUATION_BOUNDS.questionsNamedMax).map(({ id }) => JSON.stringify(id))
  const more = questions.length > named.length ? `, and ${questions.length - named.length} more` : ''
  return `${questions.length} ${questions.length === 1 ? 'question' : 'questions'}: ${named.join(', ')}${more}`
}

function parseLine(line: string, number: number): Question {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new OperatorError(`Line ${number} of the question set is not JSON: correct it and build again.`)
  }
  const parsed = questionSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const paths = parsed.error.issues.map((issue) => issue.path.join('.') || 'the line itself').join(', ')
  throw new OperatorError(`Line ${number} of the question set is wrong at ${paths}: correct it and build again.`)
}

/** A question with everything its answer is judged by. */
export interface QueryWithQrels {
  readonly id: string
  readonly text: string
  /** Relevance by source id; empty where the question has no relevant record. */
  readonly qrels: Qrels
  /** Undefined: the question is not part of the abstention figures. */
  readonly answerable: boolean | undefined
  /** Questions of one group stay together in cross-validation; undefined: a group of its own. */
  readonly group: string | undefined
  /**
   * True if the text is quoted from a passage. The question then asks for that passage, not for provisions that the
   * text names.
   */
  readonly quoted: boolean
  readonly filters: Question['filters']
}

/**
 * Converts a question of a question set. A question without a relevant passage is one that the corpus does not answer.
 */
export function queryWithQrels({ id, text, relevant, filters }: Omit<Question, 'answerable'>): QueryWithQrels {
  return {
    id,
    text,
    qrels: new Map(relevant.map((source) => [source, 1])),
    answerable: relevant.length > 0,
    group: undefined,
    quoted: false,
    filters,
  }
}

/**
 * Reads a question set that was captured in the artifact store.
 * @throws OperatorError when it is missing, too large, changed or malformed.
 */
export async function readQuestionSet(store: ArtifactStore, sha256Hex: string): Promise<readonly QueryWithQrels[]> {
  const path = await store.fetch(store.snapshotFile(sha256Hex))
  const { size } = await stat(path).catch(() => ({ size: undefined }))
  if (size === undefined)
    throw new OperatorError(
      `The question set ${sha256Hex} is not in the artifact store: build with --questions and the file that has this ` +
        'SHA-256, or with another question set.',
    )
  if (size > EVALUATION_BOUNDS.evaluationQuestionsBytesMax)
    throw new OperatorError(
      `The question set is larger than ${EVALUATION_BOUNDS.evaluationQuestionsBytesMax} bytes: take a sample and build again.`,
    )
  const bytes = await readFile(path)
  if (sha256(bytes).toString('hex') !== sha256Hex)
    throw new OperatorError(
      'The question set in the artifact store was changed after it was captured: import it again and build with it.',
    )
  return parseQuestions(bytes.toString('utf8')).map(queryWithQrels)
}
