import { basename } from 'node:path'
import { words } from '#core/index/analysis/words.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import { flaggedEmbedding } from '#operator/command-line/embedding-flags.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import type { AskRecordsContext } from '#jobs/evaluation/ask.ts'
import { fitRanking } from '#jobs/evaluation/fusion.ts'
import { standardisedByNegatives } from '#jobs/evaluation/negatives.ts'
import type { QueryWithQrels } from '#jobs/evaluation/query-with-qrels.ts'
import type { DataSetFlags } from './flags.ts'
import type { EvaluationOutput } from './tools.ts'
import { readTask } from './task.ts'
import type { Task, TaskQuestion } from './task.ts'
import { firstReadable } from './text-lines.ts'
import type { TaskFiles } from './text-lines.ts'

/**
 * Reads the questions to which the ranking is fitted.
 * @param asked the questions that are measured. @returns undefined where no others are named.
 * @throws OperatorError for a version without vectors, for a question that is asked too, because its figures would
 * flatter, and for too few questions or judgments of none.
 */
export async function readFitTask(
  { fitQueries, fitQrels, limitTo, ...flags }: DataSetFlags,
  files: TaskFiles,
  asked: Task,
  signal: AbortSignal,
): Promise<Task | undefined> {
  if (fitQueries === undefined && fitQrels !== undefined)
    throw new OperatorError('--fit-qrels judges the questions of --fit-queries: name both, or neither.')
  if (fitQueries === undefined) return undefined
  if (flaggedEmbedding(flags) === 'none')
    throw new OperatorError(
      '--fit-queries fits the weight of the vectors, and words alone rank here: name a model, or leave it out.',
    )
  const queries = await firstReadable([fitQueries], 'name the file of questions with --fit-queries')
  const qrels = await firstReadable([fitQrels ?? files.qrels], 'name the judgments with --fit-qrels')
  const task = await readTask({ ...files, queries, qrels, answerability: undefined }, limitTo, signal)
  const known = new Set(asked.questions.flatMap(identitiesOf))
  const both = task.questions.filter((question) => identitiesOf(question).some((own) => known.has(own))).length
  if (both > 0)
    throw new OperatorError(
      `${both} questions of ${basename(queries)} are asked too, so their figures would flatter: name others with ` +
        '--fit-queries.',
    )
  if (task.questions.length < EVALUATION_BOUNDS.comparedQuestionsMin)
    throw new OperatorError(
      `${basename(queries)} has ${task.questions.length} judged questions, and a ranking is fitted to at least ` +
        `${EVALUATION_BOUNDS.comparedQuestionsMin}: name more with --fit-queries.`,
    )
  return task
}

/** Two questions are the same by their id, and by their words within the same group. */
function identitiesOf({ id, text, limitedTo }: TaskQuestion): readonly string[] {
  return [JSON.stringify([id]), JSON.stringify([limitedTo ?? '', words(text)])]
}

/**
 * Returns the profile that a build would fit to the questions, without a reader; without questions, that of the
 * context, with the version's own default decision.
 */
export async function fittedProfile(
  questions: readonly QueryWithQrels[],
  items: readonly { readonly text: string }[],
  context: AskRecordsContext,
  output: EvaluationOutput,
): Promise<ProfileParameters> {
  const unfitted = await standardisedByNegatives(items, context)
  if (questions.length === 0) return unfitted
  const profile = await fitRanking(null, questions, { ...context, profile: unfitted })
  output.note(`ranking fitted to ${questions.length} questions: vectors weigh ${profile.dense_weight}`)
  return profile
}
