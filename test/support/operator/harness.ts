import pg from 'pg'
import { openDatabase } from '#core/db/pool.ts'
import { createLog } from '#core/platform/log.ts'
import { CREDENTIAL_SETTINGS } from '#core/credentials/settings.ts'
import type { Pepper, ServiceSecrets } from '#core/credentials/settings.ts'
import type { Operator } from '#jobs/operator/actions/operator.ts'
import { openTestDatabase } from '#test/support/database.ts'
import type { TestDatabase } from '#test/support/database.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { commandLine } from './cli.ts'
import type { Cli } from './cli.ts'
import { CALL_TIMEOUT_MS } from '#test/support/call-timeout.ts'

/** A database of its own, an operator on it in process, and the command line on the same. */
export interface OperatorHarness {
  readonly urls: TestDatabase
  readonly operator: Operator
  /** The owner's connection: for what a test arranges or inspects. */
  readonly owner: pg.Pool
  readonly environment: Readonly<Record<string, string>>
  readonly cli: Cli
  readonly peppers: readonly Pepper[]
  readonly serviceSecrets: ServiceSecrets
  close(): Promise<void>
}

export async function openOperatorHarness(further: Readonly<Record<string, string>> = {}): Promise<OperatorHarness> {
  const urls = await openTestDatabase()
  const secrets = testSecrets()
  const environment = {
    DATABASE_URL: urls.operatorUrl,
    KEY_PEPPERS: secrets.KEY_PEPPERS,
    SERVICE_SECRET: secrets.SERVICE_SECRET,
    ...further,
  }
  const database = openDatabase(urls.operatorUrl, createLog('test', 'silent'), 2, CALL_TIMEOUT_MS)
  const owner = new pg.Pool({ connectionString: urls.ownerUrl, max: 1 })
  owner.on('error', () => undefined)
  return {
    urls,
    operator: { database, actor: 'tester' },
    owner,
    environment,
    cli: commandLine(environment),
    peppers: CREDENTIAL_SETTINGS.KEY_PEPPERS.schema.parse(secrets.KEY_PEPPERS),
    serviceSecrets: CREDENTIAL_SETTINGS.SERVICE_SECRET.schema.parse(secrets.SERVICE_SECRET),
    async close() {
      await Promise.all([database.end(), owner.end()])
      await urls.drop()
    },
  }
}

/** Every row of every table as text; byte columns as hex. */
export async function everythingStored(owner: pg.Pool): Promise<string> {
  const { rows: tables } = await owner.query<{ name: string }>(
    "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'",
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await owner.query<{ text: string | null }>(
      `select string_agg(stored::text, E'\\n') as text from ${name} as stored`,
    )
    texts.push(rows[0]?.text ?? '')
  }
  return texts.join('\n')
}
