import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { usageReport } from '#core/db/usage.ts'
import { grantEntitlement } from '#jobs/operator/actions/entitlements.ts'
import { exposureOf } from '#jobs/operator/actions/exposure.ts'
import { createClient, createKnowledgeBase, createOrganization } from '#jobs/operator/actions/organizations.ts'
import { createPlan } from '#jobs/operator/actions/plans.ts'
import { openRig } from './rig.ts'
import type { OperatorRig } from './rig.ts'

// Processes are started one after the other, each with all its modules.
vi.setConfig({ testTimeout: 90_000 })

let rig: OperatorRig

interface Request {
  readonly client: string
  readonly at: string
  readonly state: 'delivered' | 'refunded' | 'failed'
  readonly decision?: 'answer' | 'abstain'
  readonly passages?: readonly string[]
  readonly bytes?: number
  readonly tokens?: number | null
}

beforeAll(async () => {
  rig = await openRig()
  const { operator } = rig
  await createPlan(operator, { name: 'beta', limits: { exposure: { window_days: 30, floors: { corpus: 3 } } } })
  await createKnowledgeBase(operator, { slug: 'rules', title: 'Rules' })
  for (const [organization, client] of [
    ['Bank', 'Desk'],
    ['Bank', 'Bot'],
    ['Fund', 'Desk'],
  ] as const) {
    if (client !== 'Bot') await createOrganization(operator, { name: organization, serviceSecret: rig.serviceSecret })
    await createClient(operator, { organization, name: client })
    await grantEntitlement(operator, {
      client: `${organization}/${client}`,
      environment: 'live',
      knowledgeBase: 'rules',
      plan: 'beta',
      languages: ['en'],
      jurisdictions: ['HS-M'],
      subjects: null,
    })
  }
})
afterAll(() => rig.close())

/** A finished request as gateway and ledger job leave it. */
async function use(request: Request): Promise<void> {
  const { passages = [] } = request
  const outcome = {
    decision: request.decision ?? null,
    result_count: passages.length,
    response_bytes: request.bytes ?? 0,
    query_embedding_tokens: request.tokens ?? null,
  }
  const served = passages.map((chunk, ordinal) => ({
    chunk,
    document: randomUUID(),
    revision: randomUUID(),
    ordinal,
    total: 10,
  }))
  const id = randomUUID()
  await rig.owner.query(
    `insert into reservations (id, trace_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id, knowledge_base_id, version_id, profile_id,
       fingerprint, fingerprint_epoch, admitted_at, deadline_at, in_force_on, state, finished_at, outcome, served)
     select $1, $1, c.organization_id, c.id, 'live', $1, e.id, e.plan_id, e.knowledge_base_id, $1, $1, $3, 1, $4::timestamptz, $4::timestamptz, $4::date, $5, $4::timestamptz, $6, $7
     from clients c join organizations o on o.id = c.organization_id join entitlements e on e.client_id = c.id where o.name || '/' || c.name = $2`,
    [id, request.client, randomBytes(32), request.at, request.state, JSON.stringify(outcome), JSON.stringify(served)],
  )
  await rig.owner.query(
    `insert into ledger (reservation_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id, knowledge_base_id, version_id, profile_id, trace_id,
       fingerprint, fingerprint_epoch, admitted_at, finished_at, state, charged, outcome)
     select id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id, knowledge_base_id, version_id, profile_id, trace_id,
       fingerprint, fingerprint_epoch, admitted_at, finished_at, state, state <> 'refunded', outcome from reservations where id = $1`,
    [id],
  )
}

