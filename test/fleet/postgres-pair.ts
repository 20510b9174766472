import { execFile } from 'node:child_process'
import { appendFileSync, chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { createSchema, startPostgres, type LocalPostgres } from '#operator/demo/local/postgres.ts'
import { withClient } from '#test/support/postgres.ts'
import { startFaultProxy, type FaultProxy } from '#test/support/proxy.ts'
import { until } from '#test/support/until.ts'

const DATABASE = 'evidence'

/**
 * A Postgres with a synchronous replica, so that a promotion loses nothing that was confirmed. Whoever connects does so
 * through a proxy of its own at the host's address, which leads to the primary.
 */
export async function startPostgresPair(folder: string, host: string) {
  let numbers = 0
  const proxies: FaultProxy[] = []
  const proxied = async (url: string): Promise<FaultProxy> => {
    const proxy = await startFaultProxy(url, host)
    proxies.push(proxy)
    return proxy
  }
  const folderOf = (number: number): string => join(folder, `postgres-${number}`)
  let primary = { postgres: await startPostgres({ folder: folderOf(0) }), folder: folderOf(0) }
  const logins = await createSchema(primary.postgres, DATABASE)
  const replication = await proxied(primary.postgres.adminUrl('postgres'))
  let replica = await addReplica()

  async function addReplica(): Promise<typeof primary> {
    const to = folderOf(++numbers)
    await copyCluster(primary.postgres, primary.folder, to, replication.url)
    const postgres = await startPostgres({ folder: to })
    await withClient(primary.postgres.adminUrl('postgres'), async (client) => {
      await client.query(`alter system set synchronous_standby_names = '*'`)
      await client.query('select pg_reload_conf()')
      await until('the replica confirms what is committed', async () => {
        const { rows } = await client.query(`select from pg_stat_replication where sync_state = 'sync'`)
        return rows.length === 1
      })
    })
    return { postgres, folder: to }
  }
  const lead = (): void => {
    for (const proxy of proxies) proxy.retarget(primary.postgres.adminUrl(DATABASE))
  }
  return {
    logins,
    ownerUrl: () => primary.postgres.adminUrl(DATABASE),
    proxied,
    /** Kills the primary. */
    kill: () => primary.postgres.kill(),
    /** After `kill`: the same server starts again, and the replica follows it. */
    async restart() {
      primary = { ...primary, postgres: await startPostgres({ folder: primary.folder }) }
      lead()
    },
    /** After `kill`: the replica becomes the primary. */
    async promote() {
      await withClient(replica.postgres.adminUrl('postgres'), (client) => client.query('select pg_promote(true, 60)'))
      const old = primary
      primary = replica
      lead()
      await rm(old.folder, { recursive: true, force: true })
    },
    /** After `promote`: a new replica follows the new primary. */
    async renew() {
      replica = await addReplica()
    },
    async stop() {
      await Promise.all(proxies.map((proxy) => proxy.stop()))
      await Promise.all([primary, replica].map(({ postgres }) => postgres.stop()))
    },
  }
}

/** A copy of a running cluster that follows it once it is started, as `pg_basebackup` makes one. */
async function copyCluster(from: LocalPostgres, fromFolder: string, to: string, url: string): Promise<void> {
  mkdirSync(to, { mode: 0o755 })
  await withClient(from.adminUrl('postgres'), async (client) => {
    await client.query(`select pg_backup_start('replica', true)`)
    await promisify(execFile)('cp', ['-a', join(fromFolder, 'cluster'), join(fromFolder, 'password'), to])
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    const [{ labelfile }] = z.tuple([z.object({ labelfile: z.string() })]).parse(rows)
    const cluster = join(to, 'cluster')
    const { hostname, port, username, password } = new URL(url)
    const primary = `host=${hostname} port=${port} user=${username} password=${password}`
    rmSync(join(cluster, 'postmaster.pid'), { force: true })
    appendFileSync(
      join(cluster, 'postgresql.auto.conf'),
      `\nprimary_conninfo = '${primary}'\nsynchronous_standby_names = ''\n`,
    )
    const { uid, gid } = statSync(cluster)
    for (const [name, text] of [
      ['backup_label', labelfile],
      ['standby.signal', ''],
    ] as const) {
      writeFileSync(join(cluster, name), text, { mode: 0o600 })
      chownSync(join(cluster, name), uid, gid)
    }
  })
}
