import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createFingerprintKey, unwrapFingerprintKey, wrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import { listAudit } from '#core/db/audit.ts'
import type { AuditRow } from '#core/db/audit.ts'
import { inTransaction } from '#core/db/pool.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/bounds.ts'
import { rewrapFingerprints, rotateFingerprints } from '#operator/actions/fingerprints.ts'
import { createOrganization } from '#operator/actions/organizations.ts'
import { commandLine, openOperatorHarness } from '#test/support/operator-cli.ts'
import type { Cli, OperatorHarness } from '#test/support/operator-cli.ts'
import { until } from '#test/support/until.ts'

let harness: OperatorHarness
let earlier: Buffer
let rotating: ServiceSecrets
const later = randomBytes(32)
const LATER: ServiceSecrets = [later]
beforeEach(async () => {
  harness = await openOperatorHarness()
  earlier = harness.serviceSecrets[0]
  rotating = [later, earlier]
})
afterEach(() => harness.close())

interface StoredKey {
  readonly id: string
  readonly name: string
  readonly epoch: number
  readonly wrapped: Buffer | null
}

async function stored(): Promise<readonly StoredKey[]> {
  const { rows } = await harness.owner.query<StoredKey>(
    `select o.id, o.name, f.epoch, f.wrapped from fingerprint_keys f join organizations o on o.id = f.organization_id
     order by o.name, f.epoch`,
  )
  return rows
}

/** The keys themselves, by organization and epoch; erased ones are left out. */
async function keysUnder(secrets: ServiceSecrets): Promise<ReadonlyMap<string, string>> {
  return new Map(
    (await stored()).flatMap(({ id, name, epoch, wrapped }) =>
      wrapped === null
        ? []
        : [[`${name} ${epoch}`, unwrapFingerprintKey(wrapped, { organizationId: id, epoch }, secrets).toString('hex')]],
    ),
  )
}

/** The command line with both secrets. */
function rotatingCli(): Cli {
  const SERVICE_SECRET = rotating.map((secret) => secret.toString('base64')).join(',')
  return commandLine({ ...harness.environment, SERVICE_SECRET })
}

const audits = (): Promise<readonly AuditRow[]> =>
  listAudit(harness.operator.database, { action: 'fingerprint.rewrap', limit: 10 })

/** Organizations North with one key and South with two. */
async function createOrganizations(): Promise<void> {
  const { operator, serviceSecrets } = harness
  for (const name of ['North', 'South']) await createOrganization(operator, { name, serviceSecrets })
  await rotateFingerprints(operator, { organization: 'South', serviceSecrets })
}

test('every key opens under the first secret alone, and is the key that it was', async () => {
  await createOrganizations()
  const before = await keysUnder(harness.serviceSecrets)
  expect([...before.keys()]).toEqual(['North 1', 'South 1', 'South 2'])
  const cli = rotatingCli()
  expect(await cli.run('fingerprints', 'rewrap')).toMatchObject({
    code: 0,
    stdout: 'Wrapped 3 keys again; 0 were under the first secret already.\n',
  })
  expect(await keysUnder(LATER)).toEqual(before)
  const recorded = (await audits()).map(({ detail }) => detail)
  expect(recorded).toHaveLength(2)
  expect(recorded).toEqual(
    expect.arrayContaining([
      { name: 'North', epochs: [1] },
      { name: 'South', epochs: [1, 2] },
    ]),
  )
  expect(await cli.json('fingerprints', 'rewrap')).toEqual({
    rewrapped_keys: 0,
    current_keys: 3,
    unopened_keys: 0,
    unopened: [],
  })
  expect(await audits()).toHaveLength(2)
})

