import { ArtifactError } from '#core/index/artifact-error.ts'
import type { ArtifactStore, SignedStore } from '#core/index/format/store.ts'
import { verifyArtifact } from '#core/index/format/verify.ts'
import type { VersionRow } from '#core/db/versions.ts'
import { digestFile } from '#core/platform/hashed-file.ts'
import { ReviewRefused } from './review-refused.ts'

/** The files that a reviewer reads, with the digests that were recorded with the version. */
export const REVIEWED_FILES = ['report', 'figures', 'changes'] as const
export type ReviewedFile = (typeof REVIEWED_FILES)[number]

export interface CheckedFile {
  readonly file: ReviewedFile
  readonly path: string
  /** `not recorded`: no version was active when it was built, so there are no changes. */
  readonly state: 'as recorded' | 'altered' | 'missing' | 'not recorded'
}

export async function checkFiles(store: ArtifactStore, version: VersionRow): Promise<readonly CheckedFile[]> {
  return Promise.all(REVIEWED_FILES.map((file) => checkFile(store, version, file)))
}

export async function checkFile(store: ArtifactStore, version: VersionRow, file: ReviewedFile): Promise<CheckedFile> {
  const recorded = {
    report: [store.reportFile(version.id), version.report_sha256],
    figures: [store.figuresFile(version.id), version.figures_sha256],
    changes: [store.changesFile(version.id), version.changes_sha256],
  } as const satisfies Record<ReviewedFile, unknown>
  const [path, sha256] = recorded[file]
  return { file, path, state: await stateOf(store, path, sha256) }
}

async function stateOf(store: ArtifactStore, path: string, sha256: string | null): Promise<CheckedFile['state']> {
  if (sha256 === null) return 'not recorded'
  try {
    return (await digestFile(await store.fetch(path))).sha256 === sha256 ? 'as recorded' : 'altered'
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 'missing'
    throw error
  }
}

/** @throws ReviewRefused when a file of the report or the artifact is missing or has not the recorded digest. */
export async function assertFilesAsRecorded(store: SignedStore, version: VersionRow): Promise<void> {
  await assertArtifactAsRecorded(store, version)
  for (const { file, path, state } of await checkFiles(store, version))
    if (state === 'altered' || state === 'missing')
      throw new ReviewRefused(
        `The ${file} file of the version is ${state} (${path}): restore the file from a backup, or build again.`,
      )
}

/**
 * Checks the manifest's digest and signature, and hashes every file of the artifact.
 * @throws ReviewRefused when one is missing or is not what the build wrote.
 */
export async function assertArtifactAsRecorded(
  store: SignedStore,
  { id, manifest_digest: digest }: Pick<VersionRow, 'id' | 'manifest_digest'>,
): Promise<void> {
  const folder = store.artifactFolder(id)
  try {
    await store.fetch(folder, { digest, publicKeysDer: store.publicKeysDer })
    await verifyArtifact(folder, store.publicKeysDer, digest)
  } catch (error) {
    if (!(error instanceof ArtifactError)) throw error
    throw new ReviewRefused(
      `The artifact of the version is not the one that was built (${error.message.replace(/\.$/, '')}; ${folder}): ` +
        'restore it from a backup, or build again.',
      { cause: error },
    )
  }
}
