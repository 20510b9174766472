import { expect, test } from 'vitest'
import { z } from 'zod'
import { listAudit } from '#core/db/audit.ts'
import { keyDigest, keyIsWellFormed } from '#core/credentials/api-key.ts'
import { grantEntitlement } from '#operator/actions/entitlements.ts'
import { issueKeyFor, revokeKeyNow, rotateKey } from '#operator/actions/api-keys.ts'
import { createClient, createKnowledgeBase, createOrganization } from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import { everythingStored, openOperatorHarness } from '#test/support/operator-cli.ts'

const harness = await openOperatorHarness()
const { cli, operator, owner, peppers, serviceSecrets } = harness
const issuedSchema = z.object({
  id: z.uuid(),
  key: z.string(),
  prefix: z.string(),
  environment: z.string(),
  scopes: z.array(z.string()),
  expires_at: z.coerce.date(),
})
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

await createOrganization(operator, { name: 'Harbour Bank', serviceSecrets })
await createClient(operator, { organization: 'Harbour Bank', name: 'Advice Desk' })
await createPlan(operator, { name: 'beta' })
await createKnowledgeBase(operator, { slug: 'rules', title: 'Rules' })
await grantEntitlement(operator, {
  client: 'Advice Desk',
  environment: 'test',
  knowledgeBase: 'rules',
  plan: 'beta',
  languages: ['en'],
  jurisdictions: ['HS-M'],
  subjects: null,
})

function issue(
  further: { readonly expiresInDays?: number; readonly scopes?: readonly string[] } = {},
): ReturnType<typeof issueKeyFor> {
  return issueKeyFor(operator, { client: 'Advice Desk', environment: 'test', peppers, ...further })
}

/** As a gateway would look it up now. */
async function accepted(key: string): Promise<boolean> {
  const [pepper] = peppers
  if (pepper === undefined) throw new Error('no pepper')
  const { rowCount } = await owner.query(
    'select 1 from api_keys where digest = $1 and revoked_at is null and expires_at > now()',
    [keyDigest(key, pepper)],
  )
  return rowCount === 1
}

test('a key is printed once and stored nowhere: not in any table, list or audit row', async () => {
  const issued = issuedSchema.parse(await cli.json('keys issue --client "Advice Desk" --environment test'))
  expect(keyIsWellFormed(issued.key)).toBe(true)
  expect(issued).toMatchObject({ environment: 'test', scopes: ['retrieval:read'] })
  expect(Math.round((issued.expires_at.getTime() - Date.now()) / DAY_MS)).toBe(365)
  expect(await accepted(issued.key)).toBe(true)

  const stored = await everythingStored(owner)
  expect(stored).toContain(issued.prefix)
  for (const form of [issued.key, issued.key.slice(issued.prefix.length), Buffer.from(issued.key).toString('hex')])
    expect(stored.includes(form)).toBe(false)

  const [pepper] = peppers
  const digest = pepper === undefined ? '' : keyDigest(issued.key, pepper).toString('hex')
  expect(stored).toContain(digest)
  const listed = JSON.stringify(await cli.json('keys list'))
  expect(listed).toContain(issued.prefix)
  expect(listed).not.toContain(digest)
  expect(listed).not.toContain(issued.key.slice(issued.prefix.length))
  await cli.json('organizations suspend "Harbour Bank"')
  expect(await cli.json('keys list')).toMatchObject([{ state: 'suspended' }])
  await cli.json('organizations resume "Harbour Bank"')
})

test('for people the key stands alone on the first line', async () => {
  const { code, stdout } = await cli.run(
    'keys issue --client "Harbour Bank/Advice Desk" --environment test --expires-in-days 1 --scopes none',
  )
  expect(code).toBe(0)
  expect(keyIsWellFormed(stdout.split('\n')[0] ?? '')).toBe(true)
  expect(stdout).toMatch(/This is the only time the key is shown.*cannot retrieve without retrieval:read\.\n$/)
})

test('a key is refused to a client without an entitlement in that environment', async () => {
  expect(await cli.refused('keys issue --client "Advice Desk" --environment live')).toBe(
    '"Advice Desk" has no entitlement in live: approve one with "operator entitlements grant" before issuing a key.\n',
  )
})

test.each([0, 731, 1.5, Number.NaN])('a life of %d days is refused', async (expiresInDays) => {
  await expect(issue({ expiresInDays })).rejects.toThrow(
    'A key is valid for 1 to 730 whole days: choose an expiry in this range.',
  )
})

test('a scope of another shape is refused', async () => {
  await expect(issue({ scopes: ['retrieval'] })).rejects.toThrow('Scopes look like retrieval:read')
})

