import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { captureSources } from '#law/sources/capture.ts'
import { readSearchQuestions } from './file.ts'

/**
 * Captures a file of search questions, so that a run reads the bytes that were checked.
 * @returns the SHA-256 (hex) under which the store holds it.
 * @throws OperatorError for a file that cannot be read, is too large, or has a faulty line.
 */
export async function captureSearchQuestions(path: string, store: ArtifactStore): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined || !found.isFile())
    throw new OperatorError(`The search questions ${path} are not a file that can be read: name a JSONL file.`)
  if (found.size > BUILD_BOUNDS.searchQuestionsBytesMax)
    throw new OperatorError(
      `The search questions take more than ${BUILD_BOUNDS.searchQuestionsBytesMax} bytes: write fewer.`,
    )
  const [captured] = await captureSources(store, [
    { root: dirname(path), path, sourceName: basename(path), mediaType: 'application/x-ndjson' },
  ])
  if (captured === undefined)
    throw new OperatorError(
      `The search questions ${path} could not be captured: see whether the artifact store can be written to.`,
    )
  await readSearchQuestions(store.snapshotFile(captured.sha256Hex), basename(path))
  return captured.sha256Hex
}
