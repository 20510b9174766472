import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '#core/platform/config.ts'
import { systemCodeOf } from '#core/platform/sqlite-fault.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { ONE_FOLDER, RemoteCopies, type Copies, type CopyOptions } from './copies.ts'

/**
 * The artifact store as a directory: `artifacts/<version id>/`, `snapshots/<sha256>`, `snapshots/incoming/`,
 * `work/<build id>/`, `reports/<version id>.html`, `.json` and `.changes.jsonl`, `trace/`, `serving.json`,
 * and a cache, `vectors/cache.sqlite`. An operator writes to `snapshots` alone. Nothing but the cache is ever overwritten in place:
 * files, and the folder that a capture sorts for a build, are written under a temporary name, synced and renamed. With
 * an object store the directory has copies: a reader fetches first, and a writer publishes afterwards.
 */
export type ArtifactStore = ReturnType<typeof storeIn>

/** A store whose artifacts may be read, because the keys are at hand under which their manifests must hold. */
export interface SignedStore extends ArtifactStore {
  /** SPKI. */
  readonly publicKeysDer: readonly Uint8Array[]
}

export function createSignedStore(
  config: StoreSettings & { readonly MANIFEST_PUBLIC_KEY: readonly Uint8Array[] },
): SignedStore {
  return Object.assign(openArtifactStore(config), { publicKeysDer: config.MANIFEST_PUBLIC_KEY })
}

export interface StoreSettings {
  readonly ARTIFACT_STORE: string
  /** Absolute path of a folder; of an object store alone. */
  readonly ARTIFACT_CACHE?: string | undefined
  readonly ARTIFACT_CACHE_MAX_MB?: number
}

/** @throws ConfigError for an object store without a folder of copies. */
export function openArtifactStore(
  { ARTIFACT_STORE: url, ARTIFACT_CACHE: root, ARTIFACT_CACHE_MAX_MB: megabytes = INDEX_BOUNDS.cacheMb }: StoreSettings,
  options: CopyOptions = {},
): ArtifactStore {
  if (url.startsWith('file:')) return createArtifactStore(url)
  if (root === undefined)
    throw new ConfigError('ARTIFACT_CACHE is missing: an object store needs a folder of copies, which it names.')
  return storeIn(root, new RemoteCopies(url, root, megabytes * 1_024 * 1_024, options))
}

const REFUSALS: Readonly<Record<string, string>> = {
  ENOSPC: 'is full (ENOSPC): free some space there',
  EDQUOT: 'is full (EDQUOT): free some space there, or raise its quota',
  EROFS: 'is read-only (EROFS): make it writable',
  EACCES: 'is read-only (EACCES): let this account write there',
  EPERM: 'is read-only (EPERM): let this account write there',
}

/** Says that the folder of a store takes no bytes. @returns a clause; undefined for any other fault. */
export function storeFault({ root }: Pick<ArtifactStore, 'root'>, error: unknown): string | undefined {
  const isElsewhere = error instanceof Error && 'path' in error && !String(error.path).startsWith(root)
  const refusal = isElsewhere ? undefined : REFUSALS[systemCodeOf(error)]
  return refusal && `the artifact store ${root} ${refusal}`
}

/** @param url a `file:` URL, already validated. */
export function createArtifactStore(url: string): ArtifactStore {
  return storeIn(fileURLToPath(url), { ...ONE_FOLDER })
}

function storeIn(root: string, copies: Copies) {
  return Object.assign(copies, {
    root,
    artifactFolder: (versionId: string): string => join(root, 'artifacts', versionId),
    /** Signed entries of the versions to serve; search nodes load them by themselves. */
    servingFile: join(root, 'serving.json'),
    snapshotFile: (sha256Hex: string): string => join(root, 'snapshots', sha256Hex.slice(0, 2), sha256Hex),
    /** File of an import that is not complete: a copy of a source, its staging, or what it has read. */
    incomingFile: (name: string): string => join(root, 'snapshots', 'incoming', name),
    workFolder: (buildId: string): string => join(root, 'work', buildId),
    /** Vectors of embedding providers. It may be removed at any time: the next build sends its passages again. */
    vectorCacheFile: join(root, 'vectors', 'cache.sqlite'),
    /** Evaluation report of a version, as a page for reviewers. */
    reportFile: (versionId: string): string => join(root, 'reports', `${versionId}.html`),
    /** The evaluation report as JSON. */
    figuresFile: (versionId: string): string => join(root, 'reports', `${versionId}.json`),
    /** Every difference between a candidate and the version that was active: one a line. */
    changesFile: (versionId: string): string => join(root, 'reports', `${versionId}.changes.jsonl`),
    /** The public trace, unless the configuration names another folder. */
    traceFolder: join(root, 'trace'),
  })
}
