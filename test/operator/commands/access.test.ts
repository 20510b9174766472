import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { listAudit } from '#core/db/audit.ts'
import {
  addEntitledProfile,
  changeEntitlement,
  grantEntitlement,
  removeEntitledProfile,
  setEntitlementActive,
} from '#operator/actions/entitlements.ts'
import {
  createClient,
  createKnowledgeBase,
  createOrganization,
  setClientSuspended,
  setOrganizationSuspended,
} from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import { commandLine, openOperatorHarness } from '#test/support/operator-cli.ts'
import { insertVersion } from '#test/support/version-rows.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { keysOf } from '#jobs/evaluation/compare/served-fields.ts'
import REFUSALS from './access-refusals.json' with { type: 'json' }

const harness = await openOperatorHarness()
const { cli, operator, owner, serviceSecrets } = harness
const folder = folderOfFile()
const ENTITLEMENT = 'Advice Desk/live/hsfa-rules'
const named = z.object({ id: z.uuid(), name: z.string() })

describe('from an empty database to an entitlement, by the command line', () => {
  test('each step prints what it made, a table lists it, and the trail tells who did it', async () => {
    named.parse(await cli.json('organizations create "Harbour Bank" --actor first'))
    named.parse(await cli.json('clients create "Advice Desk" --organization "Harbour Bank"'))
    expect(await cli.json('plans create swift --limit requests_per_minute=60 exposure.window_days=7')).toMatchObject({
      limits: { requests_per_minute: 60, requests_per_day: 250, exposure: { window_days: 7, hard_share: 0.125 } },
    })
    await cli.json('knowledge-bases create hsfa-rules --title "HSFA rulebook"')
    const granted = await cli.json(
      'entitlements grant --client "Advice Desk" --environment live --knowledge-base hsfa-rules --plan swift ' +
        '--languages EN,fr-fr,en --jurisdictions hs-m,HS-F --subjects all',
    )
    expect(granted).toMatchObject({
      organization: 'Harbour Bank',
      client: 'Advice Desk',
      active: true,
      languages: ['en', 'fr-FR'],
      jurisdictions: ['HS-F', 'HS-M'],
      subjects: null,
      plan: 'swift',
    })

    const list = await cli.run('organizations list')
    expect(list).toMatchObject({ code: 0, stderr: '' })
    expect(list.stdout).toMatch(/^name +active +id +created\nHarbour Bank +yes +[0-9a-f-]{36} +\d{4}-\d\d-\d\dT/)

    const shown = await cli.run('entitlements show', ENTITLEMENT)
    expect(shown.stdout).toMatch(/languages: +en, fr-FR\n/)
    const trail = z.array(z.object({ actor: z.string(), action: z.string() })).parse(await cli.json('audit list'))
    expect(trail.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
      'operator entitlement.grant',
      'operator knowledge-base.create',
      'operator plan.create',
      'operator client.create',
      'first organization.create',
    ])
  })

  test('an empty list says what to do next', async () => {
    const stdout = 'There is no key here: issue one with "operator keys issue".\n'
    expect(await cli.run('keys list')).toMatchObject({ stdout })
  })

  test('OPERATOR_ACTOR names who acts where --actor does not', async () => {
    const night = commandLine({ ...harness.environment, OPERATOR_ACTOR: 'night shift' })
    await night.json('organizations suspend "Harbour Bank"')
    await cli.json('organizations resume "Harbour Bank"')
    const [resumed, suspended] = await listAudit(operator.database, { action: 'organization', limit: 2 })
    expect([resumed, suspended]).toMatchObject([
      { actor: 'operator', action: 'organization.resume' },
      { actor: 'night shift', action: 'organization.suspend' },
    ])
  })
})

