import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { unwrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import { listAudit } from '#core/db/audit.ts'
import { grantEntitlement } from '#operator/actions/entitlements.ts'
import { eraseFingerprints, rotateFingerprints } from '#operator/actions/fingerprints.ts'
import {
  createClient,
  createKnowledgeBase,
  createOrganization,
  setClientSuspended,
  setOrganizationSuspended,
} from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'

const harness = await openOperatorHarness()
const folder = mkdtempSync(join(tmpdir(), 'evidence-operator-'))
const named = z.object({ id: z.uuid(), name: z.string() })

afterAll(async () => {
  await harness.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('from an empty database to an entitlement, by the command line', () => {
  test('each step prints what it made, a table lists it, and the trail tells who did it', async () => {
    const { cli } = harness
    named.parse(await cli.json('organizations', 'create', 'Harbour Bank', '--actor', 'first'))
    named.parse(await cli.json('clients', 'create', 'Advice Desk', '--organization', 'Harbour Bank'))
    const plan = z
      .object({ limits: z.record(z.string(), z.unknown()) })
      .parse(await cli.json('plans', 'create', 'swift', '--limit', 'requests_per_minute=60', 'exposure.window_days=7'))
    expect(plan.limits).toMatchObject({
      requests_per_minute: 60,
      requests_per_day: 250,
      exposure: { window_days: 7, hard_share: 0.125 },
    })
    await cli.json('knowledge-bases', 'create', 'hsfa-rules', '--title', 'HSFA rulebook')
    const granted = await cli.json(
      ...(
        'entitlements grant --client|Advice Desk|--environment|live|--knowledge-base|hsfa-rules|--plan|swift|' +
        '--languages|EN,fr-fr,en|--jurisdictions|hs-m,HS-F|--subjects|all'
      )
        .replace(' grant ', '|grant|')
        .split('|'),
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

    const list = await cli.run('organizations', 'list')
    expect(list).toMatchObject({ code: 0, stderr: '' })
    expect(list.stdout).toMatch(/^name +active +id +created\nHarbour Bank +yes +[0-9a-f-]{36} +\d{4}-\d\d-\d\dT/)

    const shown = await cli.run('entitlements', 'show', 'Advice Desk/live/hsfa-rules')
    expect(shown.stdout).toMatch(/languages: +en, fr-FR\n/)
    const trail = z.array(z.object({ actor: z.string(), action: z.string() })).parse(await cli.json('audit', 'list'))
    expect(trail.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
      'operator entitlement.grant',
      'operator knowledge-base.create',
      'operator plan.create',
      'operator client.create',
      'first organization.create',
    ])
  })

  test('an empty list says what to do next', async () => {
    const { stdout } = await harness.cli.run('keys', 'list')
    expect(stdout).toBe('There is no key here: issue one with "operator keys issue".\n')
  })

  test('OPERATOR_ACTOR names who acts where --actor does not', async () => {
    const { commandLine } = await import('#test/support/operator-cli.ts')
    await commandLine({ ...harness.environment, OPERATOR_ACTOR: 'night shift' }).json(
      'organizations',
      'suspend',
      'Harbour Bank',
    )
    await harness.cli.json('organizations', 'resume', 'Harbour Bank')
    const [resumed, suspended] = await listAudit(harness.operator.database, { action: 'organization', limit: 2 })
    expect([resumed, suspended]).toMatchObject([
      { actor: 'operator', action: 'organization.resume' },
      { actor: 'night shift', action: 'organization.suspend' },
    ])
  })
})

describe('names', () => {
  test('a client name that two organizations use is refused until the organization is named', async () => {
    const { operator } = harness
    for (const organization of ['North', 'South']) {
      await createOrganization(operator, { name: organization, serviceSecrets: harness.serviceSecrets })
      await createClient(operator, { organization, name: 'Desk' })
    }
    await expect(setClientSuspended(operator, 'Desk', true)).rejects.toThrow(
      /write ORGANIZATION\/CLIENT, e\.g\. "South\/Desk"/,
    )
    expect(await setClientSuspended(operator, 'North/Desk', true)).toMatchObject({ active: false })
    const { rows } = await harness.owner.query<{ id: string }>(
      "select c.id from clients c join organizations o on o.id = c.organization_id where o.name = 'South'",
    )
    expect(await setClientSuspended(operator, (rows[0]?.id ?? '').toUpperCase(), true)).toMatchObject({ active: false })
  })

  test.each([
    [
      'an unknown organization',
      () => setOrganizationSuspended(harness.operator, 'Nobody', true),
      'There is no organization "Nobody": see "operator organizations list".',
    ],
    ['an unknown plan', () => grant({ plan: 'none' }), 'There is no plan "none": see "operator plans list".'],
    [
      'an unknown knowledge base',
      () => grant({ knowledgeBase: 'none' }),
      'There is no knowledge base "none": see "operator knowledge-bases list".',
    ],
    ['an unknown client', () => grant({ client: 'none' }), 'There is no client "none": see "operator clients list".'],
    [
      'a name that is a UUID',
      () => createOrganization(harness.operator, { name: randomUUID(), serviceSecrets: harness.serviceSecrets }),
      'A name of an organization has 1 to 200 characters, no "/" and no control characters, and is ' +
        'not a UUID: choose another.',
    ],
    [
      'a name that is a path',
      () => createPlan(harness.operator, { name: 'a/b' }),
      'A name of a plan has 1 to 200 characters, no "/" and no control characters, and is not a UUID: choose another.',
    ],
    [
      'a taken organization',
      () => createOrganization(harness.operator, { name: 'North', serviceSecrets: harness.serviceSecrets }),
      'The organization "North" exists already: choose another name, or use the existing one.',
    ],
    [
      'a taken client',
      () => createClient(harness.operator, { organization: 'North', name: 'Desk' }),
      '"North" has a client "Desk" already: choose another name, or use the existing one.',
    ],
    [
      'a taken slug',
      () => createKnowledgeBase(harness.operator, { slug: 'hsfa-rules', title: 'x' }),
      'The knowledge base "hsfa-rules" exists already: choose another slug, or use the existing one.',
    ],
    [
      'a slug with capitals',
      () => createKnowledgeBase(harness.operator, { slug: 'HSFA', title: 'x' }),
      'A slug has 1 to 63 lower-case letters, digits and hyphens and begins with a letter or digit: ' +
        'choose one like "banking-rules".',
    ],
    [
      'suspending twice',
      () => setClientSuspended(harness.operator, 'North/Desk', true),
      'The client "Desk" is suspended already: nothing was changed.',
    ],
    [
      'a language that is none',
      () => grant({ languages: ['english!'] }),
      '"english!" is not a language: write a BCP 47 code like en or fr.',
    ],
    [
      'an empty list',
      () => grant({ jurisdictions: [] }),
      'An entitlement needs at least one jurisdiction: name those it covers, separated by commas.',
    ],
    [
      'a second grant',
      () => grant({}),
      'The entitlement "Advice Desk/live/hsfa-rules" exists already: change it with "operator ' +
        'entitlements change Advice Desk/live/hsfa-rules".',
    ],
  ])('%s is refused in one sentence and leaves no audit row', async (_what, act, sentence) => {
    const before = await auditRows()
    await expect(act()).rejects.toThrow(sentence)
    expect(await auditRows()).toBe(before)
  })
})

function grant(change: Partial<Parameters<typeof grantEntitlement>[1]>): ReturnType<typeof grantEntitlement> {
  return grantEntitlement(harness.operator, {
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
  return (await harness.owner.query('select 1 from audit')).rowCount ?? 0
}

describe('plans', () => {
  test('limits come from a file, and every fault in it is told at once', async () => {
    const path = join(folder, 'limits.json')
    writeFileSync(
      path,
      JSON.stringify({ requests_per_minute: 0, concurency: 3, exposure: { soft_share: 0.5, hard_share: 0.1 } }),
    )
    const refused = await harness.cli.run('plans', 'create', 'odd', '--file', path)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(/requests_per_minute: .*concurency/s)
    expect(refused.stderr.trim().split('\n')).toHaveLength(1)
    writeFileSync(path, JSON.stringify({ requests_per_minute: 30 }))
    expect(await harness.cli.json('plans', 'create', 'from-file', '--file', path)).toMatchObject({
      limits: { requests_per_minute: 30, concurrency: 2 },
    })
    expect(await harness.cli.json('plans', 'show', 'from-file')).toMatchObject({
      name: 'from-file',
      limits: { requests_per_minute: 30 },
    })
  })

  test('a plan is immutable: its name is never reused, and the operator role may not update or delete it', async () => {
    await expect(createPlan(harness.operator, { name: 'from-file', limits: { concurrency: 9 } })).rejects.toThrow(
      /exists already and plans never change: choose another name/,
    )
    for (const statement of ["update plans set limits = '{}'", 'delete from plans'])
      await expect(harness.operator.database.query(statement)).rejects.toMatchObject({ code: '42501' })
    const { rows } = await harness.owner.query<{ limits: unknown }>("select limits from plans where name = 'from-file'")
    expect(rows[0]?.limits).toMatchObject({ concurrency: 2, requests_per_minute: 30 })
  })
})

describe('fingerprint keys', () => {
  async function stored(): Promise<{ id: string; epoch: number; wrapped: Buffer | null }[]> {
    const { rows } = await harness.owner.query<{ id: string; epoch: number; wrapped: Buffer | null }>(
      'select o.id, f.epoch, f.wrapped from fingerprint_keys f join organizations o on o.id = ' +
        "f.organization_id where o.name = 'South' order by f.epoch",
    )
    return rows
  }

  test('an organization begins with epoch 1, whose wrapped key opens with the service secret', async () => {
    const [first] = await stored()
    expect(first?.epoch).toBe(1)
    expect(
      unwrapFingerprintKey(
        first?.wrapped ?? Buffer.alloc(0),
        { organizationId: first?.id ?? '', epoch: 1 },
        harness.serviceSecrets,
      ),
    ).toHaveLength(32)
  })

  test('rotation opens a new epoch and keeps the old key', async () => {
    expect(
      await rotateFingerprints(harness.operator, { organization: 'South', serviceSecrets: harness.serviceSecrets }),
    ).toMatchObject({ current_epoch: 2 })
    expect((await stored()).map(({ epoch, wrapped }) => [epoch, wrapped?.length])).toEqual([
      [1, 60],
      [2, 60],
    ])
  })

  test('erasing requires --yes, deletes the wrapped key and leaves the organization a current key', async () => {
    const refused = await harness.cli.run('fingerprints', 'erase', 'South')
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'Erasing fingerprint keys cannot be undone: repeat the command with --yes if that is what you want.\n',
    })
    expect(
      await eraseFingerprints(harness.operator, {
        organization: 'South',
        epoch: 1,
        serviceSecrets: harness.serviceSecrets,
      }),
    ).toMatchObject({
      erased_epochs: [1],
      current_epoch: 2,
    })
    expect(await harness.cli.json('fingerprints', 'erase', 'South', '--yes')).toMatchObject({
      erased_epochs: [2],
      current_epoch: 3,
    })
    expect((await stored()).map(({ wrapped }) => wrapped?.length ?? null)).toEqual([null, null, 60])
    await expect(
      eraseFingerprints(harness.operator, { organization: 'South', epoch: 1, serviceSecrets: harness.serviceSecrets }),
    ).rejects.toThrow('has no fingerprint key left there to erase')
    expect(await harness.cli.json('fingerprints', 'list', '--organization', 'South')).toMatchObject([
      { epoch: 3, state: 'current' },
      { epoch: 2, state: 'erased' },
      { epoch: 1, state: 'erased' },
    ])
  })
})
