import { ArtifactError } from '#core/index/artifact-error.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { sampleKnownItems } from '#jobs/evaluation/known-items.ts'
import type { QuestionsFrom } from '#jobs/evaluation/page/evaluation-report.ts'
import { readQuestionSet } from '#jobs/evaluation/question-set.ts'
import type { QueryWithQrels } from '#jobs/evaluation/query-with-qrels.ts'
import type { ComparedContents } from './compared-passages.ts'
import { damagedArtifact } from './damaged-artifact.ts'

export interface ComparisonQuestions {
  readonly from: QuestionsFrom
  /** Each has a relevant record; a question set has one at least. */
  readonly questions: readonly QueryWithQrels[]
}

export interface QuestionSources {
  /** The candidate's question set; undefined: none. */
  readonly own: readonly QueryWithQrels[] | undefined
  /** SHA-256 (hex) of the question set of the active version; null: none. */
  readonly activeSet: string | null
  /** Artifact of the active version. */
  readonly active: ComparedContents
  readonly store: ArtifactStore
  /** UTC day on which "in force" is evaluated. */
  readonly day: string
}

/**
 * Chooses the questions that both versions are asked: the candidate's question set, else that of the active version,
 * else known items of the active version. Known items of the candidate could not ask for what it lost.
 * @throws OperatorError where the active version has no question set and serves no passage today.
 */
export async function comparisonQuestions(sources: QuestionSources): Promise<ComparisonQuestions> {
  if (sources.own !== undefined) return { from: 'question set', questions: withQrels(sources.own) }
  if (sources.activeSet !== null)
    return {
      from: 'question set of the active version',
      questions: withQrels(await readQuestionSet(sources.store, sources.activeSet)),
    }
  const questions = await knownItemsOf(sources.active, sources.day)
  if (questions.length > 0) return { from: 'known items of the active version', questions }
  throw new OperatorError(
    'The candidate cannot be compared with the active version, of which no passage is verified and in force today: ' +
      'build with a question set that names relevant passages.',
  )
}

async function knownItemsOf(
  { versionId, folder, file }: ComparedContents,
  day: string,
): Promise<readonly QueryWithQrels[]> {
  try {
    return await sampleKnownItems(() => verifiedPassagesIn(folder, file), day)
  } catch (error) {
    throw error instanceof ArtifactError ? damagedArtifact('before', versionId, error) : error
  }
}

function withQrels(questions: readonly QueryWithQrels[]): readonly QueryWithQrels[] {
  return questions.filter(({ qrels }) => qrels.size > 0)
}
