import { withTimeout } from '#core/platform/with-timeout.ts'
import type { LoadedVersion, PreparedVersion } from '#core/domain/search.ts'
import { NodeError } from './node-error.ts'
import { artifactRef, type ArtifactRef } from '#core/index/format/reader.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { SEARCH_NODE_BOUNDS } from './bounds.ts'

export interface VersionsDependencies {
  readonly artifactFolder: (versionId: string) => string
  /** @throws NodeError DATA_LOSS if the artifact does not match its manifest or the digest. */
  readonly verify: (folder: string, digest: Uint8Array) => Promise<Manifest>
  readonly openEverywhere: (artifact: ArtifactRef) => Promise<void>
  readonly closeEverywhere: (artifact: ArtifactRef) => Promise<void>
  /** Called when a version begins or ends to be lent. */
  readonly onState: (versionId: string, isServed: boolean) => void
  /** Called once for each version that is unloaded because its files changed. */
  readonly onDamaged: (versionId: string, reason: string) => void
}

interface Version {
  readonly digest: Buffer
  state: 'loading' | 'loaded' | 'releasing'
  leases: number
  artifact: ArtifactRef | undefined
  /** Of all files, as the manifest says. */
  bytes: number
  /** When its load began and how long it took; monotonic, ms. */
  readonly loadBeganMs: number
  loadMs: number
  /** The current load or release; callers that need its end await it. */
  work: Promise<void>
  onLeasesBack: (() => void) | undefined
}

/** What a caller of `prepare` may ask for beside the version. */
export interface PrepareOptions {
  /** A version that is loaded is verified again, too. */
  readonly verify: boolean
}

/** The versions that this node holds. Each passes through loading → loaded → releasing → gone. */
export class Versions {
  readonly #versions = new Map<string, Version>()
  readonly #dependencies: VersionsDependencies
  #damaged = 0

