import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { BOUNDS } from '#core/platform/bounds.ts'

/** One-time set-up of an installation by a role that may create databases and roles. */

/** Duplicate database: two callers may both find it absent. */
const DUPLICATE_DATABASE = '42P04'

const DATABASE_EXISTS = 'select 1 from pg_database where datname = $1'

/** Creates the database unless it exists. `template` names a database to copy, which must have no connections. */
export async function createDatabaseIfAbsent(adminUrl: string, name: string, template?: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    const { rowCount } = await client.query(DATABASE_EXISTS, [name])
    if (rowCount !== 0) return
    // Utility statements take no parameters.
    const from = template === undefined ? '' : ` template ${pg.escapeIdentifier(template)}`
    await client.query(`create database ${pg.escapeIdentifier(name)}${from}`).catch((error: unknown) => {
      if (!(error instanceof pg.DatabaseError && error.code === DUPLICATE_DATABASE)) throw error
    })
  })
}

export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await withClient(adminUrl, (client) =>
    client.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`),
  )
}

export interface LoginUrls {
  /** Logs in with the rights of `evidence_service`: gateway and jobs. */
  readonly serviceUrl: string
  /** Logs in with the rights of `evidence_operator`: the command line. */
  readonly operatorUrl: string
}

/** Group role of the schema whose rights each login role has. */
const LOGINS = { evidence_app: 'evidence_service', evidence_admin: 'evidence_operator' } as const

// An existing role gets the new password; only the first installation creates it.
const loginSql = (login: string, group: string, password: string): string => `
do $$ begin
  create role ${login} login;
exception when duplicate_object or unique_violation then null; end $$;
alter role ${login} login password ${pg.escapeLiteral(password)};
grant ${group} to ${login};`

/**
 * Sets new random passwords for the two login roles and returns URLs like `adminUrl` for them. The database must be
 * migrated, because migrations create the group roles. Roles belong to the whole cluster, so earlier URLs stop working.
 */
export async function provisionLogins(adminUrl: string): Promise<LoginUrls> {
  const urls = { evidence_app: '', evidence_admin: '' }
  await withClient(adminUrl, async (client) => {
    for (const login of ['evidence_app', 'evidence_admin'] as const) {
      const password = randomBytes(24).toString('hex')
      await client.query(loginSql(login, LOGINS[login], password))
      const url = new URL(adminUrl)
      url.username = login
      url.password = password
      urls[login] = url.href
    }
  })
  return { serviceUrl: urls.evidence_app, operatorUrl: urls.evidence_admin }
}

/** Whether the server accepts a connection and answers within `timeoutMs`. */
export async function answers(url: string, timeoutMs: number = BOUNDS.databaseProbeTimeoutMs): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: BOUNDS.provisionConnectTimeoutMs })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
