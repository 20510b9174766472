import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listAudit } from '#core/db/audit.ts'
import {
  addEntitledProfile,
  changeEntitlement,
  grantEntitlement,
  removeEntitledProfile,
  setEntitlementActive,
} from '#operator/actions/entitlements.ts'
import { createClient, createKnowledgeBase, createOrganization } from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import { insertVersion } from '#test/support/version-rows.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'

const harness = await openOperatorHarness()

beforeAll(async () => {
  const { operator, serviceSecrets } = harness
  await createOrganization(operator, { name: 'Harbour Bank', serviceSecrets })
  await createClient(operator, { organization: 'Harbour Bank', name: 'Advice Desk' })
  await createPlan(operator, { name: 'swift' })
  await createKnowledgeBase(operator, { slug: 'hsfa-rules', title: 'HSFA rulebook' })
  await grantEntitlement(operator, {
    client: 'Advice Desk',
    environment: 'live',
    knowledgeBase: 'hsfa-rules',
    plan: 'swift',
    languages: ['en', 'fr-FR'],
    jurisdictions: ['HS-F', 'HS-M'],
    subjects: null,
  })
})
afterAll(() => harness.close())

describe('entitlements', () => {
  const name = 'Advice Desk/live/hsfa-rules'

  test('a change touches only what was named, and the trail keeps what was there before', async () => {
    await createPlan(harness.operator, { name: 'wide' })
    const changed = await changeEntitlement(harness.operator, name, {
      plan: 'wide',
      subjects: ['prudential', 'conduct'],
    })
    expect(changed).toMatchObject({ plan: 'wide', subjects: ['conduct', 'prudential'], languages: ['en', 'fr-FR'] })
    expect(await changeEntitlement(harness.operator, name, { subjects: null })).toMatchObject({
      subjects: null,
      plan: 'wide',
    })
    const [row] = await listAudit(harness.operator.database, { action: 'entitlement.change', limit: 1 })
    expect(row?.detail).toMatchObject({ before: { subjects: ['conduct', 'prudential'] }, after: { subjects: null } })
    await expect(changeEntitlement(harness.operator, name, {})).rejects.toThrow(/Nothing to change was named/)
  })

  test('deactivating twice is refused, activating brings it back', async () => {
    expect(await setEntitlementActive(harness.operator, name, false)).toMatchObject({ active: false })
    await expect(setEntitlementActive(harness.operator, name, false)).rejects.toThrow(
      'is inactive already: nothing was changed.',
    )
    expect(await setEntitlementActive(harness.operator, name, true)).toMatchObject({ active: true })
  })

  test('only a profile of a version of the same knowledge base that is or was active can be added', async () => {
    const profile = await arrangeProfile('hsfa-rules', 'retired')
    expect(await addEntitledProfile(harness.operator, name, profile)).toMatchObject({ profile_ids: [profile] })
    await expect(addEntitledProfile(harness.operator, name, profile)).rejects.toThrow('has that profile already')
    await createKnowledgeBase(harness.operator, { slug: 'other', title: 'Other' })
    for (const wrong of [
      await arrangeProfile('hsfa-rules', 'candidate'),
      await arrangeProfile('other', 'retired'),
      randomUUID(),
      'active',
    ]) {
      await expect(addEntitledProfile(harness.operator, name, wrong), wrong).rejects.toThrow(/has no profile/)
    }
    expect(await removeEntitledProfile(harness.operator, name, profile.toUpperCase())).toMatchObject({
      profile_ids: [],
    })
    await expect(removeEntitledProfile(harness.operator, name, profile)).rejects.toThrow(/has no profile/)
  })

  test('each change of access is announced to the gateways', async () => {
    const client: pg.PoolClient = await harness.owner.connect()
    const heard = new Promise<string>((resolve) =>
      client.once('notification', (message: pg.Notification) => resolve(message.channel)),
    )
    try {
      await client.query('listen access_changed')
      await setEntitlementActive(harness.operator, name, false)
      expect(await heard).toBe('access_changed')
    } finally {
      client.release(true)
    }
  })
})

async function arrangeProfile(slug: string, state: string): Promise<string> {
  return (await insertVersion(harness.owner, { slug, state, passages: 10 })).profile
}
