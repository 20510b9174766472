import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { auditHeadSchema, readAuditHead, type AuditHead } from '#core/db/audit.ts'
import { inTransaction, type Queryable } from '#core/db/pool.ts'
import type { ReviewStatement } from '#core/domain/review-statements.ts'
import { listReviewers } from '#core/db/reviewers.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { verifyAudit } from '#operator/commands/audit.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { ARTIFACT_KEYS, insertVersion } from '#test/support/version-rows.ts'
import { createTestKey, insertSignedReview } from '#test/support/reviews.ts'
import { folderOfFile } from '#test/support/folder.ts'

const ENTRIES = 2_345
const DAY = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`

const folder = folderOfFile()
const harness = await openOperatorHarness({
  ARTIFACT_STORE: pathToFileURL(join(folder, 'store')).href,
  MANIFEST_PUBLIC_KEY: ARTIFACT_KEYS.publicKeyDer.toString('base64'),
})
const { cli, owner } = harness
const { database } = harness.operator
let head: AuditHead

test('an empty trail is valid, and its head is that of no entry', async () => {
  expect(await cli.run('audit verify')).toMatchObject({ code: 0, stdout: 'The audit trail is empty.\n' })
  expect(await cli.run('audit head')).toMatchObject({ code: 0, stdout: `0:${'0'.repeat(64)}\n` })
})

describe('a trail of several batches', () => {
  beforeAll(async () => {
    await database.query(
      "insert into audit (actor, action, subject) select 'actor ' || n, 'test.act', 'test:' || n " +
        'from generate_series(1, $1) n',
      [ENTRIES],
    )
    head = await readAuditHead(database)
  })

  test('is verified with its number of entries, their time and its head, and the command ends with 0', async () => {
    const { code, stdout } = await cli.run('audit verify', '--from-head', `${head.seq}:${head.hash}`)
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`^${ENTRIES} entries from ${DAY} to ${DAY}, head ${ENTRIES}:[0-9a-f]{64}\n$`))
    expect(stdout).toContain(head.hash)
    expect(auditHeadSchema.parse(await cli.json('audit head'))).toEqual(head)
    expect(await cli.run('audit head')).toMatchObject({ stdout: `${head.seq}:${head.hash}\n` })
  })

  test('is listed with the number and the login of each entry', async () => {
    expect(await cli.json('audit list', '--rows', '1')).toMatchObject([
      { seq: ENTRIES, actor: `actor ${ENTRIES}`, login: 'evidence_operator_login' },
    ])
  })

  const ORDERED = 'set seq = case seq when 1200 then 1201 else 1200 end where seq in (1200, 1201)'
  const REHASH = 'update audit a set hash = audit_hash(a) where seq = 1200'

  const altered: Readonly<Record<string, readonly [statement: string, sentence: string]>> = {
    'the actor': ["update audit set actor = 'nobody' where seq = 1200", 'Entry 1200 was altered'],
    'the time': ["update audit set at = at - interval '1 microsecond' where seq = 1200", 'Entry 1200 was altered'],
    'the login': ["update audit set login = 'other' where seq = 1200", 'Entry 1200 was altered'],
    'the detail': [`update audit set detail = '{"a": 1}' where seq = 1200`, 'Entry 1200 was altered'],
    'the border of two fields': [
      'update audit set action = action || left(subject, 1), subject = substr(subject, 2) where seq = 1200',
      'Entry 1200 was altered',
    ],
    'the actor, with a hash that fits': [
      `update audit set actor = 'nobody' where seq = 1200; ${REHASH}`,
      'Entry 1201 does not continue entry 1200',
    ],
    'an entry that was removed': [
      'delete from audit where seq = 1200',
      'Entry 1200 is missing: entry 1201 comes after',
    ],
    'a first entry that was removed': ['delete from audit where seq = 1', 'Entry 1 is missing: entry 2 comes after'],
    'an entry that was removed, and the rest numbered again': [
      'delete from audit where seq = 1200; update audit set seq = -seq where seq > 1200; ' +
        'update audit set seq = -seq - 1 where seq < 0',
      'Entry 1200 was altered',
    ],
    'an inserted entry': [
      'insert into audit (seq, at, login, actor, action, subject, previous_hash, hash) ' +
        "select 0, now(), 'x', 'x', 'x', 'x', hash, hash from audit where seq = 1",
      'Entry 0 was inserted',
    ],
    'an entry in the middle, with a hash that fits, and the rest numbered again': [
      'update audit set seq = -seq where seq >= 1200; update audit set seq = 1 - seq where seq < 0; ' +
        'insert into audit (seq, at, login, actor, action, subject, previous_hash, hash) ' +
        `select 1200, now(), 'x', 'x', 'x', 'x', hash, hash from audit where seq = 1199; ${REHASH}`,
      'Entry 1201 was altered',
    ],
    'two entries that changed places': [
      `alter table audit drop constraint audit_pkey; update audit ${ORDERED}`,
      'Entry 1200 was altered',
    ],
    'everything from one entry on, written again': [
      `update audit set actor = 'nobody' where seq = 1200; ${rewrittenFrom(1200)}`,
      `The head given names another hash of entry ${ENTRIES}: the trail was rewritten`,
    ],
    'the last entries, removed': [
      'delete from audit where seq > 2340',
      `The head given names entry ${ENTRIES}, which was removed from the end`,
    ],
    'every entry, removed': ['delete from audit', `The head given names entry ${ENTRIES}, which was removed`],
  }
  test.each(Object.entries(altered))(
    'that was altered is found and the first broken entry named: %s',
    async (_, [statement, sentence]) => {
      await tampered(statement, async (client) => {
        await expect(verifyAudit(client, head)).rejects.toThrow(sentence)
      })
      expect(await verifyAudit(owner, head)).toMatchObject({ entries: ENTRIES, head, heads_found: 1 })
    },
  )

  test('is read on in batches, and the progress tells how far', async () => {
    const seen: number[] = []
    await verifyAudit(database, undefined, (entries) => seen.push(entries))
    expect(seen).toEqual([1000, 2000, ENTRIES])
  })

  test.each(['12', `1:${'g'.repeat(64)}`, `-1:${'0'.repeat(64)}`, `1:${'0'.repeat(63)}`])(
    'refuses %s as a head, with its form',
    async (given) => {
      expect(await cli.run('audit verify', `--from-head=${given}`)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--from-head must be a number, ":" and 64 hex digits'),
      })
    },
  )
})

test('a signed review keeps the head of its time: what was removed from the end or rewritten is found', async () => {
  const key = join(folder, 'key.pem')
  await createKnowledgeBase(harness.operator, { slug: 'rules', title: 'Rules' })
  writeFileSync(`${key}.pub`, (await cli.run('reviewers keygen --out', key)).stdout)
  await cli.json('reviewers add First --public-key', `${key}.pub`)
  const { version } = await insertVersion(owner, { slug: 'rules', state: 'candidate', passages: 1 })
  const { seq } = await readAuditHead(owner)
  await cli.json(`review sign ${version} --key ${key} --verdict rejected --note No.`)
  expect(await verifyAudit(database, undefined)).toMatchObject({ heads_found: 1 })
  const [row] = await listReviewers(owner, 10)
  if (row === undefined) throw new Error('there is no reviewer')
  const forger = { id: row.id, name: row.name, key: createTestKey() }
  const audit_head = { seq: 1, hash: 'f'.repeat(64) }
  const alter = (same: ReviewStatement): ReviewStatement => ({ ...same, audit_head })
  await insertSignedReview(database, version, { verdict: 'rejected', reviewer: forger, alter })
  expect(await cli.run('audit verify')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\nReview [0-9a-f-]{36} is ignored: no verified reviewer signed it\.\n$/),
  })
  for (const [statement, sentence] of [
    [`delete from audit where seq >= ${seq}`, `names entry ${seq}, which was removed from the end`],
    [`update audit set actor = 'x' where seq = ${seq}; ${rewrittenFrom(seq)}`, `names another hash of entry ${seq}`],
  ] as const)
    await tampered(statement, async (client) => {
      await expect(verifyAudit(client, undefined)).rejects.toThrow(new RegExp(`^Review [0-9a-f-]{36} ${sentence}`))
    })
})

/** The last test: it leaves the trail broken. */
test('a broken trail ends the command with 1 and one sentence that says what to do', async () => {
  await withoutGuards(owner, "update audit set actor = 'nobody' where seq = 1", [])
  expect(await cli.refused('audit verify')).toMatch(
    /Entry 1 was altered: its fields do not have its hash\. The audit trail is broken: compare it with a backup/,
  )
})

/** The chain as somebody who knows how it is made would write it again, from one entry on. */
function rewrittenFrom(seq: number): string {
  return `do $$ declare entry audit; last bytea; begin
    select hash into last from audit where seq = ${seq - 1};
    for entry in select a.* from audit a where seq >= ${seq} order by seq loop
      entry.previous_hash := last;
      last := audit_hash(entry);
      update audit set previous_hash = entry.previous_hash, hash = last where seq = entry.seq;
    end loop; end $$`
}

/** Runs `look` on a trail that was changed behind the guards, then takes the change back. */
async function tampered(statement: string, look: (client: Queryable) => Promise<void>): Promise<void> {
  const undone = new Error(randomUUID())
  await inTransaction(owner, async (client) => {
    await client.query(`set local session_replication_role = replica; ${statement}`)
    await look(client)
    throw undone
  }).catch((error: unknown) => {
    if (error !== undone) throw error
  })
}