test('what one run wrapped again, or what is wrapped under the new secret since, the next leaves alone', async () => {
  await createOrganizations()
  const input = { serviceSecrets: rotating }
  expect(await rewrapFingerprints(harness.operator, { ...input, organization: 'South' })).toMatchObject({
    rewrapped_keys: 2,
  })
  await rotateFingerprints(harness.operator, { organization: 'North', ...input })
  const before = await stored()
  expect(await rewrapFingerprints(harness.operator, input)).toMatchObject({ rewrapped_keys: 1, current_keys: 3 })
  const changed = (await stored()).filter(
    ({ wrapped }, n) => wrapped?.toString('hex') !== before[n]?.wrapped?.toString('hex'),
  )
  expect(changed.map(({ name, epoch }) => [name, epoch])).toEqual([['North', 1]])
  expect((await keysUnder(LATER)).size).toBe(4)
})

test('more keys than one batch are wrapped in several transactions, each with its own audit row', async () => {
  await createOrganizations()
  const [north] = await stored()
  const organizationId = north?.id ?? ''
  const epochs = Array.from({ length: OPERATOR_BOUNDS.rewrapBatchMax }, (_, n) => n + 2)
  await harness.owner.query(
    'insert into fingerprint_keys (organization_id, epoch, wrapped) select $1, * from unnest($2::int[], $3::bytea[])',
    [
      organizationId,
      epochs,
      epochs.map((epoch) =>
        wrapFingerprintKey(createFingerprintKey(), { organizationId, epoch }, harness.serviceSecrets),
      ),
    ],
  )
  const before = await keysUnder(harness.serviceSecrets)
  const told: number[] = []
  const done = await rewrapFingerprints(harness.operator, { organization: 'North', serviceSecrets: rotating }, (keys) =>
    told.push(keys),
  )
  expect(done).toMatchObject({ rewrapped_keys: OPERATOR_BOUNDS.rewrapBatchMax + 1, current_keys: 0 })
  expect(told).toEqual([OPERATOR_BOUNDS.rewrapBatchMax, OPERATOR_BOUNDS.rewrapBatchMax + 1])
  expect(await audits()).toHaveLength(2)
  expect(await keysUnder([later, earlier])).toEqual(before)
})

test('a key that no secret opens stays as it is, is named, and does not stop the others', async () => {
  await createOrganizations()
  const lost = await createOrganization(harness.operator, { name: 'Lost', serviceSecrets: [randomBytes(32)] })
  const before = await stored()
  const cli = rotatingCli()
  expect(await cli.run('fingerprints', 'rewrap')).toMatchObject({
    code: 1,
    stdout: 'Wrapped 3 keys again; 0 were under the first secret already.\n',
    stderr: expect.stringContaining('No secret of SERVICE_SECRET opens 1 keys, the first of "Lost", epoch 1: put the'),
  })
  const after = await stored()
  expect(after.find(({ id }) => id === lost.id)).toEqual(before.find(({ id }) => id === lost.id))
  expect(await rewrapFingerprints(harness.operator, { serviceSecrets: rotating })).toEqual({
    rewrapped_keys: 0,
    current_keys: 3,
    unopened_keys: 1,
    unopened: [{ organization: 'Lost', epoch: 1 }],
  })
})

test('a key that is erased while keys are wrapped again stays erased', async () => {
  await createOrganizations()
  const { owner, operator } = harness
  const { done } = await inTransaction(owner, async (client) => {
    await client.query('update fingerprint_keys set wrapped = null, erased_at = now() where epoch = 1')
    const rewrapping = rewrapFingerprints(operator, { organization: 'South', serviceSecrets: rotating })
    await until('the command waits for the row', async () => {
      const { rows } = await operator.database.query<{ waits: boolean }>(
        `select exists (select from pg_locks l join pg_stat_activity a using (pid)
           where not l.granted and a.datname = current_database()) as waits`,
      )
      return rows[0]?.waits === true
    })
    return { done: rewrapping }
  })
  expect(await done).toMatchObject({ rewrapped_keys: 1 })
  expect([...(await keysUnder(LATER)).keys()]).toEqual(['South 2'])
})
