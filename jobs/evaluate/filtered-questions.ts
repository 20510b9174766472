import { BOUNDS } from '#core/platform/bounds.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { findRows } from './ask.ts'
import type { AskContext } from './ask.ts'
import { measureFilteredRecall } from './filtered-recall.ts'
import type { FilteredRecall } from './filtered-recall.ts'

/** Measures filtered recall with the vectors of an evenly spaced sample of the questions. */
export async function filteredRecallOf(
  artifact: { readonly folder: string; readonly passages: number; readonly embedding: EmbeddingSpace },
  questions: readonly { readonly text: string }[],
  context: AskContext,
): Promise<FilteredRecall> {
  const count = Math.min(questions.length, BOUNDS.filteredQuestionsMax)
  const texts = Array.from(
    { length: count },
    (_, at) => questions[Math.floor((at * questions.length) / count)]?.text ?? '',
  )
  const { vectors } = await context.embedder.embed(texts, 'query', context.signal)
  return await measureFilteredRecall({
    artifactFolder: artifact.folder,
    rows: artifact.passages,
    dimensions: artifact.embedding.dimensions,
    queries: vectors,
    find: (query, onlyRows, limit) => findRows(query, onlyRows, limit, context),
    signal: context.signal,
    onProgress: context.onProgress,
  })
}
