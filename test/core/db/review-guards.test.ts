import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { insertKnowledgeBase } from '#core/db/knowledge-bases.ts'
import { inTransaction, openDatabase, type Database } from '#core/db/pool.ts'
import { listReviewPolicies, readStatedPolicy } from '#core/db/review-policies.ts'
import { listReviewers, retireReviewer } from '#core/db/reviewers.ts'
import type { ReviewPolicy } from '#core/domain/review-policy.ts'
import { createLog } from '#core/platform/log.ts'
import { verifyReviewers, type Registry } from '#jobs/review/reviewers.ts'
import { openTestDatabase, openTestPools, withoutGuards } from '#test/support/postgres.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'
import { insertVersion } from '#test/support/version-rows.ts'
import {
  createTestKey,
  firstReviewer,
  insertSignedPolicy,
  insertSignedReview,
  insertTestReviewer,
  makeComparable,
} from '#test/support/reviews.ts'
import type { TestReviewer } from '#test/support/reviews.ts'

/** What the operator's role cannot insert, nobody who operates can. */
const { database, owner, operator } = await openTestPools()
const base = { id: randomUUID(), slug: 'rules' }

function opened(url: string, connectionsMax: number): Database {
  const pool = openDatabase(url, createLog('test', 'silent'), connectionsMax, CALL_TIMEOUT_MS)
  onTestFinished(() => pool.end())
  return pool
}

/** A database of its own, as its operator and its owner see it. */
async function openOther(operatorConnections: number) {
  const other = await openTestDatabase()
  onTestFinished(() => other.drop())
  return { login: opened(other.operatorUrl, operatorConnections), superuser: opened(other.ownerUrl, 1) }
}

const first = await firstReviewer(owner)
await insertKnowledgeBase(owner, { ...base, title: 'Rules', as_of: null })