describe('usage report', () => {
  beforeAll(async () => {
    await use({
      client: 'Bank/Desk',
      at: '2026-03-01T00:00:00Z',
      state: 'delivered',
      decision: 'answer',
      passages: ['a', 'b'],
      bytes: 3_000,
      tokens: 12,
    })
    await use({
      client: 'Bank/Desk',
      at: '2026-03-01T23:59:59.999Z',
      state: 'delivered',
      decision: 'abstain',
      bytes: 400,
      tokens: 9,
    })
    await use({ client: 'Bank/Desk', at: '2026-03-02T08:00:00Z', state: 'refunded' })
    await use({ client: 'Bank/Desk', at: '2026-03-02T09:00:00Z', state: 'failed' })
    await use({
      client: 'Bank/Bot',
      at: '2026-03-02T10:00:00Z',
      state: 'delivered',
      decision: 'answer',
      passages: ['a'],
      bytes: 1_500,
      tokens: null,
    })
    await use({
      client: 'Fund/Desk',
      at: '2026-03-03T00:00:00Z',
      state: 'delivered',
      decision: 'answer',
      passages: ['z'],
      bytes: 700,
      tokens: 5,
    })
  })
  const march = ['--from', '2026-03-01', '--to', '2026-03-03'] as const

  test('counts, charges, decisions, refunds, passages, bytes and tokens add up per client; the end is exclusive', async () => {
    const report = z
      .object({ by: z.string(), rows: z.array(z.unknown()) })
      .parse(await rig.cli.json('usage', 'report', ...march))
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
        },
      ],
    })
  })

  test('the same requests by organization, knowledge base and UTC day', async () => {
    const [from, to] = [new Date('2026-03-01'), new Date('2026-03-04')]
    const by = async (group: 'organization' | 'knowledge-base' | 'day'): Promise<unknown> =>
      (await usageReport(rig.operator.database, group, from, to, 10)).map((row) => [
        row.group,
        row.requests,
        row.charged,
      ])
    expect(await by('organization')).toEqual([
      ['Bank', 5, 4],
      ['Fund', 1, 1],
    ])
    expect(await by('knowledge-base')).toEqual([['rules', 6, 5]])
    expect(await by('day')).toEqual([
      ['2026-03-01', 2, 2],
      ['2026-03-02', 3, 2],
      ['2026-03-03', 1, 1],
    ])
  })

  test('tokens that nobody reported are a dash for people, never a zero', async () => {
    const { stdout } = await rig.cli.run(
      'usage',
      'report',
      '--by',
      'organization',
      '--from',
      '2026-03-02',
      '--to',
      '2026-03-03',
    )
    expect(stdout).toMatch(/organization +requests.*tokens +without tokens\nBank +3 .* – +1\n$/)
  })

  test('a report that shows only a part says so', async () => {
    const span = ['--from', '2026-03-01', '--to', '2026-04-01', '--by', 'day', '--rows', '1']
    const { stdout } = await rig.cli.run('usage', 'report', ...span)
    expect(stdout).toContain('There is more than these 1 rows: ask for more with --rows.')
    expect(await rig.cli.json('usage', 'report', ...span)).toMatchObject({ truncated: true, rows: [{}] })
  })

  test('an empty time is refused', async () => {
    const { code, stderr } = await rig.cli.run('usage', 'report', '--from', '2026-03-02', '--to', '2026-03-02')
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'The time is empty: give a --from that lies before --to.\n' })
  })
})

