import { createHmac } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { CREDENTIAL_SETTINGS, ServiceSecrets } from '#core/credentials/settings.ts'
import { snapshotSchema, tableSchema } from '#core/db/copies.ts'
import type { ARTIFACT_SETTINGS } from '#core/index/settings.ts'
import type { ConfigOf } from '#core/platform/config.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { parsedJson } from '#core/platform/json.ts'
import { partSchema } from './parts.ts'

/**
 * `manifests/<moment>.json` says what a backup holds. It is readable without a key: digests, sizes and ids. Its code of
 * authentication is under SERVICE_SECRET, so only who has that secret makes or changes a backup.
 */

const fileSchema = partSchema.extend({
  /** Below the folder of the store. */
  path: z.string().regex(/^(?:(?!\.{1,2}(?:\/|$))[^/\0]+(?:\/(?!$)|$))+$/),
  mode: z.int().min(0).max(0o777),
})
export type BackupFile = z.infer<typeof fileSchema>

const bodySchema = z.strictObject({
  ...snapshotSchema.shape,
  format: z.literal(1),
  release: z.string(),
  /** Public half of the pair that opens it. */
  recipient: z.string(),
  /** Secrets that the restored service needs and no backup holds, each with its fingerprint. */
  secrets: z.record(z.string(), z.string()),
  tables: z.array(tableSchema.extend({ ...partSchema.shape, rows: z.int() })),
  files: z.array(fileSchema),
})
const writtenSchema = z.strictObject({ body: bodySchema, mac: z.string() })
export type BackupManifest = z.infer<typeof bodySchema>

type Settings = ConfigOf<typeof CREDENTIAL_SETTINGS & typeof ARTIFACT_SETTINGS>
export type BackupSecrets = Pick<Settings, 'KEY_PEPPERS' | 'SERVICE_SECRET' | 'MANIFEST_PUBLIC_KEY'>

const hmac = (key: Uint8Array, text: string): string => createHmac('sha256', key).update(text).digest('hex')
const macOf = (secret: Buffer, body: BackupManifest): string => hmac(secret, `backup manifest ${canonicalJson(body)}`)

/** The signing key is named by its public half, since only the job worker has it. */
export function secretFingerprints({ KEY_PEPPERS, SERVICE_SECRET, MANIFEST_PUBLIC_KEY }: BackupSecrets) {
  const named: readonly (readonly [string, Uint8Array])[] = [
    ...KEY_PEPPERS.map(({ name, secret }) => [`KEY_PEPPERS (${name})`, secret] as const),
    ...SERVICE_SECRET.map((secret, at) => [`SERVICE_SECRET (${at + 1})`, secret] as const),
    ...MANIFEST_PUBLIC_KEY.map((key, at) => [`MANIFEST_PUBLIC_KEY (${at + 1})`, key] as const),
  ]
  return Object.fromEntries(named.map(([name, secret]) => [name, hmac(secret, 'backup fingerprint').slice(0, 32)]))
}

export const manifestFile = (folder: string, name: string): string => join(folder, 'manifests', `${name}.json`)

/** @returns the name of the backup: its moment. */
export async function writeManifest(folder: string, body: BackupManifest, [secret]: ServiceSecrets): Promise<string> {
  const name = body.taken_at.replaceAll(/[:.]/g, '-')
  await writeDurably(manifestFile(folder, name), JSON.stringify({ body, mac: macOf(secret, body) }), 0o600)
  return name
}

/** Names of the complete backups of a folder, oldest first. */
export async function listBackups(folder: string): Promise<readonly string[]> {
  const names = await readdir(join(folder, 'manifests')).catch(() => [])
  return names.flatMap((name) => /^([\dTZ-]+)\.json$/.exec(name)?.[1] ?? []).toSorted()
}

/**
 * @param secrets absent: whoever wrote it, to know which parts it holds.
 * @throws OperatorError where a secret is missing or another one, or the manifest is not what was written.
 */
export async function readManifest(folder: string, name: string, secrets?: BackupSecrets): Promise<BackupManifest> {
  const text = await readFile(manifestFile(folder, name), 'utf8').catch(() => '')
  const parsed = writtenSchema.safeParse(parsedJson(text))
  if (!parsed.success) throw new OperatorError(`${folder} has no manifest ${name} that can be read.`)
  const { body, mac } = parsed.data
  if (secrets === undefined) return body
  const had = new Set(Object.values(secretFingerprints(secrets)))
  const lacking = Object.entries(body.secrets).filter(([, fingerprint]) => !had.has(fingerprint))
  if (lacking.length > 0)
    throw new OperatorError(
      `Secrets of the backup are missing or others here: ${lacking.map(([of]) => of).join(', ')}.`,
    )
  if (!secrets.SERVICE_SECRET.some((secret) => macOf(secret, body) === mac))
    throw new OperatorError(`The manifest of backup ${name} is altered: take another backup.`)
  return body
}
