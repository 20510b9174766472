import { rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { openEngineClient } from '#core/engine/client.ts'
import { heldVersions, removeIndexes } from '#core/engine/index-writer.ts'
import type { EngineSettings } from '#core/engine/settings.ts'
import { readSignedManifest } from '#core/index/format/manifest.ts'
import { namesIn } from '#core/index/format/room.ts'
import type { ArtifactStore, SignedStore } from '#core/index/format/store.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { endedBuilds, recentlyEndedBuilds } from '#core/db/builds.ts'
import { shrinkVectorCache } from '#core/db/vector-cache/cache.ts'
import type { Database } from '#core/db/pool.ts'
import type { Log } from '#core/platform/log.ts'
import { removeArtifact, removeUnfinished } from '#jobs/version-build/row-files.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { removeReadFiles } from '#law/import/staging/read-files.ts'

export interface GarbageCollectionDeps {
  readonly database: Database
  readonly store: SignedStore
  /** 0: the cache is off. */
  readonly vectorCacheBytesMax: number
  /** The cluster of builds for the engine `opensearch`. */
  readonly engine: EngineSettings
  readonly log: Log
}

const ENDED = {
  succeededMs: JOB_BOUNDS.garbageBuildsOlderThanMs,
  failedMs: JOB_BOUNDS.garbageFailedBuildsOlderThanMs,
  limit: JOB_BOUNDS.garbageNamesMax,
} as const

/**
 * Removes the leftovers of killed processes from the artifact store. These are work folders and unfinished artifacts of
 * ended builds, complete artifacts of failed builds, and temporary files without a write for a day. A failed build
 * keeps its files for longer than it can be asked for again, so nothing in use is removed. Files of no build in this
 * database stay. The vector cache is brought down to its bound. A run is bounded, and may be repeated or run
 * concurrently.
 * @returns the number of folders and files removed.
 */
export async function collectGarbage(deps: GarbageCollectionDeps): Promise<number> {
  const removed =
    (await collectWorkFolders(deps)) +
    (await collectArtifacts(deps)) +
    (await collectIndexes(deps)) +
    (await collectTemporaryFiles(deps.store))
  if (removed > 0) deps.log.info('garbage collected', { removed })
  await deps.store.trim()
  const bytes = await shrinkVectorCache(deps.store.vectorCacheFile, deps.vectorCacheBytesMax)
  if (bytes > 0) deps.log.info('vector cache shrunk', { bytes })
  return removed
}

/** Names contain the build's id. */
async function collectWorkFolders({ database, store }: GarbageCollectionDeps): Promise<number> {
  const names = (await namesIn(dirname(store.workFolder('any'))))
    .filter((name) => z.uuid().safeParse(name).success)
    .slice(0, JOB_BOUNDS.garbageNamesMax)
  const ended = names.length === 0 ? [] : await endedBuilds(database, { ...ENDED, builds: names })
  for (const id of ended) await rm(store.workFolder(id), { recursive: true, force: true })
  return ended.length
}

/** Names contain the version's id, which is derived from the build's id. */
async function collectArtifacts({ database, store }: GarbageCollectionDeps): Promise<number> {
  const names = await namesIn(dirname(store.artifactFolder('any')))
  const whole = new Set(names)
  const unfinished = new Set(names.filter((name) => name.endsWith('.tmp')).map((name) => name.split('.')[0]))
  let removed = 0
  for (const { id, state } of await recentlyEndedBuilds(database, ENDED)) {
    const folder = store.artifactFolder(versionIdOf(id))
    const versionId = basename(folder)
    if (!unfinished.has(versionId) && !(state === 'failed' && whole.has(versionId))) continue
    await (state === 'failed' ? removeArtifact(folder) : removeUnfinished(folder))
    if (state === 'failed') await store.unpublish(folder)
    removed++
  }
  return removed
}

/**
 * The indexes of a failed build, and those that killed runs of a succeeded one left. A cluster that does not answer is
 * asked the next time.
 */
async function collectIndexes({ database, store, engine, log }: GarbageCollectionDeps): Promise<number> {
  if (engine.OPENSEARCH_URL === undefined) return 0
  let removed = 0
  try {
    await using client = await openEngineClient(engine)
    const held = await heldVersions(client)
    for (const { id, state } of await recentlyEndedBuilds(database, ENDED)) {
      const versionId = versionIdOf(id)
      if (!held.has(versionId)) continue
      const kept = state === 'failed' ? undefined : await indexInUse(store, versionId)
      if (state === 'failed' || kept !== undefined) removed += await removeIndexes(client, versionId, kept)
    }
  } catch (error) {
    log.warn('indexes could not be collected', {}, error)
  }
  return removed
}

/** @returns undefined where the artifact cannot be read: its index stays. */
async function indexInUse(store: SignedStore, versionId: string) {
  const folder = await store.fetchManifest(store.artifactFolder(versionId))
  const signed = await readSignedManifest(folder, store.publicKeysDer, 'unrecorded').catch(() => undefined)
  return signed?.manifest.engine?.index
}

/** Besides, what an interrupted import has read. */
const TEMPORARY = /\.tmp$|^read-.+\.sqlite$/

/** Snapshots are in folders named after the first two digits of their SHA-256. Work of a capture is a folder. */
async function collectTemporaryFiles(store: ArtifactStore): Promise<number> {
  const snapshots = dirname(dirname(store.snapshotFile('any')))
  const folders = [
    dirname(store.reportFile('any')),
    dirname(store.workFolder('any')),
    ...(await namesIn(snapshots)).map((name) => join(snapshots, name)),
  ]
  let removed = 0
  for (const folder of folders) {
    for (const name of (await namesIn(folder)).filter((each) => TEMPORARY.test(each))) {
      const path = join(folder, name)
      const writtenAtMs = await stat(path).then(
        (found) => found.mtimeMs,
        () => Date.now(),
      )
      if (Date.now() - writtenAtMs < JOB_BOUNDS.garbageFilesOlderThanMs) continue
      if (name.endsWith('.tmp')) await rm(path, { recursive: true, force: true })
      else if (!removeReadFiles(path)) continue
      removed++
    }
  }
  return removed
}
