import { openSync, readSync, closeSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '#core/artifact/manifest.ts'
import type { EmbeddingSpace } from '#core/artifact/manifest.ts'
import { openArtifactStore } from '#core/artifact/store.ts'
import { writeArtifact } from '#core/artifact/writer.ts'
import type { ArtifactRow, WrittenArtifact } from '#core/artifact/writer.ts'
import { derivedUuid } from '#core/ids.ts'
import { seededRandom } from '#test/support/artifact.ts'
import { inventedPassages } from './corpus.ts'
import type { CorpusShape } from './corpus.ts'
import { openSpace } from './vectors.ts'
import type { Space } from './vectors.ts'

/** Changes whenever what follows from the seed changes, so that an artifact of an earlier kind is not used again. */
const CORPUS_FORM = '2'
export const MODEL = 'bench'

export interface BenchArtifact extends WrittenArtifact {
  readonly folder: string
  readonly buildId: string
  readonly projectionId: string
  readonly versionId: string
  readonly space: Space
}

export interface ArtifactSettings extends CorpusShape {
  readonly dimensions: number
  /** A `file:` URL. */
  readonly storeUrl: string
  readonly privateKeyDer: Buffer
  readonly onProgress: (done: number, total: number) => void
}

/** Writes the corpus as an artifact, or takes up the one that an earlier run wrote from the same parameters. */
export async function corpusArtifact(settings: ArtifactSettings): Promise<BenchArtifact> {
  const { passages, dimensions, seed } = settings
  const parameters = [CORPUS_FORM, String(passages), String(dimensions), String(seed), sha256(settings.privateKeyDer).toString('hex')]
  const ids = {
    buildId: derivedUuid('bench build', ...parameters),
    projectionId: derivedUuid('bench projection', ...parameters),
    versionId: derivedUuid('bench version', ...parameters),
  }
  const folder = openArtifactStore(settings.storeUrl).artifactFolder(ids.projectionId)
  const space = openSpace(dimensions, seededRandom(seed + 2))
  const embedding: EmbeddingSpace = { provider: 'openai', model: MODEL, dimensions }
  const written = await writeArtifact({
    artifactFolder: folder,
    projectionId: ids.projectionId,
    versionId: ids.versionId,
    embedding,
    snapshotsDigest: '0'.repeat(64),
    passages,
    rows: rows(settings, space),
    privateKeyDer: settings.privateKeyDer,
    onProgress: settings.onProgress,
  })
  return { ...written, ...ids, folder, space }
}

function* rows(shape: CorpusShape, space: Space): Generator<ArtifactRow> {
  const random = seededRandom(shape.seed + 4)
  for (const { record, topic } of inventedPassages(shape)) yield { record, vector: space.draw(topic, random) }
}

const BLOCK_ROWS = 4_096

/** The float32 vectors of an artifact in row order, a block at a time; a block is valid until the next one. */
export function* vectorBlocks({ folder, manifest }: BenchArtifact): Generator<{ readonly firstRow: number; readonly vectors: Float32Array }> {
  const { passages, embedding } = manifest
  const block = new Float32Array(BLOCK_ROWS * embedding.dimensions)
  const file = openSync(join(folder, 'vectors.f32'), 'r')
  try {
    for (let firstRow = 0; firstRow < passages; firstRow += BLOCK_ROWS) {
      const values = Math.min(BLOCK_ROWS, passages - firstRow) * embedding.dimensions
      const bytes = new Uint8Array(block.buffer, 0, values * 4)
      if (readSync(file, bytes, 0, bytes.length, firstRow * embedding.dimensions * 4) !== bytes.length) throw new Error('vectors.f32 ends early')
      yield { firstRow, vectors: block.subarray(0, values) }
    }
  } finally {
    closeSync(file)
  }
}
