import { describe, expect, test } from 'vitest'
import { profileIdOf, versionIdOf } from '#jobs/version-build/ids.ts'
import { reconcile } from '#jobs/worker/maintenance/reconcile.ts'
import { silent } from '#test/support/jobs.ts'
import { request, review, run, startActivationHarness } from '#test/support/activations.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'

const activation = await startActivationHarness()
const {
  harness,
  nodes,
  knowledgeBaseId,
  builds: [first, second, third],
} = activation

/** The first version is active, a rollback would return to the second, and the third is a candidate. */
await review(activation, second)
expect(await run(activation, second, null)).toMatchObject({ state: 'done' })
await review(activation, first)
expect(await run(activation, first, second)).toMatchObject({ state: 'done' })

describe('reconciliation', () => {
  const loaded = async (): Promise<readonly string[]> =>
    ((await nodes[0]?.status(CALL_TIMEOUT_MS))?.loaded ?? [])
      .filter((version) => version.state === 'loaded')
      .map((version) => version.versionId)
  const settle = async (): Promise<void> => {
    for (const node of nodes) await reconcile({ database: harness.service, node, log: silent })
  }

  test('keeps what was wanted a moment ago, and lets it go once nothing can be pinned to it', async () => {
    await harness.owner.query('update builds set updated_at = now()')
    await settle()
    expect(await loaded()).toEqual(expect.arrayContaining([first, second, third].map(versionIdOf)))
    await harness.owner.query(
      "update active_versions set activated_at = now() - interval '1 hour'; update builds set " +
        "updated_at = now() - interval '1 hour'; update activations set finished_at = now() - interval " +
        "'1 hour'",
    )
    await settle()
    expect((await loaded()).toSorted()).toEqual([first, second].map(versionIdOf).toSorted())
  })

  test('lets nothing go that a waiting activation is about to make active', async () => {
    await nodes[0]?.prepareVersion(
      { versionId: versionIdOf(third), manifestDigest: await digestOf(third) },
      CALL_TIMEOUT_MS,
    )
    const id = await request(activation, third, first)
    await settle()
    expect(await loaded()).toContain(versionIdOf(third))
    await harness.owner.query(
      "update activations set state = 'refused', finished_at = now() - interval '1 hour' where id = $1",
      [id],
    )
    await settle()
    expect(await loaded()).not.toContain(versionIdOf(third))
  })

  test('loads on a node what it lacks of the active version, of the way back, and of entitled profiles', async () => {
    for (const buildId of [first, second]) await nodes[0]?.releaseVersion(versionIdOf(buildId), CALL_TIMEOUT_MS)
    await entitle(profileIdOf(third))
    await Promise.all([settle(), settle()])
    expect((await loaded()).toSorted()).toEqual([first, second, third].map(versionIdOf).toSorted())
  })

  test('keeps the version of an explicitly entitled profile loaded while the entitlement is active', async () => {
    const age = (): Promise<unknown> =>
      harness.owner.query("update entitlements set updated_at = now() - interval '1 hour'")
    await age()
    await settle()
    expect(await loaded()).toContain(versionIdOf(third))
    await harness.owner.query('update entitlements set active = false')
    await age()
    await settle()
    expect((await loaded()).toSorted()).toEqual([first, second].map(versionIdOf).toSorted())
  })
})

async function digestOf(buildId: string): Promise<Buffer> {
  const { rows } = await harness.owner.query<{ manifest_digest: Buffer }>(
    'select manifest_digest from corpus_versions where id = $1',
    [versionIdOf(buildId)],
  )
  return rows[0]?.manifest_digest ?? Buffer.alloc(0)
}

async function entitle(profileId: string): Promise<void> {
  await harness.owner.query(
    `with o as (insert into organizations (id, name) values (gen_random_uuid(), 'o') returning id),
       c as (insert into clients (id, organization_id, name) select gen_random_uuid(), id, 'c' from o returning id),
       p as (insert into plans (id, name, limits) values (gen_random_uuid(), 'p', '{}') returning id)
     insert into entitlements (id, client_id, environment, knowledge_base_id, plan_id, languages, jurisdictions,
       profile_ids)
     select gen_random_uuid(), c.id, 'test', $1, p.id, '{en}', '{HS-M}', array[$2::uuid] from c, p`,
    [knowledgeBaseId, profileId],
  )
}