test(
  'a rotated key and its successor work side by side until the overlap ends, and the successor ' +
    'inherits environment and scopes',
  async () => {
    const old = await issue({ scopes: ['retrieval:read', 'other:read'] })
    const successor = issuedSchema
      .extend({ replaces: z.object({ id: z.uuid(), expires_at: z.coerce.date() }) })
      .parse(await cli.json(`keys rotate ${old.id} --overlap-hours 2`))
    expect(successor).toMatchObject({
      environment: 'test',
      scopes: ['retrieval:read', 'other:read'],
      replaces: { id: old.id },
    })
    expect([await accepted(old.key), await accepted(successor.key)]).toEqual([true, true])
    expect(Math.abs(successor.replaces.expires_at.getTime() - Date.now() - 2 * HOUR_MS)).toBeLessThan(HOUR_MS)
    await owner.query("update api_keys set expires_at = expires_at - interval '2 hours 1 minute' where id = $1", [
      old.id,
    ])
    expect([await accepted(old.key), await accepted(successor.key)]).toEqual([false, true])
  },
)

test('without an overlap the old key ends at once; an overlap never lengthens a life', async () => {
  const first = await issue({ expiresInDays: 1 })
  const second = await rotateKey(operator, { key: first.id, overlapHours: 720, expiresInDays: 1, peppers })
  expect(second.replaces.expires_at).toEqual(first.expires_at)
  await rotateKey(operator, { key: second.id, overlapHours: 0, peppers })
  expect(await accepted(second.key)).toBe(false)
  await expect(rotateKey(operator, { key: second.id, peppers })).rejects.toThrow(
    /is expired, there is nothing to rotate: issue a new one/,
  )
})

test('a revoked key is refused at once and can neither be revoked nor rotated again', async () => {
  const issued = await issue()
  expect(await cli.run('keys revoke', issued.id)).toMatchObject({ code: 0, stderr: '' })
  expect(await accepted(issued.key)).toBe(false)
  await expect(revokeKeyNow(operator, issued.id)).rejects.toThrow('is revoked already: nothing was changed.')
  await expect(rotateKey(operator, { key: issued.id, peppers })).rejects.toThrow(
    'is revoked, there is nothing to rotate',
  )
})

test('naming a key by the key itself is refused without repeating it', async () => {
  const issued = await issue()
  const stderr = await cli.refused('keys revoke', issued.key)
  expect(stderr).toContain('keep the key itself out of your shell history')
  expect(stderr).not.toContain(issued.key)
  expect(await accepted(issued.key)).toBe(true)
})

test('issue, rotation and revocation each leave one audit row with actor and prefix', async () => {
  const issued = await issue()
  const rotated = await rotateKey(operator, { key: issued.id, peppers })
  await revokeKeyNow(operator, issued.id)
  const rows = await listAudit(operator.database, { action: 'key', limit: 3 })
  expect(rows.map(({ actor, action, subject }) => [actor, action, subject])).toEqual([
    ['tester', 'key.revoke', `key:${issued.id}`],
    ['tester', 'key.rotate', `key:${rotated.id}`],
    ['tester', 'key.issue', `key:${issued.id}`],
  ])
  expect(rows[1]?.detail).toMatchObject({ prefix: rotated.prefix, replaces: { id: issued.id } })
  expect(await listAudit(operator.database, { about: issued.id, limit: 10 })).toHaveLength(3)
})

test('no statement revives a key or lengthens its life, and one that ends it is in the trail without any command', async () => {
  const issued = await issue()
  const change = (what: string): Promise<unknown> =>
    operator.database.query(`update api_keys set ${what} where id = $1`, [issued.id])
  await expect(change("expires_at = expires_at + interval '1 second'")).rejects.toThrow('only becomes earlier')
  await change("expires_at = expires_at - interval '1 day'")
  await change('revoked_at = now()')
  for (const revived of ['revoked_at = null', 'revoked_at = now()'])
    await expect(change(revived)).rejects.toThrow('the revocation of a key is final')
  const rows = await listAudit(operator.database, { about: issued.id, limit: 10 })
  expect(rows.map(({ action }) => action)).toEqual(['key.change', 'key.change', 'key.issue'])
  expect(rows[0]?.detail).toMatchObject({ revoked_at: expect.any(String) })
})

test('plans and ledger entries are not changed or removed, whoever asks', async () => {
  for (const table of ['plans', 'ledger'])
    for (const statement of [
      `update ${table} set created_at = now()`,
      `delete from ${table}`,
      `truncate ${table} cascade`,
    ])
      await expect(owner.query(statement.replace('ledger set created_at', 'ledger set appended_at'))).rejects.toThrow(
        `a row of ${table} is never changed`,
      )
})
