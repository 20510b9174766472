import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { DAY_MS } from '#core/platform/time.ts'
import { exposureOf } from '#operator/actions/exposure.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { createEntitledClients, use } from '#test/operator/recorded-use.ts'
import { insertVersion } from '#test/support/version-rows.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'

const EPOCH = '00000000-0000-4000-8000-000000000004'
const ANY = { organizationId: null, knowledgeBaseId: null, environment: null }
const harness = await openOperatorHarness()

beforeAll(async () => {
  await createEntitledClients(harness)
})
afterAll(() => harness.close())

describe('exposure', () => {
  /** Each midnight forgets passages, so what is not to be forgotten is served at the time of the test. */
  const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()

  beforeAll(async () => {
    const { knowledgeBaseId: base, version } = await insertVersion(harness.owner, {
      slug: 'rules',
      state: 'active',
      passages: 25,
    })
    await withoutGuards(harness.owner, 'insert into active_versions (knowledge_base_id, version_id) values ($1, $2)', [
      base,
      version,
    ])
    await harness.owner.query(
      "insert into limit_epochs (organization_id, epoch, redis_run_id) select id, $1, 'run' from organizations " +
        "where name = 'Bank'",
      [EPOCH],
    )
    await use(harness.owner, {
      client: 'Bank/Desk',
      at: daysAgo(31),
      state: 'delivered',
      decision: 'answer',
      passages: ['old'],
    })
    await use(harness.owner, {
      client: 'Bank/Desk',
      at: daysAgo(0),
      state: 'delivered',
      decision: 'answer',
      passages: ['a', 'b', 'c'],
    })
    await use(harness.owner, {
      client: 'Bank/Bot',
      at: daysAgo(0),
      state: 'delivered',
      decision: 'answer',
      passages: ['b', 'c', 'd'],
    })
  })

  test('new passages of all clients of an organization count in a window, against the marks of the plan', async () => {
    const shown = z.array(z.record(z.string(), z.unknown())).parse(await harness.cli.json('exposure', 'show'))
    // The soft mark is a fifth of the floor of 5; one passage is forgotten each day.
    expect(shown).toMatchObject([
      {
        organization: 'Bank',
        knowledge_base: 'rules',
        window_days: 30,
        exposure: 4,
        soft_mark: 1,
        hard_mark: 5,
        state: 'tightened',
      },
      { organization: 'Fund', exposure: 0, state: 'open' },
    ])
    await use(harness.owner, {
      client: 'Bank/Bot',
      at: daysAgo(0),
      state: 'delivered',
      decision: 'answer',
      passages: ['e'],
    })
    expect(await exposureOf(harness.operator.database, ANY, 1)).toMatchObject([{ exposure: 5, state: 'stopped' }])
  })

  test('a release forgets what was served, moves the counters to a new epoch, and says why in the trail', async () => {
    const released = await harness.cli.run(
      'exposure',
      'release',
      'Bank',
      '--knowledge-base',
      'rules',
      '--note',
      'agreed bulk review',
    )
    expect(released).toMatchObject({ code: 0, stderr: '' })
    expect(await exposureOf(harness.operator.database, ANY, 1)).toMatchObject([
      { organization: 'Bank', exposure: 0, state: 'open' },
    ])
    const { rows } = await harness.owner.query<{ epoch: string }>(
      "select l.epoch from limit_epochs l join organizations o on o.id = l.organization_id where o.name = 'Bank'",
    )
    expect(rows).toHaveLength(1)
    expect(rows[0]?.epoch).not.toBe(EPOCH)
    const trail = await harness.owner.query(
      "select 1 from audit where action = 'exposure.release' and detail ->> 'note' = 'agreed bulk " +
        "review' and (detail ->> 'exposure')::int = 5",
    )
    expect(trail.rowCount).toBe(1)
    await use(harness.owner, {
      client: 'Bank/Bot',
      at: new Date(Date.now() + 1_000).toISOString(),
      state: 'delivered',
      decision: 'answer',
      passages: ['f'],
    })
    expect(await exposureOf(harness.operator.database, ANY, 1)).toMatchObject([{ exposure: 1 }])
  })

  test('a raise adds to the marks until its end, and says why in the trail; one that is over is refused', async () => {
    const raise = (until: string): Promise<{ readonly code: number | null; readonly stderr: string }> => {
      const args = 'raise|Bank|--knowledge-base|rules|--passages|7|--note|ticket 118|--until'.split('|')
      return harness.cli.run('exposure', ...args, until)
    }
    expect(await raise('2099-01-01')).toMatchObject({ code: 0, stderr: '' })
    expect(await exposureOf(harness.operator.database, ANY, 1)).toMatchObject([{ raised: 7, hard_mark: 12 }])
    expect(await raise('2020-01-01')).toMatchObject({ code: 1 })
    const trail = await harness.owner.query("select detail from audit where action = 'exposure.raise'")
    expect(trail.rows).toMatchObject([{ detail: { note: 'ticket 118', passages: 7, environment: 'live' } }])
  })
})