describe('names', () => {
  test('a client name that two organizations use is refused until the organization is named', async () => {
    for (const organization of ['North', 'South']) {
      await createOrganization(operator, { name: organization, serviceSecrets })
      await createClient(operator, { organization, name: 'Desk' })
    }
    await expect(setClientSuspended(operator, 'Desk', true)).rejects.toThrow(
      /write ORGANIZATION\/CLIENT, e\.g\. "South\/Desk"/,
    )
    expect(await setClientSuspended(operator, 'North/Desk', true)).toMatchObject({ active: false })
    const { rows } = await owner.query<{ id: string }>(
      "select c.id from clients c join organizations o on o.id = c.organization_id where o.name = 'South'",
    )
    expect(await setClientSuspended(operator, (rows[0]?.id ?? '').toUpperCase(), true)).toMatchObject({ active: false })
  })

  const refused: Readonly<Record<keyof typeof REFUSALS, () => Promise<unknown>>> = {
    'an unknown organization': () => setOrganizationSuspended(operator, 'Nobody', true),
    'an unknown plan': () => grant({ plan: 'none' }),
    'an unknown knowledge base': () => grant({ knowledgeBase: 'none' }),
    'an unknown client': () => grant({ client: 'none' }),
    'a name that is a UUID': () => createOrganization(operator, { name: randomUUID(), serviceSecrets }),
    'a name that is a path': () => createPlan(operator, { name: 'a/b' }),
    'a name that turns a line around': () => createPlan(operator, { name: 'a\u202eb' }),
    'a slug that may be an id': () => createKnowledgeBase(operator, { slug: randomUUID(), title: 'x' }),
    'all among subjects': () => grant({ subjects: ['x', 'ALL'] }),
    'a taken organization': () => createOrganization(operator, { name: 'North', serviceSecrets }),
    'a taken client': () => createClient(operator, { organization: 'North', name: 'Desk' }),
    'a taken slug': () => createKnowledgeBase(operator, { slug: 'hsfa-rules', title: 'x' }),
    'a slug with capitals': () => createKnowledgeBase(operator, { slug: 'HSFA', title: 'x' }),
    'suspending twice': () => setClientSuspended(operator, 'North/Desk', true),
    'a language that is none': () => grant({ languages: ['english!'] }),
    'an empty list': () => grant({ jurisdictions: [] }),
    'a second grant': () => grant({}),
  }
  test.each(keysOf(refused))('%s is refused in one sentence and leaves no audit row', async (name) => {
    const before = await auditRows()
    await expect(refused[name]()).rejects.toThrow(REFUSALS[name])
    expect(await auditRows()).toBe(before)
  })
})

function grant(change: Partial<Parameters<typeof grantEntitlement>[1]>): ReturnType<typeof grantEntitlement> {
  return grantEntitlement(operator, {
    client: 'Advice Desk',
    environment: 'live',
    knowledgeBase: 'hsfa-rules',
    plan: 'swift',
    languages: ['en'],
    jurisdictions: ['HS-M'],
    subjects: null,
    ...change,
  })
}

async function auditRows(): Promise<number> {
  return (await owner.query('select 1 from audit')).rowCount ?? 0
}

describe('plans', () => {
  test('limits come from a file, and every fault in it is told at once', async () => {
    const path = join(folder, 'limits.json')
    writeFileSync(
      path,
      JSON.stringify({ requests_per_minute: 0, concurency: 3, exposure: { soft_share: 0.5, hard_share: 0.1 } }),
    )
    const refused = await cli.refused('plans create odd --file', path)
    expect(refused).toMatch(/requests_per_minute: .*concurency/s)
    expect(refused.trim().split('\n')).toHaveLength(1)
    writeFileSync(path, JSON.stringify({ requests_per_minute: 30 }))
    const made = { name: 'from-file', limits: { requests_per_minute: 30, concurrency: 2 } }
    expect(await cli.json('plans create from-file --file', path)).toMatchObject(made)
    expect(await cli.json('plans show from-file')).toMatchObject(made)
  })

  test('a plan is immutable: its name is never reused, and the operator role may not update or delete it', async () => {
    await expect(createPlan(operator, { name: 'from-file', limits: { concurrency: 9 } })).rejects.toThrow(
      /exists already and plans never change: choose another name/,
    )
    for (const statement of ["update plans set limits = '{}'", 'delete from plans'])
      await expect(operator.database.query(statement)).rejects.toMatchObject({ code: '42501' })
    const { rows } = await owner.query<{ limits: unknown }>("select limits from plans where name = 'from-file'")
    expect(rows[0]?.limits).toMatchObject({ concurrency: 2, requests_per_minute: 30 })
  })
})

