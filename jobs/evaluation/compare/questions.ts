import { ArtifactError } from '#core/index/artifact-error.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { sampleKnownItems } from '#jobs/evaluation/known-items.ts'
import type { KnownItemQuestion } from '#jobs/evaluation/known-items.ts'
import type { QuestionsFrom } from '#jobs/evaluation/page/evaluation-report.ts'
import type { QueryWithQrels } from '#jobs/evaluation/query-with-qrels.ts'
import type { NoteSourceIds } from '#jobs/evaluation/source-ids.ts'
import type { ComparedContents } from './compared-passages.ts'
import { damagedArtifact } from '#jobs/evaluation/altered-candidate.ts'

/** Questions that both versions are asked. */
export interface AskedQuestions {
  readonly from: QuestionsFrom
  readonly questions: readonly QueryWithQrels[]
}

export interface QuestionSources {
  /** The candidate's question set; undefined: none. */
  readonly own: readonly QueryWithQrels[] | undefined
  /** The question set of the active version; undefined: none. */
  readonly activeSet: readonly QueryWithQrels[] | undefined
  /** Artifact of the active version. */
  readonly active: ComparedContents
  readonly noteSourceIds: NoteSourceIds
  /** UTC day on which "in force" is evaluated. */
  readonly day: string
}

/**
 * Returns the questions that both versions are asked: the question set of the active version, that of the candidate,
 * and known items of the active version, each also by its citation. So neither an easy set nor a set that was left out
 * hides a loss. Known items of the candidate could not ask for what it lost.
 * @throws OperatorError where there are none.
 */
export async function comparisonQuestions(sources: QuestionSources): Promise<readonly AskedQuestions[]> {
  const { own, activeSet } = sources
  const items = await knownItemsOf(sources)
  const known = items.flatMap((item) => [
    item,
    { ...item, id: `${item.id} by citation`, text: item.label, quoted: false },
  ])
  const asked: readonly (readonly [QuestionsFrom, readonly QueryWithQrels[] | undefined])[] = [
    ['question set of the active version', activeSet],
    ['question set', own],
    ['known items of the active version', known],
  ]
  const all = asked.flatMap(([from, questions = []]) => (questions.length === 0 ? [] : [{ from, questions }]))
  if (all.length > 0) return all
  throw new OperatorError(
    'The candidate cannot be compared with the active version, of which no passage makes a question (none is verified ' +
      'and in force today, or each text is in several records): build with a question set that names relevant passages.',
  )
}

async function knownItemsOf({
  active: { versionId, folder, manifest },
  noteSourceIds,
  day,
}: QuestionSources): Promise<readonly KnownItemQuestion[]> {
  const file = manifest.files['passages.jsonl']
  try {
    return await sampleKnownItems(() => noteSourceIds(verifiedPassagesIn(folder, file)), day)
  } catch (error) {
    throw error instanceof ArtifactError ? damagedArtifact('before', versionId, error) : error
  }
}
