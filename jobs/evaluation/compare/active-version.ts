import type { Database } from '#core/db/pool.ts'
import type { Side } from '#core/db/version-differences.ts'
import { readServing } from '#core/db/versions.ts'
import { orders, type ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { createEmbedder, type EndpointSettings } from '#core/embedding/providers.ts'
import type { Facets } from '#core/index/facets/layout.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { readSignedManifest } from '#core/index/format/manifest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createReader, type Reader, type ReaderSettings } from '#core/reading/reader.ts'
import type { VersionRef } from '#core/domain/search.ts'
import type { ComparedContents } from './compared-passages.ts'
import { unlessDamaged } from '#jobs/evaluation/altered-candidate.ts'

export interface ActiveVersion extends VersionRef {
  readonly facets: Facets
  readonly profile: ProfileParameters
  /** Undefined: it has no vectors. */
  readonly embedder: Embedder | undefined
  /** The reader that orders its passages; absent: none does. */
  readonly reader?: Reader | undefined
  /** SHA-256 (hex) of the question set that it was evaluated with; null: known items. */
  readonly questionSet: string | null
}

export interface ActiveVersionContext {
  readonly database: Database
  readonly knowledgeBaseId: string
  readonly embedding: EndpointSettings & ReaderSettings
}

/**
 * Returns the active version of a knowledge base; undefined: none is active.
 * @throws OperatorError where this worker cannot ask it as the gateway does.
 */
export async function readActiveVersion(context: ActiveVersionContext): Promise<ActiveVersion | undefined> {
  const { database, knowledgeBaseId, embedding } = context
  const active = await readServing(database, knowledgeBaseId)
  if (active === undefined) return undefined
  const { reader } = active.profile
  if (orders(reader) && embedding.READER_BASE_URL === undefined)
    throw new OperatorError(
      'The candidate cannot be compared with the active version, whose passages a reader orders: set READER_BASE_URL ' +
        'of the job worker, then build again.',
    )
  return {
    ...active,
    // An earlier release embedded by hashing words, which ranked as words alone do.
    embedder:
      active.embedding === null || active.embedding.provider === 'local'
        ? undefined
        : embedderOf(active.embedding, embedding),
    reader: reader !== null && orders(reader) ? createReader(reader, embedding) : undefined,
  }
}

function embedderOf(space: EmbeddingSpace, settings: EndpointSettings): Embedder {
  try {
    return createEmbedder(space, settings)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    const named = `${space.provider}/${space.model}`
    throw new OperatorError(
      `The candidate cannot be compared with the active version, because this worker cannot embed questions into ` +
        `${named}: configure that embedding provider for the job worker, then build again.`,
      { cause: error },
    )
  }
}

/**
 * Verifies the manifest of one side against its recorded digest and its signature. It says what the passages must be.
 * @throws OperatorError where the manifest is missing or was changed.
 */
export async function signedContents(
  side: Side,
  { versionId, manifestDigest, facets }: Pick<ActiveVersion, 'versionId' | 'manifestDigest' | 'facets'>,
  store: ArtifactStore,
  publicKeysDer: Parameters<typeof readSignedManifest>[1],
): Promise<ComparedContents> {
  const folder = await store.fetch(store.artifactFolder(versionId))
  const { manifest } = await unlessDamaged(side, versionId, () =>
    readSignedManifest(folder, publicKeysDer, manifestDigest),
  )
  return { versionId, folder, manifest, facets }
}