describe('exposure', () => {
  const now = (minutesAgo: number): string => new Date(Date.now() - minutesAgo * 60_000).toISOString()
  const days = 24 * 60

  beforeAll(async () => {
    const base = (await rig.owner.query<{ id: string }>("select id from knowledge_bases where slug = 'rules'")).rows[0]
      ?.id
    const [snapshot, source, build, version, projection, profile] = [
      randomUUID(),
      randomUUID(),
      randomUUID(),
      randomUUID(),
      randomUUID(),
      randomUUID(),
    ]
    await rig.owner.query(
      'insert into source_snapshots (id, knowledge_base_id, source_name, media_type, sha256, bytes) ' +
        "values ($1, $2, 's', 'text/markdown', sha256('x'), 1)",
      [snapshot, base],
    )
    await rig.owner.query(
      "insert into imports (id, knowledge_base_id, mapping, snapshot_ids, report) values ($1, $2, '{}', $3, '{}')",
      [source, base, [snapshot]],
    )
    await rig.owner.query(
      "insert into builds (id, knowledge_base_id, import_id, parameters) values ($1, $2, $3, '{}')",
      [build, base, source],
    )
    await rig.owner.query(
      'insert into corpus_versions (id, knowledge_base_id, build_id, state, passages, documents, ' +
        "facets, evaluation, passed) values ($1, $2, $3, 'active', 25, 1, '{}', '{}', true)",
      [version, base, build],
    )
    await rig.owner.query(
      "insert into projections (id, version_id, embedding, manifest_digest) values ($1, $2, '{}', sha256('m'))",
      [projection, version],
    )
    await rig.owner.query(
      'insert into retrieval_profiles (id, projection_id, parameters, signal, threshold) values ($1, ' +
        "$2, '{}', 'evidence_probability', 0.5)",
      [profile, projection],
    )
    await rig.owner.query(
      'insert into active_versions (knowledge_base_id, version_id, profile_id) values ($1, $2, $3)',
      [base, version, profile],
    )
    await rig.owner.query(
      "insert into limit_epochs (organization_id, epoch, redis_run_id) select id, 4, 'run' from " +
        "organizations where name = 'Bank'",
    )
    await use({ client: 'Bank/Desk', at: now(31 * days), state: 'delivered', decision: 'answer', passages: ['old'] })
    await use({ client: 'Bank/Desk', at: now(60), state: 'delivered', decision: 'answer', passages: ['a', 'b', 'c'] })
    await use({ client: 'Bank/Bot', at: now(30), state: 'delivered', decision: 'answer', passages: ['b', 'c', 'd'] })
  })

  test('distinct passages of all clients of the organization count within the window, against floor and share', async () => {
    const shown = z.array(z.record(z.string(), z.unknown())).parse(await rig.cli.json('exposure', 'show'))
    // 10 % of 25 lies under the floor of 3; 20 % of 25 is 5.
    expect(shown).toMatchObject([
      {
        organization: 'Bank',
        knowledge_base: 'rules',
        window_days: 30,
        distinct_passages: 4,
        soft_mark: 3,
        hard_mark: 5,
        state: 'tightened',
      },
      { organization: 'Fund', distinct_passages: 0, state: 'open' },
    ])
    await use({ client: 'Bank/Bot', at: now(20), state: 'delivered', decision: 'answer', passages: ['e'] })
    expect(await exposureOf(rig.operator.database, null, null, 1)).toMatchObject([
      { distinct_passages: 5, state: 'stopped' },
    ])
  })

  test('a release forgets what was served, moves the counters to a new epoch, and says why in the trail', async () => {
    const released = await rig.cli.run(
      'exposure',
      'release',
      'Bank',
      '--knowledge-base',
      'rules',
      '--note',
      'agreed bulk review',
    )
    expect(released).toMatchObject({ code: 0, stderr: '' })
    expect(await exposureOf(rig.operator.database, null, null, 1)).toMatchObject([
      { organization: 'Bank', distinct_passages: 0, state: 'open' },
    ])
    const { rows } = await rig.owner.query<{ epoch: string }>(
      "select l.epoch from limit_epochs l join organizations o on o.id = l.organization_id where o.name = 'Bank'",
    )
    expect(rows).toEqual([{ epoch: '5' }])
    const trail = await rig.owner.query(
      "select 1 from audit where action = 'exposure.release' and detail ->> 'note' = 'agreed bulk " +
        "review' and (detail ->> 'distinct_passages')::int = 5",
    )
    expect(trail.rowCount).toBe(1)
    await use({
      client: 'Bank/Bot',
      at: new Date(Date.now() + 1_000).toISOString(),
      state: 'delivered',
      decision: 'answer',
      passages: ['f'],
    })
    expect(await exposureOf(rig.operator.database, null, null, 1)).toMatchObject([{ distinct_passages: 1 }])
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
    await expect(rig.operator.database.query(statement)).rejects.toMatchObject({ code: '42501' })
  })
})