  constructor(dependencies: VersionsDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Verifies and maps a version. One that is loaded is verified again only if asked, and unloaded if it fails. A call for a version that is loading joins that load; a version that is being released
   * is loaded again afterwards.
   * @param digest SHA-256 of manifest.json as the database holds it.
   * @throws NodeError DATA_LOSS: it does not verify, or is loaded under another digest. RESOURCE_EXHAUSTED: too many
   * versions.
   */
  async prepare(
    versionId: string,
    digest: Uint8Array,
    options: PrepareOptions = { verify: false },
  ): Promise<PreparedVersion> {
    const known = this.#versions.get(versionId)
    if (known === undefined) return this.#load(versionId, digest)
    if (known.state === 'releasing') {
      await bounded(known.work, 'The version is still being released; ask again once its searches are done.')
      return this.prepare(versionId, digest, options)
    }
    if (!known.digest.equals(digest))
      throw new NodeError(
        'DATA_LOSS',
        'This version is loaded under another manifest digest; a version never changes, so ' +
          'check the digest in the database.',
      )
    const alreadyLoaded = known.state === 'loaded'
    await known.work
    if (alreadyLoaded && options.verify) await this.#verifyAgain(versionId, known)
    return { alreadyLoaded, passages: known.artifact?.passages ?? 0 }
  }

  /**
   * Lends a version, which stays open until the lease is released.
   * @param projection SHA-256 of the manifest that the caller wants; undefined: any.
   * @throws NodeError FAILED_PRECONDITION if the version, or that projection of it, is not loaded.
   */
  borrow(versionId: string, projection?: string) {
    const version = this.#versions.get(versionId)
    if (version?.state !== 'loaded' || version.artifact === undefined)
      throw new NodeError(
        'FAILED_PRECONDITION',
        'This node has not loaded the version; ask another node, or prepare the version here first.',
      )
    if (projection !== undefined && version.digest.toString('hex') !== projection)
      throw new NodeError(
        'FAILED_PRECONDITION',
        'This node has loaded another projection of the version; ask another node.',
      )
    version.leases += 1
    let held = true
    return {
      artifact: version.artifact,
      release() {
        if (!held) return
        held = false
        version.leases -= 1
        if (version.leases === 0) version.onLeasesBack?.()
      },
    }
  }

  /**
   * Unmaps a version once every lease is returned; no new lease is given meanwhile. A version that is still loading is
   * released after the load.
   * @returns whether there was anything to release.
   * @throws NodeError DEADLINE_EXCEEDED if leases are not returned in time; the release continues.
   */
  async release(versionId: string): Promise<boolean> {
    const version = this.#versions.get(versionId)
    if (version === undefined) return false
    if (version.state === 'loading') {
      const loaded = await version.work.then(
        () => true,
        () => false,
      )
      return loaded ? this.release(versionId) : false
    }
    if (version.state === 'loaded') {
      version.state = 'releasing'
      version.work = this.#unload(versionId, version)
    }
    await bounded(version.work, 'Some searches of the version are not done yet; it is released as soon as they are.')
    return true
  }

  /**
   * Unloads a version because its files are no longer those that were verified. It is served again once it was
   * prepared, which verifies all of it. Nothing happens if the artifact is no longer loaded.
   */
  unloadDamaged(artifact: ArtifactRef, reason: string): void {
    const { versionId } = artifact
    const version = this.#versions.get(versionId)
    if (version?.state !== 'loaded' || version.artifact !== artifact) return
    this.#damaged += 1
    this.#dependencies.onDamaged(versionId, reason)
    version.state = 'releasing'
    version.work = this.#unload(versionId, version)
    // Whoever prepares or releases the version meanwhile gets the failure.
    version.work.catch(() => undefined)
  }

  /** The artifacts that are loaded now, each with the SHA-256 of its manifest. */
  loaded(): readonly { readonly artifact: ArtifactRef; readonly digest: Buffer }[] {
    return [...this.#versions.values()].flatMap(({ state, artifact, digest }) =>
      state === 'loaded' && artifact !== undefined ? [{ artifact, digest }] : [],
    )
  }

  /** Versions that were unloaded as damaged since the start. */
  get damaged(): number {
    return this.#damaged
  }

  /** What the loaded versions take, for metrics. `ageMs`: since they are loaded. */
  costs() {
    const now = performance.now()
    return [...this.#versions].flatMap(([versionId, { state, bytes, loadMs, loadBeganMs, artifact }]) =>
      state === 'loaded'
        ? [{ versionId, bytes, passages: artifact?.passages ?? 0, loadMs, ageMs: now - loadBeganMs - loadMs }]
        : [],
    )
  }

  status(): readonly LoadedVersion[] {
    return [...this.#versions].map(([versionId, { digest, leases, state }]) => ({
      versionId,
      manifestDigest: digest,
      leases,
      state,
    }))
  }

  async #load(versionId: string, digest: Uint8Array): Promise<PreparedVersion> {
    if (this.#versions.size >= SEARCH_BOUNDS.versionsPerNodeMax)
      throw new NodeError(
        'RESOURCE_EXHAUSTED',
        `This node already holds ${SEARCH_BOUNDS.versionsPerNodeMax} versions; release one first.`,
      )
    const version: Version = {
      digest: Buffer.from(digest),
      state: 'loading',
      leases: 0,
      artifact: undefined,
      bytes: 0,
      loadBeganMs: performance.now(),
      loadMs: 0,
      work: Promise.resolve(),
      onLeasesBack: undefined,
    }
    this.#versions.set(versionId, version)
    version.work = this.#verifyAndOpen(versionId, version)
    await version.work
    return { alreadyLoaded: false, passages: version.artifact?.passages ?? 0 }
  }

  /** @throws NodeError DATA_LOSS, with the version unloaded, if its files are no longer those that were verified. */
  async #verifyAgain(versionId: string, version: Version): Promise<void> {
    const { artifactFolder, verify } = this.#dependencies
    const { artifact } = version
    try {
      await verify(artifactFolder(versionId), version.digest)
    } catch (error) {
      if (artifact !== undefined && error instanceof NodeError && error.code === 'DATA_LOSS')
        this.unloadDamaged(artifact, error.message)
      throw error
    }
  }

  async #verifyAndOpen(versionId: string, version: Version): Promise<void> {
    const { artifactFolder, verify, openEverywhere, closeEverywhere } = this.#dependencies
    try {
      const folder = artifactFolder(versionId)
      const manifest = await verify(folder, version.digest)
      if (manifest.version_id !== versionId)
        throw new NodeError(
          'DATA_LOSS',
          'The artifact belongs to another version; copy the right one to the artifact store.',
        )
      version.artifact = artifactRef(folder, manifest)
      await openEverywhere(version.artifact)
      version.bytes = Object.values(manifest.files).reduce((sum, file) => sum + (file?.bytes ?? 0), 0)
      version.loadMs = performance.now() - version.loadBeganMs
      version.state = 'loaded'
      this.#dependencies.onState(versionId, true)
    } catch (error) {
      if (version.artifact !== undefined) await closeEverywhere(version.artifact).catch(() => undefined)
      this.#versions.delete(versionId)
      throw error
    }
  }

  async #unload(versionId: string, version: Version): Promise<void> {
    this.#dependencies.onState(versionId, false)
    if (version.leases > 0) await new Promise<void>((resolve) => (version.onLeasesBack = resolve))
    try {
      if (version.artifact !== undefined) await this.#dependencies.closeEverywhere(version.artifact)
    } finally {
      this.#versions.delete(versionId)
    }
  }
}

/** Waits for work for a bounded time; the work itself continues. */
function bounded(work: Promise<void>, sentence: string): Promise<void> {
  return withTimeout(SEARCH_NODE_BOUNDS.releaseTimeoutMs, new NodeError('DEADLINE_EXCEEDED', sentence), work)
}
