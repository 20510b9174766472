import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { createWriteStream, existsSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { identityToRecipient } from 'age-encryption'
import { appendAudit } from '#core/db/audit.ts'
import { assertNoTables, copyTables, fillTables, readState, withCopyConnection } from '#core/db/copies.ts'
import { MIGRATIONS, SHIPPED_MIGRATIONS, migrate } from '#core/db/schema.ts'
import { readSignedManifest } from '#core/index/format/manifest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { RELEASE } from '#core/platform/release.ts'
import { createFingerprintEpoch } from '../fingerprints.ts'
import { withAudit, type Operator } from '../operator.ts'
import { listBackups, manifestFile, readManifest, secretFingerprints, writeManifest } from './manifest.ts'
import type { BackupFile, BackupManifest, BackupSecrets } from './manifest.ts'
import { addFile, addStream, readPart, removeOtherParts, type Part } from './parts.ts'

/** Folders of the store that a backup holds. The others are caches, work under way, or made again by the job worker. */
const FOLDERS = ['artifacts', 'reports', 'snapshots'] as const
const INCOMING = join('snapshots', 'incoming') + sep

interface Destination {
  /** URL of a role that has `evidence_backup`. */
  readonly url: string
  readonly store: string
  readonly to: string
  /** Public half of a pair of age. */
  readonly recipient: string
  readonly secrets: BackupSecrets
  /** Newest backups that stay; undefined: all. */
  readonly keep: number | undefined
}

/** Writes a backup as of one moment. A file never changes once a row names it, so files are copied after the rows. */
export async function backUp(operator: Operator, { url, store, to, recipient, secrets, keep }: Destination) {
  return withCopyConnection(url, async (client) => {
    const copied = await copyTables(client, (rows) => addStream(to, recipient, rows))
    const files: BackupFile[] = []
    for (const path of (await Promise.all(FOLDERS.map((folder) => filesBelow(join(store, folder))))).flat()) {
      const name = relative(store, path)
      // `operator gc` may remove a file meanwhile.
      if (name.startsWith(INCOMING) || name.endsWith('.tmp') || !existsSync(path)) continue
      const { mode } = await stat(path)
      files.push({ ...(await addFile(to, recipient, path)), path: name, mode: mode & 0o777 })
    }
    await assertActive(store, copied.state.active, secrets)
    const about = { format: 1 as const, release: RELEASE, recipient, secrets: secretFingerprints(secrets) }
    const name = await writeManifest(to, { ...copied, ...about, files }, secrets.SERVICE_SECRET)
    const removed = keep === undefined ? [] : await removeOld(to, keep)
    const bytes = [...copied.tables, ...files].reduce((sum, part) => sum + part.bytes, 0)
    const written = { name, tables: copied.tables.length, files: files.length, bytes, removed }
    return withAudit(operator, 'backup.create', () => Promise.resolve([written, `backup:${name}`, written]))
  })
}

async function assertActive(store: string, active: BackupManifest['state']['active'], secrets: BackupSecrets) {
  for (const [id, digest] of Object.entries(active))
    try {
      await readSignedManifest(join(store, 'artifacts', id), secrets.MANIFEST_PUBLIC_KEY, Buffer.from(digest, 'hex'))
    } catch (cause) {
      throw new OperatorError(`The store lacks the active version ${id}, or has another: see "doctor".`, { cause })
    }
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = existsSync(folder) ? await readdir(folder, { recursive: true, withFileTypes: true }) : []
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** @returns the backups that were removed; what no other one holds goes with them. */
async function removeOld(to: string, keep: number): Promise<readonly string[]> {
  const names = await listBackups(to)
  const old = names.slice(0, -keep)
  const held = new Set<string>()
  for (const name of names.slice(-keep)) {
    const { recipient, tables, files } = await readManifest(to, name)
    for (const { sha256 } of [...tables, ...files]) held.add(`${recipient}/${sha256}`)
  }
  for (const name of old) await rm(manifestFile(to, name))
  await removeOtherParts(to, held)
  return old
}

interface Source {
  readonly from: string
  readonly backup?: string | undefined
  /** Private half of a pair of age. */
  readonly identity: string
  readonly secrets: BackupSecrets
}

/**
 * Reads every part of a backup.
 * @returns also what had ended by the time of the newest backup of the folder.
 * @throws OperatorError where secrets, key, manifest or a part are missing or others.
 */
export async function verifyBackup({ from, backup, identity, secrets }: Source) {
  const newest = (await listBackups(from)).at(-1)
  if (newest === undefined) throw new OperatorError(`${from} holds no backup.`)
  const name = backup ?? newest
  const manifest = await readManifest(from, name, secrets)
  const { recipient, migration, release, tables, files } = manifest
  if (recipient !== (await identityToRecipient(identity)))
    throw new OperatorError(`Backup ${name} is encrypted to another key.`)
  if (!SHIPPED_MIGRATIONS.some((known) => known.name === migration.name && known.sha256 === migration.sha256))
    throw new OperatorError(`The backup has migration ${migration.name}: restore it with release ${release} or later.`)
  const parts = new Map<string, Part>([...tables, ...files].map((part) => [part.sha256, part]))
  for (const part of parts.values()) for await (const _ of readPart(from, identity, part));
  return { name, manifest, ended: (await readManifest(from, newest, secrets)).ended }
}

/**
 * Restores a verified backup into a new database and an empty store: the schema as it was, its rows, later migrations,
 * and the files.
 * @param url of a role that has `evidence_migration`.
 * @returns what the restored installation has, as it was read from it.
 */
export async function restoreBackup(
  { url, actor, store }: { readonly url: string; readonly actor: string; readonly store: string },
  { from, identity, secrets }: Source,
  { name, manifest, ended }: Awaited<ReturnType<typeof verifyBackup>>,
) {
  const { tables, files, migration, taken_at } = manifest
  return withCopyConnection(url, async (client) => {
    await assertNoTables(client)
    const [other] = await filesBelow(store)
    if (other !== undefined) throw new OperatorError(`${other} exists: restore into an empty store.`)
    await migrate(url, MIGRATIONS, undefined, migration.number)
    const read = (part: Part): AsyncIterable<Uint8Array> => readPart(from, identity, part)
    const again = await fillTables(client, manifest, read, ended, async ({ without_epoch, ...detail }) => {
      for (const id of without_epoch) await createFingerprintEpoch(client, id, secrets.SERVICE_SECRET)
      await appendAudit(client, { actor, action: 'restore.run', subject: `backup:${name}`, detail })
      return detail
    })
    await migrate(url)
    for (const { path, mode, ...part } of files) {
      const file = join(store, path)
      await mkdir(dirname(file), { recursive: true })
      await pipeline(read(part), createWriteStream(file, { flags: 'wx', mode, flush: true }))
      await chmod(file, mode)
    }
    await mkdir(join(store, INCOMING), { recursive: true })
    const state = await readState(client)
    await assertActive(store, state.active, secrets)
    const rows = Object.fromEntries(tables.map((table) => [table.name, table.rows]))
    return { backup: name, taken_at, ...again, ...state, rows, files: files.length }
  })
}
