import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'

/** One-time set-up of an installation by a role that may create databases and roles. */

/** Duplicate database: two callers may both find it absent. */
const DUPLICATE_DATABASE = '42P04'

const DATABASE_EXISTS = 'select 1 from pg_database where datname = $1'

/** Creates the database unless it exists. `template` names a database to copy, which must have no connections. */
export async function createDatabaseIfAbsent(adminUrl: string, name: string, template?: string): Promise<void> {
  await withOwnClient(adminUrl, async (client) => {
    const { rowCount } = await client.query(DATABASE_EXISTS, [name])
    if (rowCount !== 0) return
    // Utility statements take no parameters.
    const from = template === undefined ? '' : ` template ${pg.escapeIdentifier(template)}`
    await client.query(`create database ${pg.escapeIdentifier(name)}${from}`).catch((error: unknown) => {
      if (!(error instanceof pg.DatabaseError && error.code === DUPLICATE_DATABASE)) throw error
    })
  })
}

type Group = 'gateway' | 'jobs' | 'operator' | 'backup' | 'migration'

/** URLs of one database, each with the rights of one group role of the schema: `evidence_gateway`, and so on. */
export type LoginUrls = Readonly<Record<`${Group}Url`, string>>

const createRoleSql = (role: string, attribute: 'login' | 'nologin'): string => `
do $$ begin
  create role ${role} ${attribute};
exception when duplicate_object or unique_violation then null; end $$;`

// An existing role gets the new password; only the first installation creates it. Migrations create group roles.
const loginSql = (group: Group, password: string): string => `
${createRoleSql(`evidence_${group}`, 'nologin')}
${createRoleSql(`evidence_${group}_login`, 'login')}
alter role evidence_${group}_login login ${group === 'migration' ? 'createrole' : 'nocreaterole'}
  password ${pg.escapeLiteral(password)};
grant evidence_${group} to evidence_${group}_login;`

const OWN_DATABASE = `
do $$ begin
  execute format('alter database %I owner to evidence_migration', current_database());
end $$;`

/**
 * Creates the group roles and a login role for each, sets new random passwords, and returns URLs like `adminUrl` for
 * them. The database need not be migrated; its owner becomes `evidence_migration`. Roles belong to the whole cluster,
 * so earlier URLs stop working.
 */
export async function provisionLogins(adminUrl: string): Promise<LoginUrls> {
  return withOwnClient(adminUrl, async (client) => {
    const urlOf = async (group: Group): Promise<string> => {
      const password = randomBytes(24).toString('hex')
      await client.query(loginSql(group, password))
      const url = new URL(adminUrl)
      url.username = `evidence_${group}_login`
      url.password = password
      return url.href
    }
    const urls = {
      gatewayUrl: await urlOf('gateway'),
      jobsUrl: await urlOf('jobs'),
      operatorUrl: await urlOf('operator'),
      backupUrl: await urlOf('backup'),
      migrationUrl: await urlOf('migration'),
    }
    await client.query(OWN_DATABASE)
    return urls
  })
}

/** Whether the server accepts a connection and answers within `databaseProbeTimeoutMs`. */
export async function isReachable(url: string): Promise<boolean> {
  const timeoutMs = DATABASE_BOUNDS.databaseProbeTimeoutMs
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

/** Lends a connection of its own, without time limits. */
export async function withOwnClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: DATABASE_BOUNDS.provisionConnectTimeoutMs,
  })
  // The statement that runs rejects; an error event without a listener would end the process.
  client.on('error', () => undefined)
  await client.connect()
  await using ending = new AsyncDisposableStack()
  ending.defer(() => client.end())
  return await work(client)
}
