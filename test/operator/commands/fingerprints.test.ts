import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createFingerprintKey, unwrapFingerprintKey, wrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import { listAudit } from '#core/db/audit.ts'
import { inTransaction } from '#core/db/pool.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/operator.ts'
import { eraseFingerprints, rewrapFingerprints, rotateFingerprints } from '#operator/actions/fingerprints.ts'
import { createOrganization } from '#operator/actions/organizations.ts'
import { commandLine, openOperatorHarness } from '#test/support/operator-cli.ts'
import { until } from '#test/support/until.ts'

const harness = await openOperatorHarness()
const { operator, owner, serviceSecrets } = harness
const later = randomBytes(32)
const LATER: ServiceSecrets = [later]
const rotating: ServiceSecrets = [later, serviceSecrets[0]]
/** The command line with both secrets. */
const cli = commandLine({
  ...harness.environment,
  SERVICE_SECRET: rotating.map((secret) => secret.toString('base64')).join(','),
})

interface StoredKey {
  readonly id: string
  readonly name: string
  readonly epoch: number
  readonly wrapped: Buffer | null
}

/** Of the organizations named. */
async function stored(...names: readonly string[]): Promise<readonly StoredKey[]> {
  const { rows } = await owner.query<StoredKey>(
    `select o.id, o.name, f.epoch, f.wrapped from fingerprint_keys f join organizations o on o.id = f.organization_id
     where o.name = any ($1) order by o.name, f.epoch`,
    [names],
  )
  return rows
}

/** The keys themselves, by organization and epoch; erased ones are left out. */
async function keysUnder(secrets: ServiceSecrets, ...names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const open = ({ id, epoch }: StoredKey, wrapped: Buffer): string =>
    unwrapFingerprintKey(wrapped, { organizationId: id, epoch }, secrets).toString('hex')
  return new Map(
    (await stored(...names)).flatMap((key) =>
      key.wrapped === null ? [] : [[`${key.name} ${key.epoch}`, open(key, key.wrapped)] as const],
    ),
  )
}

/** Details of audit rows about organizations. */
async function audited(...names: readonly string[]): Promise<readonly unknown[]> {
  const rows = await listAudit(operator.database, { action: 'fingerprint.rewrap', limit: 50 })
  return rows.map(({ detail }) => detail).filter(({ name }) => names.some((each) => each === name))
}

/** An organization with so many keys. */
async function organization(name: string, keys: number): Promise<string> {
  const { id } = await createOrganization(operator, { name, serviceSecrets })
  for (let n = 1; n < keys; n++) await rotateFingerprints(operator, { organization: name, serviceSecrets })
  return id
}

/** The tests run in sequence: the first two find no other keys. */
test('every key opens under the first secret alone, and is the key that it was', async () => {
  await organization('North', 1)
  await organization('South', 2)
  const before = await keysUnder(serviceSecrets, 'North', 'South')
  expect([...before.keys()]).toEqual(['North 1', 'South 1', 'South 2'])
  expect(await cli.run('fingerprints rewrap')).toMatchObject({
    code: 0,
    stdout: 'Wrapped 3 keys again; 0 were under the first secret already.\n',
  })
  expect(await keysUnder(LATER, 'North', 'South')).toEqual(before)
  const recorded = await audited('North', 'South')
  expect(recorded).toHaveLength(2)
  expect(recorded).toContainEqual({ name: 'North', epochs: [1] })
  expect(recorded).toContainEqual({ name: 'South', epochs: [1, 2] })
  const again = { rewrapped_keys: 0, current_keys: 3, unopened_keys: 0, unopened: [] }
  expect(await cli.json('fingerprints rewrap')).toEqual(again)
  expect(await audited('North', 'South')).toHaveLength(2)
})

test('a key that no secret opens stays as it is, is named, and does not stop the others', async () => {
  await createOrganization(operator, { name: 'Lost', serviceSecrets: [randomBytes(32)] })
  await organization('West', 2)
  const before = await stored('Lost')
  expect(await cli.run('fingerprints rewrap')).toMatchObject({
    code: 1,
    stdout: 'Wrapped 2 keys again; 3 were under the first secret already.\n',
    stderr: expect.stringContaining('No secret of SERVICE_SECRET opens 1 keys, the first of "Lost", epoch 1: put the'),
  })
  expect(await stored('Lost')).toEqual(before)
  expect(await rewrapFingerprints(operator, { serviceSecrets: rotating })).toEqual({
    rewrapped_keys: 0,
    current_keys: 5,
    unopened_keys: 1,
    unopened: [{ organization: 'Lost', epoch: 1 }],
  })
})

