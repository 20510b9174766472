import { readFile, stat } from 'node:fs/promises'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import { queryWithQrels } from './query-with-qrels.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'
import { parseQuestions } from './questions.ts'

/**
 * Reads a question set that was captured in the artifact store.
 * @throws OperatorError when it is missing, too large, changed or malformed.
 */
export async function readQuestionSet(store: ArtifactStore, sha256Hex: string): Promise<readonly QueryWithQrels[]> {
  const path = store.snapshotFile(sha256Hex)
  const size = await stat(path).then(
    (found) => found.size,
    () => undefined,
  )
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
