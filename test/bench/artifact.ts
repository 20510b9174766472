import { sourcesOf, spaceOf, spaceOfVectors } from '#test/support/artifact.ts'
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import { readSignedManifest } from '#core/index/format/manifest.ts'
import { writeArtifact, type ArtifactRow, type WrittenArtifact } from '#core/index/format/writer.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { SNAPSHOT_ID } from './corpus.ts'
import { askedOf, type BenchCorpus } from './source.ts'

/** Changes whenever the data generated from a seed changes, so that an older artifact is not reused. */
const CORPUS_FORM = '11'
const MODEL = 'bench'

export interface ArtifactLocation {
  readonly folder: string
  readonly buildId: string
  readonly versionId: string
}

export interface BenchArtifact extends ArtifactLocation, WrittenArtifact {}

export interface ArtifactSettings {
  readonly corpus: BenchCorpus
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

export function artifactLocation({ corpus, privateKeyDer, storeUrl }: ArtifactSettings): ArtifactLocation {
  const parameters = [CORPUS_FORM, ...corpus.parameters, sha256(privateKeyDer).toString('hex')]
  const versionId = derivedUuid('bench version', ...parameters)
  return {
    versionId,
    buildId: derivedUuid('bench build', ...parameters),
    folder: createArtifactStore(storeUrl).artifactFolder(versionId),
  }
}

function figuresFile({ folder }: ArtifactLocation): string {
  return `${folder}.build.json`
}

/** @returns undefined unless the artifact was built to its end. */
export function readBuildFigures(location: ArtifactLocation): BuildFigures | undefined {
  const file = figuresFile(location)
  return existsSync(file) ? figuresSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
}

/** Writes the artifact, drawing vectors as they are wanted, and records the time. */
export async function buildArtifact(
  { corpus, storeUrl, privateKeyDer }: ArtifactSettings,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const location = artifactLocation({ corpus, storeUrl, privateKeyDer })
  const { passages, dimensions, acts } = corpus
  await removeUnfinished(location.folder)
  const began = performance.now()
  let drawnMs = 0
  function* rows(): Generator<ArtifactRow> {
    for (const passage of corpus.rows()) {
      const from = performance.now()
      const vector = passage.vector()
      drawnMs += performance.now() - from
      yield { record: passage.record(), vector }
    }
  }
  await writeArtifact({
    artifactFolder: location.folder,
    versionId: location.versionId,
    embedding: spaceOf(dimensions, { provider: 'openai', model: MODEL, requests_dimensions: true }),
    snapshotsDigest: '0'.repeat(64),
    sources: sourcesOf([SNAPSHOT_ID]),
    passages,
    rows: rows(),
    acts,
    privateKeyDer,
    sampleQueries: async () => sampleQueries(corpus),
    onProgress: (done) => onProgress(done, passages),
  })
  const figures: BuildFigures = {
    draw_seconds: drawnMs / 1_000,
    write_seconds: (performance.now() - began - drawnMs) / 1_000,
    // The most memory that the process ever had, in kilobytes on every system.
    peak_megabytes: process.resourceUsage().maxRSS / 1_024,
  }
  await writeDurably(figuresFile(location), JSON.stringify(figures))
}

/** Queries that are not asked later, as a build has them of its own passages. */
function sampleQueries(corpus: BenchCorpus): readonly Float32Array[] {
  return corpus.openings ?? askedOf(corpus, 0, { count: 280, set: 99 }).map(({ vector }) => vector)
}

async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(dirname(folder)).catch(() => [])
  const unfinished = names.filter((name) => name.startsWith(`${basename(folder)}.`) && name.endsWith('.tmp'))
  for (const name of unfinished) await rm(join(dirname(folder), name), { recursive: true, force: true })
}

/** @returns the artifact that `buildArtifact` wrote. */
export async function openBuilt(settings: ArtifactSettings, publicKeyDer: Buffer): Promise<BenchArtifact> {
  const location = artifactLocation(settings)
  const { manifest, digest } = await readSignedManifest(location.folder, [publicKeyDer], 'unrecorded')
  return { ...location, manifest, manifestDigest: digest }
}

/** Bytes of each file of an artifact. */
export function fileBytes({ folder, manifest }: BenchArtifact): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.keys(manifest.files).map((name) => [name, statSync(join(folder, name)).size]))
}

const BLOCK_ROWS = 8_192

interface FilesOfVersion {
  readonly folder: string
  readonly manifest: Manifest
}

/** Reads the float32 vectors of an artifact from any row on. */
export function openVectors({ folder, manifest }: FilesOfVersion): {
  at(row: number, rows?: number): Float32Array<ArrayBuffer>
  close(): void
} {
  const { dimensions } = spaceOfVectors(manifest)
  const file = openSync(join(folder, 'vectors.f32'), 'r')
  return {
    at(row, rows = 1) {
      const vectors = new Float32Array(rows * dimensions)
      if (readSync(file, vectors, 0, vectors.byteLength, row * dimensions * 4) !== vectors.byteLength)
        throw new Error('vectors.f32 ends early')
      return vectors
    },
    close: () => closeSync(file),
  }
}

/** In row order, a block at a time. */
export function* vectorBlocks(
  version: FilesOfVersion,
): Generator<{ readonly firstRow: number; readonly vectors: Float32Array<ArrayBuffer> }> {
  const { passages } = version.manifest
  using ending = new DisposableStack()
  const vectors = ending.adopt(openVectors(version), (it) => it.close())
  for (let firstRow = 0; firstRow < passages; firstRow += BLOCK_ROWS)
    yield { firstRow, vectors: vectors.at(firstRow, Math.min(BLOCK_ROWS, passages - firstRow)) }
}
