import { rm } from 'node:fs/promises'
import { lockVersion } from '#core/db/activations.ts'
import type { Queryable } from '#core/db/pool.ts'
import { disposableSnapshots, disposableVersions, type RetentionRules } from '#core/db/retention.ts'
import { openArtifactStore, type ArtifactStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { removeArtifact } from '#jobs/version-build/row-files.ts'
import { withAudit } from '#operator/actions/operator.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { isGiven, option, wholeOr } from '#operator/command-line/inputs.ts'
import { table } from '#operator/command-line/table.ts'
import { change } from '#operator/command-line/verbs.ts'

const DAYS_MAX = 36_500
const DEFAULTS: RetentionRules = { versionDays: 30, ledgerDays: 400, snapshotDays: 30 }

function days(rule: keyof RetentionRules, since: string): ReturnType<typeof wholeOr> {
  return option('<n>', `since ${since}; default ${DEFAULTS[rule]}`, wholeOr(DEFAULTS[rule], 1, DAYS_MAX))
}

export const commands: Commands = [
  change('gc', 'remove the files of versions and sources that nothing needs any more', {
    notes:
      'Never removed: what is active, on the way back of rollbacks, approved, named by an entitlement, or in a public ' +
      'trace; sources of versions that stay.\nThe rows stay: a version without files is never served again, and a build ' +
      'from a source without its file says so.\nLeftovers of failed builds are removed by the job worker, a day after ' +
      'they failed.',
    examples: ['gc --dry-run', 'gc --version-days 90'],
    input: {
      dryRun: option('', 'show what would go, and remove nothing', isGiven),
      versionDays: days('versionDays', 'a version was retired or rejected, or built and never approved'),
      ledgerDays: days('ledgerDays', 'the last request of the ledger that a version served'),
      snapshotDays: days('snapshotDays', 'a source was captured'),
    },
    variables: STORE_SETTINGS,
    async run({ dryRun, ...rules }, { operator, database, config }) {
      const store = openArtifactStore(config)
      const plan = await planRetention(database, store, rules)
      if (dryRun || plan.versions.length + plan.snapshots.length === 0)
        return [{ ...plan, removed: false }, inWords(plan, 'would go')]
      const removed = await withAudit(operator, 'store.gc', async (client) => {
        const went = await removePlanned(client, store, rules, plan)
        const { versions, snapshots, bytes } = went
        const detail = { rules, versions: versions.map(({ id }) => id), snapshots: snapshots.length, bytes }
        return [went, 'artifact-store', detail]
      })
      return [{ ...removed, removed: true }, inWords(removed, 'went')]
    },
  }),
]

function inWords({ versions, snapshots, bytes }: RetentionPlan, what: string): string {
  if (versions.length + snapshots.length === 0) return 'Nothing is to be removed.'
  const listed = versions.length === 0 ? '' : `${table(versions, 'id=version knowledge_base state bytes')}\n\n`
  return `${listed}${versions.length} versions and ${snapshots.length} captured files ${what}, ${bytes} bytes.`
}

/** Files that the rules let go. */
type RetentionPlan = Awaited<ReturnType<typeof planRetention>>

const ANY = { versionId: null, limit: JOB_BOUNDS.retentionItemsMax } as const

/** Finds what the rules let go, and changes nothing. What is gone already is not listed. */
async function planRetention(database: Queryable, store: ArtifactStore, rules: RetentionRules) {
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
async function removePlanned(
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
