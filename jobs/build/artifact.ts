import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Manifest } from '#core/index/format/manifest.ts'
import { verifyArtifact } from '#core/index/format/verify.ts'
import { writeArtifact } from '#core/index/format/writer.ts'
import type { ArtifactInput, PassageRow } from '#core/index/format/writer.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import type { BuildContext } from './context.ts'
import { embeddedRows } from './embed.ts'
import type { VectorFiles } from './embed.ts'
import { embedSampleQueries } from './sample-queries.ts'
import { placeSearchQuestions } from './search-questions/place.ts'
import { createQuestionWriter } from './search-questions/writer.ts'
import { writtenQuestions } from './search-questions/written.ts'
import { versionIdOf } from './ids.ts'
import { passagesFile } from './sort.ts'
import type { Corpus } from './sort.ts'

export interface BuiltArtifact {
  readonly versionId: string
  readonly folder: string
  readonly manifest: Manifest
  readonly manifestDigest: Buffer
}

/**
 * Writes the version's artifact, or keeps the complete one of an earlier run of this build.
 * @param vectors undefined: a version without vectors.
 */
export async function buildArtifact(
  context: BuildContext,
  corpus: Corpus,
  vectors: VectorFiles | undefined,
): Promise<BuiltArtifact> {
  const { buildId } = context.fence
  const versionId = versionIdOf(buildId)
  const folder = context.store.artifactFolder(versionId)
  await context.progress.begin('artifact', corpus.passages)
  await removeUnfinished(folder)
  const written = await writeArtifact({
    artifactFolder: folder,
    versionId,
    embedding: vectors?.embedder.space,
    snapshotsDigest: corpus.snapshotsDigest,
    passages: corpus.passages,
    acts: corpus.acts,
    searchQuestions: await searchQuestionsOf(context, corpus),
    ...rowsOf(context, corpus, vectors),
    privateKeyDer: context.privateKeyDer,
    publicKeysDer: context.publicKeysDer,
    onProgress: (done, total) => context.progress.at(done, total),
    signal: context.signal,
  })
  return { versionId, folder, ...written }
}

/** The search questions of a model, or of a file; none for a build without either. */
async function searchQuestionsOf(
  context: BuildContext,
  { passages }: Corpus,
): Promise<NonNullable<ArtifactInput['searchQuestions']>> {
  const { search_questions: by, search_questions_sha256: file } = context.parameters
  if (by === undefined || file !== undefined) return await placeSearchQuestions(context)
  return await writtenQuestions(
    context,
    passages,
    createQuestionWriter(context.chat ?? { OPENAI_BASE_URL: undefined, OPENAI_API_KEY: undefined }),
  )
}

function rowsOf(
  context: BuildContext,
  { passages }: Corpus,
  vectors: VectorFiles | undefined,
): Pick<ArtifactInput, 'rows' | 'sampleQueries'> {
  if (vectors === undefined) return { rows: passageRows(context.workFolder) }
  return {
    rows: embeddedRows(context.workFolder, vectors),
    sampleQueries: () => embedSampleQueries(context, passages, vectors.embedder),
  }
}

async function* passageRows(workFolder: string): AsyncGenerator<PassageRow> {
  for await (const record of passagesIn(passagesFile(workFolder))) yield { record }
}

/** Removes the artifact of a failed build, complete or not. */
export async function removeArtifact(folder: string): Promise<void> {
  await removeUnfinished(folder)
  await rm(folder, { recursive: true, force: true })
}

/** Removes temporary folders that killed runs of this build left beside the artifact's folder. */
export async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(dirname(folder)).catch(() => [])
  for (const name of names)
    if (name.startsWith(`${basename(folder)}.`) && name.endsWith('.tmp'))
      await rm(join(dirname(folder), name), { recursive: true, force: true })
}

/** Reads the artifact back and verifies signature, sizes, hashes and the consistency of its files. */
export async function verifyBuilt(context: BuildContext, artifact: BuiltArtifact): Promise<void> {
  await context.progress.begin('verify', 0)
  await verifyArtifact(artifact.folder, context.publicKeysDer, artifact.manifestDigest)
}
