import { EngineError, openEngineClient, type EngineClient } from '#core/engine/client.ts'
import { contentFault } from '#core/engine/index-check.ts'
import { removeIndexes, writeIndex, engineRows } from '#core/engine/index-writer.ts'
import { NO_ENGINE, type EngineSettings } from '#core/engine/settings.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import type { EngineDescription, UnsignedArtifact } from '#core/index/engine/description.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import type { BuildContext } from './context.ts'

/** Loads a version into a new index of the cluster. Indexes that killed runs of this build left are removed first. */
export async function loadIndex(
  { engine, progress, signal }: Pick<BuildContext, 'engine' | 'progress' | 'signal'>,
  versionId: string,
  artifact: UnsignedArtifact,
): Promise<EngineDescription> {
  return await withCluster(engine ?? NO_ENGINE, async (client) => {
    await removeIndexes(client, versionId)
    return await writeIndex(client, {
      versionId,
      ...artifact,
      rows: engineRows(artifact),
      onProgress: (done, total) => progress.at(done, total),
      signal,
    })
  })
}

/** @throws ArtifactError if the index is not the one that the manifest describes. */
export async function verifyIndex(
  { engine: settings, signal }: Pick<BuildContext, 'engine' | 'signal'>,
  folder: string,
  { engine, embedding }: Manifest,
): Promise<void> {
  if (engine === undefined) return
  const fault = await withCluster(settings ?? NO_ENGINE, (client) =>
    contentFault(client, engine, { folder, dimensions: embedding?.dimensions }, { signal }),
  )
  if (fault !== undefined) throw new ArtifactError(fault)
}

/** Removes what a failed build left in the cluster; nothing where no cluster is configured. */
export async function removeIndexesOf(settings: EngineSettings, versionId: string): Promise<void> {
  if (settings.OPENSEARCH_URL === undefined) return
  await withCluster(settings, (client) => removeIndexes(client, versionId))
}

/** @throws ArtifactError in place of an error that a retry cannot correct. */
async function withCluster<T>(settings: EngineSettings, use: (client: EngineClient) => Promise<T>): Promise<T> {
  try {
    await using client = await openEngineClient(settings)
    return await use(client)
  } catch (error) {
    if (error instanceof EngineError && error.fault !== 'unavailable')
      throw new ArtifactError(error.message, { cause: error })
    throw error
  }
}