describe('a reviewer', () => {
  const endorsed = 'active reviewers endorse every reviewer but the first'

  test('is not added without the endorsement of an active reviewer, unless it is the first', async () => {
    await expect(insertTestReviewer(operator, 'unendorsed')).rejects.toThrow(endorsed)
    const unknown = { ...first, id: randomUUID() }
    await expect(insertTestReviewer(operator, 'by nobody', undefined, unknown)).rejects.toThrow(endorsed)
    const retired = await insertTestReviewer(operator, 'soon retired', undefined, first)
    await retireReviewer(operator, retired.id)
    await expect(insertTestReviewer(operator, 'by a retired one', undefined, retired)).rejects.toThrow(endorsed)
  })

  test('comes in the order of insertion, at the time of Postgres', async () => {
    const next = await insertTestReviewer(operator, 'next', undefined, first)
    const rows = await listReviewers(owner, 100)
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, at) => at + 1))
    expect(rows.at(-1)).toMatchObject({ id: next.id, endorsements: [{ reviewer: first.id }], retired_at: null })
  })

  test('keeps name and key for good', async () => {
    await expect(insertTestReviewer(operator, first.name, undefined, first)).rejects.toThrow('already')
    await expect(insertTestReviewer(operator, 'the same key', first.key, first)).rejects.toThrow('already')
  })

  test.each(['SECOND', 'Se\u200Bcond', '\uFF33econd', ' Second', 'Sec\u00ADond'])(
    'has one name however it is written: "%s" is "Second"',
    async (again) => {
      if ((await listReviewers(owner, 100)).every(({ name }) => name !== 'Second'))
        await insertTestReviewer(operator, 'Second', undefined, first)
      await expect(insertTestReviewer(operator, again, undefined, first)).rejects.toThrow('already')
    },
  )

  test('whose name is stored in another form than its own is not verified', async () => {
    const { id } = await insertTestReviewer(operator, 'Stored', undefined, first)
    const rows = await listReviewers(owner, 100)
    expect(verifyReviewers(rows, []).named('stored')?.id).toBe(id)
    const other = rows.map((row) => (row.id === id ? { ...row, name_key: 'another' } : row))
    expect(verifyReviewers(other, []).byId(id)).toBeUndefined()
  })

  test('is retired once, and changes nothing else', async () => {
    const { id } = await insertTestReviewer(operator, 'retired', undefined, first)
    expect(await retireReviewer(operator, id)).toBe(true)
    expect(await retireReviewer(operator, id)).toBe(false)
    await expect(owner.query('update reviewers set retired_at = null where id = $1', [id])).rejects.toThrow(
      'a reviewer is retired once, and the last active one never',
    )
    await expect(owner.query("update reviewers set login = 'other' where id = $1", [first.id])).rejects.toThrow(
      'a reviewer changes nothing but the time of retirement',
    )
    await expect(owner.query('delete from reviewers where id = $1', [id])).rejects.toThrow('never deleted')
  })

  test('who is the last active one is never retired', async () => {
    for (const { id, retired_at: at } of await listReviewers(owner, 100))
      if (at === null && id !== first.id) await retireReviewer(operator, id)
    await expect(retireReviewer(operator, first.id)).rejects.toThrow('the last active one never')
  })

  test('whom the owner of the schema adds after all keys were lost needs no endorsement, and is verified', async () => {
    const migration = opened(database.migrationUrl, 1)
    const next = await insertTestReviewer(migration, 'after the loss')
    const rows = await listReviewers(owner, 100)
    expect(rows.find(({ id }) => id === next.id)).toMatchObject({ added_by_owner: true, endorsements: [] })
    expect(verifyReviewers(rows, []).active.map(({ id }) => id)).toContain(next.id)
    const unmarked = rows.map((row) => (row.id === next.id ? { ...row, added_by_owner: false } : row))
    expect(verifyReviewers(unmarked, []).byId(next.id)).toBeUndefined()
    await retireReviewer(migration, next.id)
  })

  test('is not added without an endorsement by the operator where two retirements left nobody active', async () => {
    const { login, superuser } = await openOther(2)
    const real = await insertTestReviewer(login, 'real')
    const puppet = await insertTestReviewer(login, 'puppet', undefined, { ...real, key: createTestKey() })
    const skewed = inTransaction(login, async (client) => {
      await client.query('set transaction isolation level repeatable read')
      await client.query('select count(*) from reviewers')
      await retireReviewer(login, puppet.id)
      await retireReviewer(client, real.id)
    })
    await expect(skewed).rejects.toThrow('only at isolation level read committed')
    await withoutGuards(superuser, 'update reviewers set retired_at = now() where id = $1', [real.id])
    await expect(insertTestReviewer(login, 'stranger')).rejects.toThrow(endorsed)
    expect(verifyReviewers(await listReviewers(superuser, 10), []).active).toEqual([])
  })

  test('is held up by no lock that another login can take', async () => {
    const gateway = new pg.Client(database.gatewayUrl)
    onTestFinished(() => gateway.end())
    await gateway.connect()
    await gateway.query("select pg_advisory_lock(hashtextextended('reviewers', 0))")
    for (const statement of ['select lock_reviewers()', 'select changes from reviewers_head for update'])
      await expect(gateway.query(statement)).rejects.toThrow('permission denied')
    const { id } = await insertTestReviewer(operator, 'not held up', undefined, first)
    await retireReviewer(operator, id)
  })

  test('does not review after the retirement', async () => {
    const retired = await insertTestReviewer(operator, 'too late', undefined, first)
    const { version } = await insertVersion(owner, { slug: base.slug, state: 'candidate', passages: 1 })
    await makeComparable(owner, version)
    await retireReviewer(operator, retired.id)
    await expect(insertSignedReview(operator, version, { reviewer: retired })).rejects.toThrow(
      'an active reviewer reviews',
    )
  })
})

