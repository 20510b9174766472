import { rm } from 'node:fs/promises'
import { lockVersion } from '#core/db/activations.ts'
import type { Queryable } from '#core/db/pool.ts'
import { disposableSnapshots, disposableVersions } from '#core/db/retention.ts'
import type { RetentionRules } from '#core/db/retention.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { removeArtifact } from '#jobs/version-build/row-files.ts'

/** Files that the rules let go. */
export type RetentionPlan = Awaited<ReturnType<typeof planRetention>>

const ANY = { versionId: null, limit: JOB_BOUNDS.retentionItemsMax } as const

/** Finds what the rules let go, and changes nothing. What is gone already is not listed. */
export async function planRetention(database: Queryable, store: ArtifactStore, rules: RetentionRules) {
  const disposable = await disposableVersions(database, { ...rules, ...ANY })
  const sized = []
  for (const version of disposable) sized.push({ ...version, bytes: await bytesOfVersion(store, version.id) })
  const gone = disposable.map(({ id }) => id)
  const snapshots = []
  for (const sha256 of await disposableSnapshots(database, { ...rules, ...ANY, goneVersions: gone }))
    snapshots.push({ sha256, bytes: await store.bytesOf(store.snapshotFile(sha256)) })
  const plan = { versions: sized.filter(isThere), snapshots: snapshots.filter(isThere) }
  return { ...plan, bytes: [...plan.versions, ...plan.snapshots].reduce((sum, { bytes }) => sum + bytes, 0) }
}

/**
 * Removes the files of a plan in the transaction of the client. Each version is locked and looked at again, so what was
 * approved or activated since stays, and so do its snapshots and those that were captured again since.
 * @returns what went.
 */
export async function removePlanned(
  client: Queryable,
  store: ArtifactStore,
  rules: RetentionRules,
  plan: RetentionPlan,
): Promise<RetentionPlan> {
  const versions = []
  for (const version of plan.versions) {
    await lockVersion(client, version.id)
    if ((await disposableVersions(client, { ...rules, versionId: version.id, limit: 1 })).length === 0) continue
    await removeArtifact(store.artifactFolder(version.id))
    await store.unpublish(store.artifactFolder(version.id))
    for (const file of reportFiles(store, version.id)) await removeFile(store, file)
    versions.push(version)
  }
  const gone = (await disposableVersions(client, { ...rules, ...ANY })).map(({ id }) => id)
  const still = new Set(await disposableSnapshots(client, { ...rules, ...ANY, goneVersions: gone }))
  const snapshots = plan.snapshots.filter(({ sha256 }) => still.has(sha256))
  for (const { sha256 } of snapshots) await removeFile(store, store.snapshotFile(sha256))
  return { versions, snapshots, bytes: [...versions, ...snapshots].reduce((sum, { bytes }) => sum + bytes, 0) }
}

function isThere({ bytes }: { readonly bytes: number }): boolean {
  return bytes > 0
}

function reportFiles(store: ArtifactStore, id: string): readonly string[] {
  return [store.reportFile(id), store.figuresFile(id), store.changesFile(id)]
}

async function removeFile(store: ArtifactStore, path: string): Promise<void> {
  await rm(path, { force: true })
  await store.unpublish(path)
}

async function bytesOfVersion(store: ArtifactStore, id: string): Promise<number> {
  const sizes = await Promise.all(
    [store.artifactFolder(id), ...reportFiles(store, id)].map((path) => store.bytesOf(path)),
  )
  return sizes.reduce((sum, bytes) => sum + bytes, 0)
}
