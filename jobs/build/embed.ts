import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '#core/platform/digest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { spaceKey } from '#core/embedding/embedder.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import type { BuildContext } from './context.ts'
import { passagesFile } from './sort.ts'

/**
 * Vectors of one build in one space: files of `vectorFileRows` rows of float32, each renamed into place when complete.
 */
export interface VectorFiles {
  readonly folder: string
  readonly rows: number
  readonly dimensions: number
}

/**
 * Embeds every passage, one file of rows at a time. A restarted build resumes at the first missing file. An overtaken
 * run can only replace a file by an equal one.
 */
export async function embedPassages(context: BuildContext, rows: number, embedder: Embedder): Promise<VectorFiles> {
  const { dimensions } = embedder.space
  const space = sha256(spaceKey(embedder.space)).toString('hex').slice(0, 16)
  const files: VectorFiles = { folder: join(context.workFolder, `vectors-${space}`), rows, dimensions }
  await mkdir(files.folder, { recursive: true })
  await context.progress.begin('embed', rows)
  let row = 0
  for await (const passages of inGroups(passagesIn(passagesFile(context.workFolder)), BOUNDS.vectorFileRows)) {
    context.signal.throwIfAborted()
    const path = vectorFile(files, row)
    if (!(await hasBytes(path, passages.length * dimensions * 4)))
      await writeDurably(path, await vectorsOf(passages, embedder, context.signal))
    row += passages.length
    context.progress.at(row, rows)
  }
  return files
}

/** Returns the text that is embedded for a passage: title and headings, then its own text. */
function embeddedText({ heading, text }: PassageRecord): string {
  return heading === '' ? text : `${heading}\n${text}`
}

async function vectorsOf(
  passages: readonly PassageRecord[],
  embedder: Embedder,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { dimensions } = embedder.space
  const vectors = new Float32Array(passages.length * dimensions)
  for (let from = 0; from < passages.length; from += BOUNDS.embedBatchTexts) {
    const batch = passages.slice(from, from + BOUNDS.embedBatchTexts)
    const embedded = await embedder.embed(batch.map(embeddedText), 'passage', signal)
    for (const [at, vector] of embedded.vectors.entries()) vectors.set(vector, (from + at) * dimensions)
  }
  return new Uint8Array(vectors.buffer)
}

/** Yields passages with their vectors in row order; the artifact is written from them. */
export async function* embeddedRows(workFolder: string, files: VectorFiles): AsyncGenerator<ArtifactRow> {
  let row = 0
  for await (const passages of inGroups(passagesIn(passagesFile(workFolder)), BOUNDS.vectorFileRows)) {
    const bytes = await readFile(vectorFile(files, row))
    const vectors = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
    for (const [at, record] of passages.entries())
      yield { record, vector: vectors.subarray(at * files.dimensions, (at + 1) * files.dimensions) }
    row += passages.length
  }
}

function vectorFile({ folder }: VectorFiles, firstRow: number): string {
  return join(folder, `${String(firstRow).padStart(10, '0')}.f32`)
}

async function hasBytes(path: string, bytes: number): Promise<boolean> {
  return stat(path).then(
    (found) => found.size === bytes,
    () => false,
  )
}

async function* inGroups<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let group: T[] = []
  for await (const item of items) {
    group.push(item)
    if (group.length < size) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}
