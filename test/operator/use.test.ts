import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { usageReport } from '#core/db/usage.ts'
import { createEntitledClients, use } from './recorded-use.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'

const harness = await openOperatorHarness()

beforeAll(async () => {
  await createEntitledClients(harness)
})
afterAll(() => harness.close())

describe('usage report', () => {
  beforeAll(async () => {
    await use(harness.owner, {
      client: 'Bank/Desk',
      at: '2026-03-01T00:00:00Z',
      state: 'delivered',
      decision: 'answer',
      passages: ['a', 'b'],
      bytes: 3_000,
      tokens: 12,
    })
    await use(harness.owner, {
      client: 'Bank/Desk',
      at: '2026-03-01T23:59:59.999Z',
      state: 'delivered',
      decision: 'abstain',
      bytes: 400,
      tokens: 9,
    })
    await use(harness.owner, { client: 'Bank/Desk', at: '2026-03-02T08:00:00Z', state: 'refunded' })
    await use(harness.owner, { client: 'Bank/Desk', at: '2026-03-02T09:00:00Z', state: 'failed' })
    await use(harness.owner, {
      client: 'Bank/Bot',
      at: '2026-03-02T10:00:00Z',
      state: 'delivered',
      decision: 'answer',
      passages: ['a'],
      bytes: 1_500,
      tokens: null,
    })
    await use(harness.owner, {
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

  test('counts, charges, decisions, refunds, passages, bytes and tokens add up per client, end exclusive', async () => {
    const report = z
      .object({ by: z.string(), rows: z.array(z.unknown()) })
      .parse(await harness.cli.json('usage', 'report', ...march))
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
        },
      ],
    })
  })

  test('the same requests by organization, knowledge base and UTC day', async () => {
    const [from, to] = [new Date('2026-03-01'), new Date('2026-03-04')]
    const by = async (group: 'organization' | 'knowledge-base' | 'day'): Promise<unknown> =>
      (await usageReport(harness.operator.database, group, from, to, 10)).map((row) => [
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
    const { stdout } = await harness.cli.run(
      'usage',
      'report',
      '--by',
      'organization',
      '--from',
      '2026-03-02',
      '--to',
      '2026-03-03',
    )
    expect(stdout).toMatch(/organization +requests.*tokens +without tokens +reader tokens\nBank +3 .* – +1 +–\n$/)
  })

  test('a report that shows only a part says so', async () => {
    const span = ['--from', '2026-03-01', '--to', '2026-04-01', '--by', 'day', '--rows', '1']
    const { stdout } = await harness.cli.run('usage', 'report', ...span)
    expect(stdout).toContain('There are more rows than these 1: ask for more with --rows.')
    expect(await harness.cli.json('usage', 'report', ...span)).toMatchObject({ truncated: true, rows: [{}] })
  })

  test('an empty time is refused', async () => {
    const { code, stderr } = await harness.cli.run('usage', 'report', '--from', '2026-03-02', '--to', '2026-03-02')
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'The time span is empty: give a --from before --to.\n' })
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
    await expect(harness.operator.database.query(statement)).rejects.toMatchObject({ code: '42501' })
  })
})
