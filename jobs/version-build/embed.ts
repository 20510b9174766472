import { mkdir, readFile, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { removeCacheFile } from '#core/db/vector-cache/file.ts'
import { embeddingCountsSchema, type EmbeddingCounts } from '#core/domain/embedding-counts.ts'
import { sha256 } from '#core/platform/digest.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import { spaceKey, type Embedder } from '#core/embedding/embedder.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import { BUILD_BOUNDS } from './bounds.ts'
import type { BuildContext } from './context.ts'
import { inGroups } from './row-files.ts'
import { passagesFile } from './sort.ts'
import { openTextVectors, sameModel, type TextVectors } from './text-vectors.ts'

/**
 * Vectors of one build in one space: files of `vectorFileRows` rows of float32, each renamed into place when complete.
 */
export type VectorFiles = Awaited<ReturnType<typeof embedPassages>>

export type EmbedContext = Pick<BuildContext, 'workFolder' | 'progress' | 'vectors' | 'warn' | 'signal'>

/**
 * Embeds every passage, one file of rows at a time. A restarted build resumes at the first missing file, with the
 * vectors that the provider sent for it. An overtaken run can only replace a file by an equal one.
 */
export async function embedPassages(context: EmbedContext, rows: number, embedder: Embedder) {
  const { dimensions } = embedder.space
  const space = sha256(spaceKey(embedder.space)).toString('hex').slice(0, 16)
  const folder = join(context.workFolder, `vectors-${space}`)
  const buildFile = join(folder, 'kept.sqlite')
  await mkdir(folder, { recursive: true })
  await context.progress.begin('embed', rows)
  if (!(await isComplete(folder, rows, dimensions))) {
    const { vectors, signal, warn } = context
    const open = await openTextVectors({ ...vectors, embedder, buildFile, signal, warn })
    using ending = new DisposableStack()
    ending.defer(() => open.close())
    await removeOtherModel(folder, open.probe)
    await embedMissing(context, { folder, rows, dimensions }, open)
    await open.assertUnchanged()
  }
  removeCacheFile(buildFile)
  const { windows } = embedder
  const counted = (await countsIn(folder)) ?? NOTHING_COUNTED
  const counts = { ...counted, passages: rows, seconds_left: null, ...(windows && { windows }) }
  await context.progress.embedded(counts)
  return { embedder, folder, rows, dimensions, counts }
}

async function embedMissing(
  context: EmbedContext,
  { folder, rows, dimensions }: Omit<VectorFiles, 'embedder' | 'counts'>,
  from: TextVectors,
): Promise<void> {
  const counting = createCounting(rows, await countsIn(folder), context)
  let row = 0
  for await (const passages of inGroups(passagesIn(passagesFile(context.workFolder)), BUILD_BOUNDS.vectorFileRows)) {
    context.signal.throwIfAborted()
    const path = vectorFile(folder, row)
    if (!(await hasBytes(path, passages.length * dimensions * 4))) {
      const { vectors, overlong } = await from.of(passages, counting.from(row))
      await writeDurably(path, bytesOf(vectors, dimensions))
      await writeDurably(countsFile(folder), JSON.stringify(counting.completed(row + passages.length, overlong)))
    }
    row += passages.length
  }
}

/**
 * Removes the files of earlier runs where the endpoint served them another model. The probe is replaced last, so that a
 * run that is killed in between leaves the rest to the next one.
 */
async function removeOtherModel(folder: string, probe: Float32Array<ArrayBuffer>): Promise<void> {
  const path = join(folder, 'model.probe')
  const before = await readFile(path).catch(() => undefined)
  if (before !== undefined && !sameModel(vectorsIn(before), probe)) {
    for (const name of await readdir(folder)) if (name.endsWith(VECTOR_FILE_EXTENSION)) await rm(join(folder, name))
    const counts = (await countsIn(folder)) ?? NOTHING_COUNTED
    await writeDurably(countsFile(folder), JSON.stringify({ ...counts, passages: 0, overlong: 0 }))
  }
  await writeDurably(path, bytesOf([probe], probe.length))
}

async function isComplete(folder: string, rows: number, dimensions: number): Promise<boolean> {
  for (let row = 0; row < rows; row += BUILD_BOUNDS.vectorFileRows) {
    const count = Math.min(rows - row, BUILD_BOUNDS.vectorFileRows)
    if (!(await hasBytes(vectorFile(folder, row), count * dimensions * 4))) return false
  }
  return true
}

const NOTHING_COUNTED: EmbeddingCounts = { passages: 0, sent: 0, tokens: 0, overlong: 0, seconds_left: null }

/** Counts on from what earlier runs of the build left. The time that is left follows from the pace of this run. */
function createCounting(rows: number, before: EmbeddingCounts | undefined, { progress }: EmbedContext) {
  let counts: EmbeddingCounts = before ?? NOTHING_COUNTED
  let began: { readonly row: number; readonly atMs: number } | undefined
  return {
    /** Counts what is sent for the passages from a row on. */
    from(row: number): Parameters<TextVectors['of']>[1] {
      began ??= { row, atMs: performance.now() }
      const start = began
      return ({ done, sent, tokens }) => {
        const passages = row + done
        const seconds = (performance.now() - start.atMs) / 1_000
        const left = passages > start.row ? ((rows - passages) / (passages - start.row)) * seconds : null
        const seconds_left = left === null ? null : Math.ceil(left)
        counts = { ...counts, passages, sent: counts.sent + sent, tokens: counts.tokens + tokens, seconds_left }
        progress.at(passages, rows, counts)
      }
    },
    completed(passages: number, overlong: number) {
      counts = { ...counts, passages, overlong: counts.overlong + overlong }
      return counts
    },
  }
}

function countsFile(folder: string): string {
  return join(folder, 'counts.json')
}

async function countsIn(folder: string): Promise<EmbeddingCounts | undefined> {
  const text = await readFile(countsFile(folder), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : embeddingCountsSchema.parse(JSON.parse(text))
}

function bytesOf(vectors: readonly Float32Array[], dimensions: number): Uint8Array {
  const values = new Float32Array(vectors.length * dimensions)
  for (const [at, vector] of vectors.entries()) values.set(vector, at * dimensions)
  return new Uint8Array(values.buffer)
}

function vectorsIn(bytes: Buffer): Float32Array<ArrayBuffer> {
  return new Float32Array(Uint8Array.from(bytes).buffer)
}

/** Yields passages with their vectors in row order; the artifact is written from them. */
export async function* embeddedRows(workFolder: string, files: VectorFiles): AsyncGenerator<ArtifactRow> {
  let row = 0
  for await (const passages of inGroups(passagesIn(passagesFile(workFolder)), BUILD_BOUNDS.vectorFileRows)) {
    const vectors = vectorsIn(await readFile(vectorFile(files.folder, row)))
    for (const [at, record] of passages.entries())
      yield { record, vector: vectors.subarray(at * files.dimensions, (at + 1) * files.dimensions) }
    row += passages.length
  }
}

const VECTOR_FILE_EXTENSION = '.f32'

function vectorFile(folder: string, firstRow: number): string {
  return join(folder, `${String(firstRow).padStart(10, '0')}${VECTOR_FILE_EXTENSION}`)
}

async function hasBytes(path: string, bytes: number): Promise<boolean> {
  return stat(path).then(
    (found) => found.size === bytes,
    () => false,
  )
}