test('what is wrapped under the new secret since is left alone, and so is what a run of one organization did', async () => {
  await organization('Old', 1)
  await organization('New', 2)
  const input = { serviceSecrets: rotating }
  expect(await rewrapFingerprints(operator, { ...input, organization: 'New' })).toMatchObject({ rewrapped_keys: 2 })
  await rotateFingerprints(operator, { organization: 'Old', ...input })
  const before = await stored('Old', 'New')
  expect(await rewrapFingerprints(operator, input)).toMatchObject({ rewrapped_keys: 1 })
  const changed = (await stored('Old', 'New')).filter(
    ({ wrapped }, n) => wrapped?.toString('hex') !== before[n]?.wrapped?.toString('hex'),
  )
  expect(changed.map(({ name, epoch }) => [name, epoch])).toEqual([['Old', 1]])
  expect((await keysUnder(LATER, 'Old', 'New')).size).toBe(4)
})

test('more keys than one batch are wrapped in several transactions, each with its own audit row', async () => {
  const { rewrapBatchMax } = OPERATOR_BOUNDS
  const organizationId = await organization('Large', 1)
  const epochs = Array.from({ length: rewrapBatchMax }, (_, n) => n + 2)
  const wrap = (epoch: number): Buffer =>
    wrapFingerprintKey(createFingerprintKey(), { organizationId, epoch }, serviceSecrets)
  await owner.query(
    'insert into fingerprint_keys (organization_id, epoch, wrapped) select $1, * from unnest($2::int[], $3::bytea[])',
    [organizationId, epochs, epochs.map(wrap)],
  )
  const before = await keysUnder(serviceSecrets, 'Large')
  const told: number[] = []
  const input = { organization: 'Large', serviceSecrets: rotating }
  const done = await rewrapFingerprints(operator, input, (keys) => told.push(keys))
  expect(done).toMatchObject({ rewrapped_keys: rewrapBatchMax + 1, current_keys: 0 })
  expect(told).toEqual([rewrapBatchMax, rewrapBatchMax + 1])
  expect(await audited('Large')).toHaveLength(2)
  expect(await keysUnder(rotating, 'Large')).toEqual(before)
})

test('a key that is erased while keys are wrapped again stays erased', async () => {
  await organization('East', 2)
  const { done } = await inTransaction(owner, async (client) => {
    await client.query(
      `update fingerprint_keys set wrapped = null, erased_at = now() where epoch = 1 and organization_id =
         (select id from organizations where name = 'East')`,
    )
    const rewrapping = rewrapFingerprints(operator, { organization: 'East', serviceSecrets: rotating })
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
  expect([...(await keysUnder(LATER, 'East')).keys()]).toEqual(['East 2'])
})

test('an organization begins with epoch 1, and rotation opens a new one and keeps the old key', async () => {
  await organization('First', 1)
  expect((await keysUnder(serviceSecrets, 'First')).get('First 1')).toHaveLength(64)
  const rotated = await rotateFingerprints(operator, { organization: 'First', serviceSecrets })
  expect(rotated).toMatchObject({ current_epoch: 2 })
  expect((await stored('First')).map(({ epoch, wrapped }) => [epoch, wrapped?.length])).toEqual([
    [1, 60],
    [2, 60],
  ])
})

test('erasing requires --yes, deletes the wrapped key and leaves the organization a current key', async () => {
  await organization('Gone', 2)
  expect(await harness.cli.refused('fingerprints erase Gone')).toBe(
    'Erasing fingerprint keys cannot be undone: repeat the command with --yes if that is what you want.\n',
  )
  const first = { organization: 'Gone', epoch: 1, serviceSecrets }
  expect(await eraseFingerprints(operator, first)).toMatchObject({ erased_epochs: [1], current_epoch: 2 })
  expect(await harness.cli.json('fingerprints erase Gone --yes')).toMatchObject({
    erased_epochs: [2],
    current_epoch: 3,
  })
  expect((await stored('Gone')).map(({ wrapped }) => wrapped?.length ?? null)).toEqual([null, null, 60])
  await expect(eraseFingerprints(operator, first)).rejects.toThrow('has no fingerprint key left there to erase')
  expect(await harness.cli.json('fingerprints list --organization Gone')).toMatchObject([
    { epoch: 3, state: 'current' },
    { epoch: 2, state: 'erased' },
    { epoch: 1, state: 'erased' },
  ])
})
