import type { Side, VersionDifferences } from '#core/db/version-differences.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { verifiedSearchQuestionsIn } from '#core/index/search-questions/records.ts'
import type { NamedChange } from './changes-file.ts'
import type { ComparedContents } from './compared-passages.ts'
import { damagedArtifact } from './damaged-artifact.ts'

/**
 * Reads the search questions of one side.
 * @throws OperatorError if the file is not the one of the signed manifest.
 */
export async function readSearchQuestions(
  side: Side,
  { folder, versionId, manifest }: ComparedContents,
  differences: VersionDifferences,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { id, lang, q } of verifiedSearchQuestionsIn(folder, manifest.files['search-questions.jsonl'])) {
      signal.throwIfAborted()
      differences.addSearchQuestion(side, { passage: id, language: lang, text: q })
    }
  } catch (error) {
    throw error instanceof ArtifactError ? damagedArtifact(side, versionId, error) : error
  }
}

/** Yields every search question that only one of the versions holds: each decides what is found. */
export function* searchQuestionChanges(differences: VersionDifferences): Generator<NamedChange> {
  for (const { side, passage, language, text } of differences.searchQuestions())
    yield {
      kind: 'search_questions_changed',
      passage,
      language,
      before: side === 'before' ? text : null,
      after: side === 'after' ? text : null,
    }
}
