import {
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  closeSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import { embeddingSpaceSchema } from '#core/index/format/manifest.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { renameDurably, writeDurably } from '#core/platform/durable-file.ts'
import { readSignedManifest } from '#core/index/format/verify.ts'
import { writeArtifact } from '#core/index/format/writer.ts'
import type { ArtifactRow, WrittenArtifact } from '#core/index/format/writer.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { ACTS, inventedPassages } from './corpus.ts'
import type { CorpusShape } from './corpus.ts'
import { streamAt } from './stream.ts'
import { openSpace } from './vectors.ts'

/** Changes whenever the data generated from a seed changes, so that an older artifact is not reused. */
const CORPUS_FORM = '3'
export const MODEL = 'bench'
/** Vectors generated in one step; an interrupted build continues after the last complete step. */
const PART_ROWS = 50_000

export interface ArtifactPlace {
  readonly folder: string
  readonly buildId: string
  readonly projectionId: string
  readonly versionId: string
}

export interface BenchArtifact extends ArtifactPlace, WrittenArtifact {}

export interface ArtifactSettings extends CorpusShape {
  readonly dimensions: number
  /** A `file:` URL. */
  readonly storeUrl: string
  readonly privateKeyDer: Buffer
}

const figuresSchema = z.strictObject({
  /** Of the passages' vectors, which replace those of an embedding provider. */
  draw_seconds: z.number(),
  /** Of the artifact, by the code that every build uses. */
  write_seconds: z.number(),
  peak_megabytes: z.number(),
})
export type BuildFigures = z.infer<typeof figuresSchema>

export function artifactPlace({
  passages,
  dimensions,
  seed,
  privateKeyDer,
  storeUrl,
}: ArtifactSettings): ArtifactPlace {
  const parameters = [
    CORPUS_FORM,
    String(passages),
    String(dimensions),
    String(seed),
    sha256(privateKeyDer).toString('hex'),
  ]
  const projectionId = derivedUuid('bench projection', ...parameters)
  return {
    projectionId,
    buildId: derivedUuid('bench build', ...parameters),
    versionId: derivedUuid('bench version', ...parameters),
    folder: createArtifactStore(storeUrl).artifactFolder(projectionId),
  }
}

function figuresFile({ folder }: ArtifactPlace): string {
  return `${folder}.build.json`
}

/** @returns undefined unless the artifact was built to its end. */
export function readBuildFigures(place: ArtifactPlace): BuildFigures | undefined {
  const file = figuresFile(place)
  return existsSync(file) ? figuresSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
}

/** Generates the vectors, writes the artifact and records the time; continues an interrupted run. */
export async function buildArtifact(
  settings: ArtifactSettings,
  onProgress: (stage: string, done: number, total: number) => void,
): Promise<void> {
  const place = artifactPlace(settings)
  if (readBuildFigures(place) !== undefined) return
  const work = `${place.folder}.vectors`
  await removeUnfinished(place.folder)
  const drawMs = await drawVectors(settings, work, (done) => onProgress('vectors', done, settings.passages))
  const began = performance.now()
  await writeOf(settings, place, work, (done) => onProgress('artifact', done, settings.passages))
  const figures: BuildFigures = {
    draw_seconds: drawMs / 1_000,
    write_seconds: (performance.now() - began) / 1_000,
    // The most memory that the process ever had, in kilobytes on every system.
    peak_megabytes: process.resourceUsage().maxRSS / 1_024,
  }
  await writeDurably(figuresFile(place), JSON.stringify(figures))
  rmSync(work, { recursive: true, force: true })
}

/** @returns the artifact that `buildArtifact` wrote. */
export async function openBuilt(settings: ArtifactSettings, publicKeyDer: Buffer): Promise<BenchArtifact> {
  const place = artifactPlace(settings)
  const { manifest, digest } = await readSignedManifest(place.folder, [publicKeyDer])
  return { ...place, manifest, manifestDigest: digest }
}

function writeOf(
  settings: ArtifactSettings,
  place: ArtifactPlace,
  work: string,
  onProgress: (done: number) => void,
): Promise<WrittenArtifact> {
  const { passages, dimensions } = settings
  const embedding = embeddingSpaceSchema.parse({ provider: 'openai', model: MODEL, dimensions })
  return writeArtifact({
    artifactFolder: place.folder,
    projectionId: place.projectionId,
    versionId: place.versionId,
    embedding,
    snapshotsDigest: '0'.repeat(64),
    passages,
    rows: rows(settings, work),
    acts: ACTS,
    privateKeyDer: settings.privateKeyDer,
    onProgress,
  })
}

async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(dirname(folder)).catch(() => [])
  const unfinished = names.filter((name) => name.startsWith(`${basename(folder)}.`) && name.endsWith('.tmp'))
  for (const name of unfinished) await rm(join(dirname(folder), name), { recursive: true, force: true })
}