describe('an endorsement under a policy of several reviewers', () => {
  /**
   * A database of its own with three reviewers and a policy that requires all of them, in one of two knowledge bases.
   */
  async function openStrict(): Promise<{
    readonly operator: Database
    readonly three: readonly [TestReviewer, TestReviewer, TestReviewer]
    readonly registry: () => Promise<Registry>
    readonly lower: () => Promise<unknown>
  }> {
    const { login, superuser } = await openOther(1)
    const one = await insertTestReviewer(login, 'One')
    const three = [
      one,
      await insertTestReviewer(login, 'Two', undefined, one),
      await insertTestReviewer(login, 'Three', undefined, one),
    ] as const
    const [strict, lax] = [
      { id: randomUUID(), slug: 'strict' },
      { id: randomUUID(), slug: 'lax' },
    ]
    for (const { id, slug } of [strict, lax]) await insertKnowledgeBase(login, { id, slug, title: slug, as_of: null })
    const set = (seq: number, previous: string | null, reviewers: number): Promise<string> =>
      insertSignedPolicy(login, strict, { seq, previous, policy: { reviewers }, signers: three })
    const previous = await set(1, null, 3)
    return {
      operator: login,
      three,
      registry: async () =>
        verifyReviewers(await listReviewers(superuser, 100), await listReviewPolicies(superuser, 100)),
      lower: () => set(2, previous, 1),
    }
  }

  test('counts only with as many reviewers as the strictest policy of any knowledge base requires', async () => {
    const strict = await openStrict()
    const [one, two] = strict.three
    for (const few of [one, [one, two], [one, one, one]])
      await expect(insertTestReviewer(strict.operator, 'Puppet', undefined, few)).rejects.toThrow(
        'as many as the strictest policy requires',
      )
    const four = await insertTestReviewer(strict.operator, 'Four', undefined, strict.three)
    expect((await strict.registry()).byId(four.id)).toMatchObject({ name: 'Four' })
  })

  test('that claims signatures of others counts for nothing, also once the policy is lowered', async () => {
    const strict = await openStrict()
    const [own] = strict.three
    const claimed = strict.three.map((reviewer) => ({ ...reviewer, key: own.key }))
    const puppet = await insertTestReviewer(strict.operator, 'Puppet', undefined, claimed)
    expect((await strict.registry()).byId(puppet.id)).toBeUndefined()
    await strict.lower()
    const registry = await strict.registry()
    expect(registry.byId(puppet.id)).toBeUndefined()
    expect(registry.endorsersRequired).toBe(1)
    const next = await insertTestReviewer(strict.operator, 'Next', undefined, own)
    expect((await strict.registry()).byId(next.id)).toBeDefined()
  })
})

describe('a review', () => {
  test('is signed, about its own row, and never changed', async () => {
    const { version } = await insertVersion(owner, { slug: base.slug, state: 'candidate', passages: 1 })
    const another = await insertVersion(owner, { slug: base.slug, state: 'candidate', passages: 1 })
    await makeComparable(owner, version)
    await expect(
      operator.query(
        "insert into reviews (id, version_id, verdict, reviewer, note) values ($1, $2, 'approved', 'r', '')",
        [randomUUID(), version],
      ),
    ).rejects.toThrow('the statement is about another review')
    await expect(
      insertSignedReview(operator, version, { alter: (same) => ({ ...same, candidate: another.version }) }),
    ).rejects.toThrow('the statement is about another review')
    await insertSignedReview(operator, version)
    await expect(owner.query("update reviews set verdict = 'rejected'")).rejects.toThrow('never changed or deleted')
    await expect(owner.query('delete from reviews')).rejects.toThrow('never changed or deleted')
  })
})

describe('a review policy', () => {
  function insert(
    seq: number,
    policy: Partial<ReviewPolicy>,
    previous: string | null,
    signers: readonly TestReviewer[],
  ): Promise<string> {
    return insertSignedPolicy(operator, base, { seq, previous, policy, signers })
  }

  test('is signed by as many active reviewers as the one in force requires, and follows it', async () => {
    const few = 'a review policy is signed by as many active reviewers as the one in force requires'
    const second = await insertTestReviewer(owner, 'co-signer', undefined, first)
    await expect(insert(1, { limits: { passages_changed: 9 } }, null, [])).rejects.toThrow(few)
    expect((await readStatedPolicy(owner, base.id)).limits).toEqual({})
    const one = await insert(1, { reviewers: 2, limits: { passages_changed: 9 } }, null, [first])
    expect((await readStatedPolicy(owner, base.id)).limits).toEqual({ passages_changed: 9 })
    await expect(insert(2, {}, one, [first])).rejects.toThrow(few)
    await expect(insert(2, {}, one, [first, first])).rejects.toThrow(few)
    await expect(insert(3, {}, one, [first, second])).rejects.toThrow('follows the one in force')
    await insert(2, {}, one, [first, second])
    await expect(owner.query("update review_policies set signatures = '[]'")).rejects.toThrow('never changed')
    await expect(owner.query('delete from review_policies')).rejects.toThrow('never changed')
  })
})

test.each(['repeatable read', 'serializable'])('a version changes its state not at %s', async (level) => {
  const { version } = await insertVersion(owner, { slug: base.slug, state: 'candidate', passages: 1 })
  const changed = inTransaction(operator, async (client) => {
    await client.query(`set transaction isolation level ${level}`)
    await client.query("update corpus_versions set state = 'rejected' where id = $1", [version])
  })
  await expect(changed).rejects.toThrow('only at isolation level read committed')
})
