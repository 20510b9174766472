import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import { exclusively, openTestDatabase, type TestDatabase } from './postgres.ts'
import { testSecrets, type TestSecrets } from './secrets.ts'
import type { RunServers } from './servers.ts'

/** What a service begins with. */
export interface Installation {
  /** Holds the artifact store and the reviewer's key. */
  readonly folder: string
  readonly database: TestDatabase
  readonly secrets: TestSecrets
  /** The active version; undefined: nothing is published. */
  readonly versionId: string | undefined
  remove(): Promise<void>
}

export async function emptyInstallation(servers: RunServers, folder = createFolder()): Promise<Installation> {
  return installation(folder, await openTestDatabase(servers), testSecrets(), undefined)
}

function createFolder(): string {
  return mkdtempSync(join(tmpdir(), 'evidence-service-'))
}

const publishedSchema = z.object({
  template: z.string(),
  versionId: z.string(),
  secrets: z.object({
    KEY_PEPPERS: z.string(),
    SERVICE_SECRET: z.string(),
    MANIFEST_PUBLIC_KEY: z.string(),
    MANIFEST_PRIVATE_KEY: z.string(),
  }),
})

/**
 * A copy of an installation that one service of the run has published a version on: its database, store and secrets.
 * The first caller under a key publishes; others wait for it.
 * @param publish runs services on the given installation and stops them. @returns the active version.
 */
export async function publishedInstallation(
  servers: RunServers,
  key: readonly string[],
  publish: (empty: Installation) => Promise<string>,
): Promise<Installation> {
  const digest = sha256(JSON.stringify(key))
  const folder = join(servers.folder, `published-${digest.toString('hex')}`)
  const record = join(folder, 'published.json')
  await exclusively(servers, digest.readInt32BE(), async () => {
    if (existsSync(record)) return
    mkdirSync(folder)
    const empty = await emptyInstallation(servers, folder)
    try {
      const versionId = await publish({ ...empty, remove: () => Promise.resolve() })
      const { database, secrets } = empty
      writeFileSync(record, JSON.stringify({ template: database.name, versionId, secrets }))
    } catch (error) {
      await empty.remove()
      throw error
    }
  })
  const { template, versionId, secrets } = publishedSchema.parse(JSON.parse(readFileSync(record, 'utf8')))
  const copy = installation(createFolder(), await openTestDatabase(servers, template), secrets, versionId)
  cpSync(join(folder, 'store'), join(copy.folder, 'store'), { recursive: true })
  cpSync(reviewerKeyFile({ folder }), reviewerKeyFile(copy))
  return copy
}

/** The private key of the only reviewer. */
export function reviewerKeyFile({ folder }: { readonly folder: string }): string {
  return join(folder, 'reviewer.pem')
}

function installation(
  folder: string,
  database: TestDatabase,
  secrets: TestSecrets,
  versionId: string | undefined,
): Installation {
  return {
    folder,
    database,
    secrets,
    versionId,
    remove: async () => {
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
