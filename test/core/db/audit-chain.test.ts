import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { EMPTY_AUDIT_HEAD, appendAudit, readAuditHead, chainFault, readAuditChain } from '#core/db/audit.ts'
import type { ChainedEntry } from '#core/db/audit.ts'
import { inTransaction, type Queryable } from '#core/db/pool.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { until } from '#test/support/until.ts'

/** The owner is the superuser: the chain holds for it as for everybody. */
const { database, owner, jobs, operator } = await openTestPools()

async function trail(client: Queryable): Promise<readonly ChainedEntry[]> {
  const entries: ChainedEntry[] = []
  for await (const batch of readAuditChain(client)) entries.push(...batch)
  return entries
}

/** Faults of the chain from its first entry on. */
async function faults(client: Queryable): Promise<readonly string[]> {
  const entries = await trail(client)
  return entries.flatMap((entry, index) => {
    const before = entries[index - 1]
    return chainFault(before === undefined ? EMPTY_AUDIT_HEAD : before, entry) ?? []
  })
}

describe('the audit trail', () => {
  test('numbers entries densely and gives each the hash that Node computes, whatever text they hold', async () => {
    const texts = ['', 'key.revoke', 'Überprüfung', '🗝', 'a\u0001b', 'x'.repeat(70_000)]
    for (const actor of texts)
      await appendAudit(jobs, { actor, action: actor, subject: `${actor}:1`, detail: { [actor]: [1e21, null, actor] } })
    const entries = await trail(owner)
    expect(entries.map(({ seq }) => seq)).toEqual(texts.map((_, index) => index + 1))
    expect(entries.map(({ actor }) => actor)).toEqual(texts)
    expect(await faults(owner)).toEqual([])
    const last = entries.at(-1)
    expect(await readAuditHead(operator)).toEqual({ seq: last?.seq, hash: last?.hash })
  })

  test('keeps the login of the session that wrote an entry, whatever actor it names', async () => {
    await appendAudit(operator, { actor: 'jobs', action: 'test.login', subject: 'test:1' })
    await appendAudit(jobs, { actor: 'operator', action: 'test.login', subject: 'test:1' })
    const { rows } = await owner.query("select actor, login from audit where action = 'test.login' order by seq")
    expect(rows).toEqual([
      { actor: 'jobs', login: 'evidence_operator_login' },
      { actor: 'operator', login: 'evidence_jobs_login' },
    ])
  })

  test('stays one chain without a gap when many transactions append at once and some roll back', async () => {
    const { seq: before } = await readAuditHead(owner)
    const attempts = Array.from({ length: 60 }, async (_, index) => {
      const pool = index % 2 === 0 ? jobs : operator
      await inTransaction(pool, async (client) => {
        await appendAudit(client, { actor: 'x', action: 'test.race', subject: `test:${index}` })
        if (index % 3 === 0) throw new Error('rolled back')
      }).catch((error: unknown) => {
        if (!(error instanceof Error) || error.message !== 'rolled back') throw error
      })
    })
    await Promise.all(attempts)
    expect((await readAuditHead(owner)).seq).toBe(before + 40)
    expect(await faults(owner)).toEqual([])
  })

  test('orders entries by the time they were chained, not by the start of their transactions', async () => {
    const [early, late] = [new pg.Client(database.jobsUrl), new pg.Client(database.jobsUrl)]
    await Promise.all([early.connect(), late.connect()])
    try {
      await early.query('begin; select now()')
      await appendAudit(late, { actor: 'late', action: 'test.order', subject: 'test:1' })
      await appendAudit(early, { actor: 'early', action: 'test.order', subject: 'test:1' })
      await early.query('commit')
    } finally {
      await Promise.all([early.end(), late.end()])
    }
    const { rows } = await owner.query<{ actor: string }>(
      "select actor from audit where action = 'test.order' order by at",
    )
    expect(rows.map(({ actor }) => actor)).toEqual(['late', 'early'])
  })

  test('is held up by no lock that another login can take, and a writer who waits too long is told', async () => {
    const gateway = new pg.Client(database.gatewayUrl)
    await gateway.connect()
    try {
      await gateway.query("select pg_advisory_lock(hashtextextended('audit chain', 0))")
      await expect(gateway.query('select seq from audit_head for update')).rejects.toThrow('permission denied')
      await appendAudit(operator, { actor: 'a', action: 'test.held', subject: 'test:1' })
    } finally {
      await gateway.end()
    }
    await owner.query("alter function append_to_audit_chain() set lock_timeout = '50ms'")
    const entry = { actor: 'a', action: 'test.held', subject: 'test:2' } as const
    await inTransaction(owner, async (client) => {
      await appendAudit(client, entry)
      await expect(appendAudit(operator, entry)).rejects.toThrow(
        'The audit trail is locked by another session, and nothing was changed: repeat the command',
      )
    })
    await owner.query("alter function append_to_audit_chain() set lock_timeout = '10s'")
    expect(await faults(owner)).toEqual([])
  })

  test('has a writer wait for the transaction that appended before it', async () => {
    await inTransaction(jobs, async (client) => {
      await appendAudit(client, { actor: 'first', action: 'test.wait', subject: 'test:1' })
      const second = appendAudit(operator, { actor: 'second', action: 'test.wait', subject: 'test:1' })
      await until('the second writer to wait for the chain', async () => {
        const { rowCount } = await owner.query(
          "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        return rowCount === 1
      })
      await client.query('commit')
      await second
    })
    const { rows } = await owner.query("select actor from audit where action = 'test.wait' order by seq")
    expect(rows).toEqual([{ actor: 'first' }, { actor: 'second' }])
  })

  test.each([
    ["update audit set actor = 'nobody' where false", 'update'],
    ['delete from audit', 'delete'],
    ['truncate audit', 'truncate'],
  ])('refuses %s to everybody, the owner of the schema and a superuser included', async (statement) => {
    for (const url of [database.migrationUrl, database.ownerUrl]) {
      await using ending = new AsyncDisposableStack()
      const client = ending.adopt(new pg.Client({ connectionString: url }), (it) => it.end())
      await client.connect()
      await expect(client.query(statement)).rejects.toThrow('an entry of the audit trail is never changed or removed')
    }
  })

  test.each([
    ['seq', '1'],
    ['login', "'x'"],
    ['previous_hash', "sha256('x')"],
    ['hash', "sha256('x')"],
    ['at', "now() - interval '1 day'"],
  ])('lets neither jobs nor operator set %s, and stays one chain when a superuser does', async (column, value) => {
    const statement = `insert into audit (actor, action, subject, ${column}) values ('x', 'x', 'x', ${value})`
    for (const pool of [jobs, operator])
      await expect(pool.query(statement)).rejects.toThrow('permission denied for table audit')
    await owner.query(statement)
    expect(await faults(owner)).toEqual([])
  })
})