test('the trace of a knowledge base is on until an operator turns it off, and each turn is audited', async () => {
  const expectTraced = async (traced: boolean): Promise<void> =>
    expect(await cli.json('knowledge-bases list')).toMatchObject([{ slug: 'hsfa-rules', traced }])
  await expectTraced(true)
  expect(await cli.json('knowledge-bases trace hsfa-rules off')).toMatchObject({ slug: 'hsfa-rules', traced: false })
  await expectTraced(false)
  const already = 'The trace of "hsfa-rules" is off already: nothing was changed.\n'
  expect(await cli.refused('knowledge-bases trace hsfa-rules off')).toBe(already)
  await cli.json('knowledge-bases trace hsfa-rules on')
  await expectTraced(true)
  const { rows } = await owner.query("select action from audit where action like '%trace%' order by seq")
  expect(rows).toEqual([{ action: 'knowledge-base.trace-off' }, { action: 'knowledge-base.trace-on' }])
})

test('what follows an added source can be typed as it is printed', async () => {
  const { stdout } = await cli.run('sources add "Two words" --knowledge-base hsfa-rules --from', folder)
  expect(stdout).toContain('Next: operator capture "Two words" --knowledge-base hsfa-rules\n')
})

describe('entitlements', () => {
  test('a change touches only what was named, and the trail keeps what was there before', async () => {
    await createPlan(operator, { name: 'wide' })
    const changed = await changeEntitlement(operator, ENTITLEMENT, {
      plan: 'wide',
      subjects: ['prudential', 'conduct'],
    })
    expect(changed).toMatchObject({ plan: 'wide', subjects: ['conduct', 'prudential'], languages: ['en', 'fr-FR'] })
    expect(await changeEntitlement(operator, ENTITLEMENT, { subjects: null })).toMatchObject({
      subjects: null,
      plan: 'wide',
    })
    const [row] = await listAudit(operator.database, { action: 'entitlement.change', limit: 1 })
    expect(row?.detail).toMatchObject({ before: { subjects: ['conduct', 'prudential'] }, after: { subjects: null } })
    await expect(changeEntitlement(operator, ENTITLEMENT, {})).rejects.toThrow(/Nothing to change was named/)
  })

  test('deactivating twice is refused, activating brings it back', async () => {
    expect(await setEntitlementActive(operator, ENTITLEMENT, false)).toMatchObject({ active: false })
    await expect(setEntitlementActive(operator, ENTITLEMENT, false)).rejects.toThrow(
      'is inactive already: nothing was changed.',
    )
    expect(await setEntitlementActive(operator, ENTITLEMENT, true)).toMatchObject({ active: true })
  })

  test('only a profile of a version of the same knowledge base that is or was active can be added', async () => {
    const profile = await arrangeProfile('hsfa-rules', 'retired')
    expect(await addEntitledProfile(operator, ENTITLEMENT, profile)).toMatchObject({ profile_ids: [profile] })
    await expect(addEntitledProfile(operator, ENTITLEMENT, profile)).rejects.toThrow('has that profile already')
    await createKnowledgeBase(operator, { slug: 'other', title: 'Other' })
    for (const wrong of [
      await arrangeProfile('hsfa-rules', 'candidate'),
      await arrangeProfile('other', 'retired'),
      randomUUID(),
      'active',
    ]) {
      await expect(addEntitledProfile(operator, ENTITLEMENT, wrong), wrong).rejects.toThrow(/has no profile/)
    }
    expect(await removeEntitledProfile(operator, ENTITLEMENT, profile.toUpperCase())).toMatchObject({ profile_ids: [] })
    await expect(removeEntitledProfile(operator, ENTITLEMENT, profile)).rejects.toThrow(/has no profile/)
  })

  test('each change of access is announced to the gateways', async () => {
    const client: pg.PoolClient = await owner.connect()
    const heard = new Promise<string>((resolve) =>
      client.once('notification', (message: pg.Notification) => resolve(message.channel)),
    )
    using ending = new DisposableStack()
    ending.defer(() => client.release(true))
    await client.query('listen access_changed')
    await setEntitlementActive(operator, ENTITLEMENT, false)
    expect(await heard).toBe('access_changed')
  })
})

async function arrangeProfile(slug: string, state: string): Promise<string> {
  return (await insertVersion(owner, { slug, state, passages: 10 })).profile
}
