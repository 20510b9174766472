import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EmbeddingCounts } from '#core/domain/embedding-counts.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { createEmbedder } from '#core/embedding/providers.ts'
import { embedPassages } from '#jobs/version-build/embed.ts'
import { spaceOf } from '#test/support/artifact.ts'
import { WORD_DIMENSIONS } from '#test/support/word-vectors.ts'
import { QUIET_BUILD } from './quiet-build.ts'

/** The dimensions of the endpoint that tests play. */
export const STAGE_SPACE = spaceOf(WORD_DIMENSIONS, { model: 'of-the-test' })

export interface StageInput {
  readonly workFolder: string
  readonly passages: readonly PassageRecord[]
  readonly baseUrl: string
  readonly space?: EmbeddingSpace
  /** Instead of one for the space. */
  readonly embedder?: Embedder
  readonly concurrency?: number
  readonly cache?: { readonly path: string; readonly bytesMax: number } | undefined
  readonly onProgress?: (counts: EmbeddingCounts) => void
  readonly warn?: (sentence: string) => void
  readonly signal?: AbortSignal
}

/** Writes the passages as the stage before does, and runs the embed stage. */
export async function runEmbedStage(input: StageInput): ReturnType<typeof embedPassages> {
  const { workFolder, passages, baseUrl, space = STAGE_SPACE, concurrency = 4, cache } = input
  mkdirSync(workFolder, { recursive: true })
  writeFileSync(join(workFolder, 'passages.jsonl'), passages.map((each) => `${JSON.stringify(each)}\n`).join(''))
  const endpoint = { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'test' }
  const context = {
    workFolder,
    progress: {
      ...QUIET_BUILD.progress,
      at: (_done: number, _total: number, counts?: EmbeddingCounts) =>
        void (counts !== undefined && input.onProgress?.(counts)),
    },
    vectors: { concurrency, batchTexts: 20, cache },
    warn: input.warn ?? QUIET_BUILD.warn,
    signal: input.signal ?? new AbortController().signal,
  }
  return await embedPassages(context, passages.length, input.embedder ?? createEmbedder(space, endpoint))
}
