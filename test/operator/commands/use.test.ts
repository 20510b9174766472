import { randomBytes, randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { inTransaction } from '#core/db/pool.ts'
import { usageReports } from '#core/db/usage.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { grantEntitlement } from '#operator/actions/entitlements.ts'
import { exposureOf } from '#operator/actions/exposure.ts'
import { createClient, createKnowledgeBase, createOrganization } from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { insertVersion } from '#test/support/version-rows.ts'

const harness = await openOperatorHarness()
const { cli, operator, owner, serviceSecrets } = harness

/** Clients Desk and Bot of Bank and Desk of Fund, each with a live entitlement to the knowledge base "rules". */
const exposure = { window_days: 30, floors: { corpus: 5, daily: 1 } }
await createPlan(operator, { name: 'beta', limits: { exposure } })
await createKnowledgeBase(operator, { slug: 'rules', title: 'Rules' })
for (const name of ['Bank', 'Fund']) await createOrganization(operator, { name, serviceSecrets })
for (const client of ['Bank/Desk', 'Bank/Bot', 'Fund/Desk']) {
  const [organization = '', name = ''] = client.split('/')
  await createClient(operator, { organization, name })
  const scope = { languages: ['en'], jurisdictions: ['HS-M'], subjects: null }
  await grantEntitlement(operator, { client, environment: 'live', knowledgeBase: 'rules', plan: 'beta', ...scope })
}

interface Use {
  readonly state?: 'delivered' | 'refunded' | 'failed'
  readonly decision?: 'answer' | 'abstain'
  readonly passages?: readonly string[]
  readonly bytes?: number
  readonly tokens?: number
}

/**
 * A finished request as gateway and ledger job leave it.
 * @param client ORGANIZATION/CLIENT. @param at the time of admission.
 */
async function use(client: string, at: string, { state = 'delivered', passages = [], ...given }: Use): Promise<void> {
  const outcome = {
    decision: given.decision ?? null,
    result_count: passages.length,
    response_bytes: given.bytes ?? 0,
    query_embedding_tokens: given.tokens ?? null,
  }
  const served = passages.map((chunk) => ({ chunk, document: randomUUID(), total: 10 }))
  const id = randomUUID()
  await inTransaction(owner, async (database) => {
    // Only the owner can set the guards aside: a reservation begins open otherwise.
    await database.query('set local session_replication_role = replica')
    await database.query(
      `insert into reservations (id, trace_id, organization_id, client_id, environment, api_key_id, entitlement_id,
       plan_id, knowledge_base_id, version_id,
       fingerprint, fingerprint_epoch, admitted_at, deadline_at, in_force_on, filters, state, finished_at, outcome, served)
     select $1, $1, c.organization_id, c.id, 'live', $1, e.id, e.plan_id, e.knowledge_base_id, $1, $3, 1,
       $4::timestamptz, $4::timestamptz, $4::date, '{}', $5, $4::timestamptz, $6, $7
     from clients c join organizations o on o.id = c.organization_id join entitlements e on e.client_id = c.id
       where o.name || '/' || c.name = $2`,
      [id, client, randomBytes(32), at, state, JSON.stringify(outcome), JSON.stringify(served)],
    )
    await database.query(
      `insert into ledger (reservation_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
       knowledge_base_id, version_id, trace_id,
       fingerprint, fingerprint_epoch, admitted_at, finished_at, state, charged, outcome)
     select id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id, knowledge_base_id,
       version_id, trace_id,
       fingerprint, fingerprint_epoch, admitted_at, finished_at, state, state <> 'refunded', outcome from reservations
         where id = $1`,
      [id],
    )
  })
}

const answer = (client: string, at: string, given: Omit<Use, 'decision'>): Promise<void> =>
  use(client, at, { decision: 'answer', ...given })

/** Long before what the tests of exposure serve. */
describe('usage report', () => {
  beforeAll(async () => {
    await answer('Bank/Desk', '2024-03-01T00:00:00Z', { passages: ['a', 'b'], bytes: 3_000, tokens: 12 })
    await use('Bank/Desk', '2024-03-01T23:59:59.999Z', { decision: 'abstain', bytes: 400, tokens: 9 })
    await use('Bank/Desk', '2024-03-02T08:00:00Z', { state: 'refunded' })
    await use('Bank/Desk', '2024-03-02T09:00:00Z', { state: 'failed' })
    await answer('Bank/Bot', '2024-03-02T10:00:00Z', { passages: ['a'], bytes: 1_500 })
    await answer('Fund/Desk', '2024-03-03T00:00:00Z', { passages: ['z'], bytes: 700, tokens: 5 })
  })

  test('counts, charges, decisions, refunds, passages, bytes and tokens add up per client, end exclusive', async () => {
    const report = z
      .object({ by: z.string(), rows: z.array(z.unknown()) })
      .parse(await cli.json('usage report --from 2024-03-01 --to 2024-03-03'))
    expect(report).toEqual({
      by: 'client',
      rows: [
        {
          group: 'Bank/Bot',
          requests: 1,
          charged: 1,
          answers: 1,
          abstentions: 0,
          refunds: 0,
          failures: 0,
          passages: 1,
          response_bytes: 1_500,
          query_embedding_tokens: null,
          requests_without_tokens: 1,
          reader_tokens: null,
          rewriting_tokens: null,
        },
        {
          group: 'Bank/Desk',
          requests: 4,
          charged: 3,
          answers: 1,
          abstentions: 1,
          refunds: 1,
          failures: 1,
          passages: 2,
          response_bytes: 3_400,
          query_embedding_tokens: 21,
          requests_without_tokens: 0,
          reader_tokens: null,
          rewriting_tokens: null,
        },
      ],
    })
  })

  test('the same requests by organization, knowledge base and UTC day', async () => {
    const [from, to] = [new Date('2024-03-01'), new Date('2024-03-04')]
    const by = async (group: 'organization' | 'knowledge-base' | 'day'): Promise<unknown> =>
      (await usageReports[group](operator.database, from, to, 10)).map((row) => [row.group, row.requests, row.charged])
    expect(await by('organization')).toEqual([
      ['Bank', 5, 4],
      ['Fund', 1, 1],
    ])
    expect(await by('knowledge-base')).toEqual([['rules', 6, 5]])
    expect(await by('day')).toEqual([
      ['2024-03-01', 2, 2],
      ['2024-03-02', 3, 2],
      ['2024-03-03', 1, 1],
    ])
  })

  test('tokens that nobody reported are a dash for people, never a zero', async () => {
    const { stdout } = await cli.run('usage report --by organization --from 2024-03-02 --to 2024-03-03')
    expect(stdout).toMatch(
      /organization +requests.*tokens +without tokens +rewriting tokens +reader tokens\nBank +3 .* – +1 +– +–\n$/,
    )
  })

  test('a report that shows only a part says so', async () => {
    const part = 'usage report --from 2024-03-01 --to 2024-04-01 --by day --rows 1'
    expect((await cli.run(part)).stdout).toContain('There are more rows than these 1: ask for more with --rows.')
    expect(await cli.json(part)).toMatchObject({ truncated: true, rows: [{}] })
  })

  test('an empty time is refused', async () => {
    expect(await cli.refused('usage report --from 2024-03-02 --to 2024-03-02')).toBe(
      'The time span is empty: give a --from before --to.\n',
    )
  })
})

describe('exposure', () => {
  /** Each midnight forgets passages, so what is not to be forgotten is served at the time of the test. */
  const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()
  const first = async (): Promise<unknown> =>
    (await exposureOf(operator.database, { organizationId: null, knowledgeBaseId: null, environment: null }, 1))[0]
  const epochs = async (): Promise<unknown> =>
    (await owner.query('select l.epoch from limit_epochs l join organizations o on o.id = l.organization_id')).rows
  const audited = async (action: string): Promise<unknown> =>
    (await owner.query('select detail from audit where action = $1', [action])).rows
  const EPOCH = '00000000-0000-4000-8000-000000000004'

  beforeAll(async () => {
    const { knowledgeBaseId: base, version } = await insertVersion(owner, {
      slug: 'rules',
      state: 'active',
      passages: 25,
    })
    await withoutGuards(owner, 'insert into active_versions (knowledge_base_id, version_id) values ($1, $2)', [
      base,
      version,
    ])
    await owner.query(
      "insert into limit_epochs (organization_id, epoch, redis_run_id) select id, $1, 'run' from organizations " +
        "where name = 'Bank'",
      [EPOCH],
    )
    await answer('Bank/Desk', daysAgo(31), { passages: ['old'] })
    await answer('Bank/Desk', daysAgo(0), { passages: ['a', 'b', 'c'] })
    await answer('Bank/Bot', daysAgo(0), { passages: ['b', 'c', 'd'] })
  })

  test('new passages of all clients of an organization count in a window, against the marks of the plan', async () => {
    // The soft mark is a fifth of the floor of 5; one passage is forgotten each day.
    const marks = { window_days: 30, exposure: 4, soft_mark: 1, hard_mark: 5, state: 'tightened' }
    expect(await cli.json('exposure show')).toMatchObject([
      { organization: 'Bank', knowledge_base: 'rules', ...marks },
      { organization: 'Fund', exposure: 0, state: 'open' },
    ])
    await answer('Bank/Bot', daysAgo(0), { passages: ['e'] })
    expect(await first()).toMatchObject({ exposure: 5, state: 'stopped' })
  })

  test('a release forgets what was served, moves the counters to a new epoch, and says why in the trail', async () => {
    expect(await epochs()).toEqual([{ epoch: EPOCH }])
    const released = await cli.run('exposure release Bank --knowledge-base rules --note "agreed bulk review"')
    expect(released).toMatchObject({ code: 0, stderr: '' })
    expect(await first()).toMatchObject({ organization: 'Bank', exposure: 0, state: 'open' })
    expect(await epochs()).toEqual([{ epoch: expect.not.stringMatching(EPOCH) }])
    expect(await audited('exposure.release')).toMatchObject([{ detail: { note: 'agreed bulk review', exposure: 5 } }])
    await answer('Bank/Bot', new Date(Date.now() + 1_000).toISOString(), { passages: ['f'] })
    expect(await first()).toMatchObject({ exposure: 1 })
  })

  test('a raise adds to the marks until its end, and says why in the trail; one that is over is refused', async () => {
    const raise = 'exposure raise Bank --knowledge-base rules --passages 7 --note "ticket 118" --until'
    expect(await cli.run(raise, '2099-01-01')).toMatchObject({ code: 0, stderr: '' })
    expect(await first()).toMatchObject({ raised: 7, hard_mark: 12 })
    expect(await cli.refused(raise, '2020-01-01')).toContain('--until is past')
    const detail = { note: 'ticket 118', passages: 7, environment: 'live' }
    expect(await audited('exposure.raise')).toMatchObject([{ detail }])
  })
})

describe('what the operator role may not do', () => {
  test.each([
    "update audit set actor = 'nobody'",
    'delete from audit',
    'truncate audit',
    'update ledger set charged = false',
    'delete from ledger',
    'truncate ledger cascade',
    'delete from api_keys',
    'update api_keys set digest = digest',
    "update reservations set state = 'refunded'",
    'delete from reviews',
    "update reviews set verdict = 'approved'",
    'delete from exposure_releases',
    'update active_versions set version_id = version_id',
    'insert into ledger select * from ledger',
    'drop table audit',
    'alter table audit disable trigger all',
  ])('%s', async (statement) => {
    await expect(operator.database.query(statement)).rejects.toMatchObject({ code: '42501' })
  })
})
