import { join } from 'node:path'
import type { Manifest } from '#core/index/format/manifest.ts'
import { evenlySpaced, sampleVectors } from '#core/index/vectors/blocks.ts'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { createPause } from '#core/platform/pause.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import { embedQuestions, findRows, type AskContext } from './ask.ts'
import { measureFilteredRecall, type FilteredRecall } from './filtered-recall.ts'
import { fewRowsAt } from './measured-filters.ts'

export interface FilteredMeasurement {
  readonly recall: FilteredRecall
  /** Questions that were asked. */
  readonly questions: number
  /** Rows whose vectors were asked, because there are too few questions. */
  readonly sampledRows: number
  /** Selectivities that keep fewer than ten rows. */
  readonly fewRows: readonly string[]
}

interface MeasuredArtifact extends Pick<Manifest, 'passages' | 'embedding'> {
  readonly folder: string
}

/**
 * Measures filtered recall with evenly spaced questions; the vectors of evenly spaced rows fill them up.
 * @returns undefined for a version without vectors.
 */
export async function filteredRecallOf(
  artifact: MeasuredArtifact,
  questions: readonly { readonly text: string }[],
  context: AskContext,
): Promise<FilteredMeasurement | undefined> {
  const { passages, folder, embedding } = artifact
  if (embedding === undefined) return undefined
  const { dimensions } = embedding
  const asked = evenlySpaced(questions.length, EVALUATION_BOUNDS.filteredQueries)
  const vectors = await vectorsOf(
    Array.from(asked, (at) => questions[at]?.text ?? ''),
    context,
  )
  const file = { path: join(folder, 'vectors.f32'), rows: passages, dimensions }
  const sampled = await sampleVectors(
    file,
    EVALUATION_BOUNDS.filteredQueries - asked.length,
    createPause(context.signal),
  )
  const recall = await measureFilteredRecall({
    artifactFolder: folder,
    rows: passages,
    dimensions,
    queries: [...vectors, ...sampled],
    find: (query, onlyRows, limit) => findRows(query, onlyRows, limit, context),
    signal: context.signal,
    onProgress: context.onProgress,
  })
  return { recall, questions: asked.length, sampledRows: sampled.length, fewRows: fewRowsAt(passages) }
}

async function vectorsOf(texts: readonly string[], context: AskContext): Promise<readonly Float32Array[]> {
  const vectors: Float32Array[] = []
  for (let from = 0; from < texts.length; from += EMBEDDING_BOUNDS.embedBatchTexts) {
    const batch = texts
      .slice(from, from + EMBEDDING_BOUNDS.embedBatchTexts)
      .map((text) => ({ text, filters: undefined }))
    vectors.push(...(await embedQuestions(batch, context)))
  }
  return vectors
}