/** @returns milliseconds, those of earlier runs included. */
async function drawVectors(
  settings: ArtifactSettings,
  work: string,
  onProgress: (done: number) => void,
): Promise<number> {
  const { passages, dimensions, seed } = settings
  mkdirSync(work, { recursive: true })
  const space = openSpace(dimensions, streamAt(seed, 'queries', 0))
  const topics = Uint16Array.from(inventedPassages(settings), ({ topic }) => topic)
  let ms = 0
  for (let first = 0; first < passages; first += PART_ROWS) {
    const count = Math.min(PART_ROWS, passages - first)
    const part = partFile(work, first)
    if (!existsSync(part)) {
      const began = performance.now()
      const vectors = new Float32Array(count * dimensions)
      for (let at = 0; at < count; at++)
        vectors.set(space.draw(topics[first + at] ?? 0, streamAt(seed, 'vectors', first + at)), at * dimensions)
      writeFileSync(`${part}.ms`, String(performance.now() - began))
      writeFileSync(`${part}.tmp`, new Uint8Array(vectors.buffer))
      await renameDurably(`${part}.tmp`, part)
    }
    ms += Number(readFileSync(`${part}.ms`, 'utf8'))
    onProgress(first + count)
  }
  return ms
}

function partFile(work: string, first: number): string {
  return join(work, `${String(first).padStart(9, '0')}.f32`)
}

function* rows(settings: ArtifactSettings, work: string): Generator<ArtifactRow> {
  let part = new Float32Array(0)
  for (const passage of inventedPassages(settings)) {
    const at = passage.row % PART_ROWS
    if (at === 0) part = floats(readFileSync(partFile(work, passage.row)))
    yield { record: passage.record(), vector: part.subarray(at * settings.dimensions, (at + 1) * settings.dimensions) }
  }
}

function floats(bytes: Buffer): Float32Array<ArrayBuffer> {
  const values = new Float32Array(bytes.length / 4)
  new Uint8Array(values.buffer).set(bytes)
  return values
}

/** Bytes of all files of an artifact. */
export function diskBytes({ folder, manifest }: BenchArtifact): number {
  return Object.keys(manifest.files).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

export interface VectorBlock {
  readonly firstRow: number
  /** In a buffer of its own. */
  readonly vectors: Float32Array<ArrayBuffer>
}

const BLOCK_ROWS = 8_192

/** The float32 vectors of an artifact in row order, a block at a time. */
export function* vectorBlocks({
  folder,
  manifest,
}: {
  readonly folder: string
  readonly manifest: Manifest
}): Generator<VectorBlock> {
  const { passages, embedding } = manifest
  const file = openSync(join(folder, 'vectors.f32'), 'r')
  try {
    for (let firstRow = 0; firstRow < passages; firstRow += BLOCK_ROWS) {
      const vectors = new Float32Array(Math.min(BLOCK_ROWS, passages - firstRow) * embedding.dimensions)
      if (readSync(file, vectors, 0, vectors.byteLength, firstRow * embedding.dimensions * 4) !== vectors.byteLength)
        throw new Error('vectors.f32 ends early')
      yield { firstRow, vectors }
    }
  } finally {
    closeSync(file)
  }
}
