import { OperatorError } from '#core/platform/errors.ts'
import { createFingerprintKey, rewrapFingerprintKey, wrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import {
  eraseFingerprintKeys,
  fingerprintOwners,
  insertFingerprintKey,
  lockFingerprintKeys,
  newestFingerprintEpoch,
  replaceFingerprintKeys,
} from '#core/db/fingerprint-keys.ts'
import type { FingerprintOwnerRow } from '#core/db/fingerprint-keys.ts'
import type { Queryable } from '#core/db/pool.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import { OPERATOR_BOUNDS, withAudit, type Operator } from './operator.ts'
import { idOf, organizationNamed } from './names.ts'

/** Creates an organization's key for the next epoch; it is then the current key. @returns the epoch. */
export async function createFingerprintEpoch(
  client: Queryable,
  organizationId: string,
  serviceSecrets: ServiceSecrets,
): Promise<number> {
  const epoch = (await newestFingerprintEpoch(client, organizationId)) + 1
  await insertFingerprintKey(
    client,
    organizationId,
    epoch,
    wrapFingerprintKey(createFingerprintKey(), { organizationId, epoch }, serviceSecrets),
  )
  return epoch
}

const { rewrapBatchMax } = OPERATOR_BOUNDS

interface Given {
  /** Name or UUID. */
  readonly organization: string
  readonly serviceSecrets: ServiceSecrets
}

/**
 * Opens a new epoch. Fingerprints of one query before and after it no longer match. Those of one earlier epoch stay
 * comparable.
 */
export async function rotateFingerprints(operator: Operator, input: Given) {
  const { id, name } = await organizationNamed(operator.database, input.organization)
  return withAudit(operator, 'fingerprint.rotate', async (client) => {
    const epoch = await createFingerprintEpoch(client, id, input.serviceSecrets)
    const result = { organization_id: id, organization: name, current_epoch: epoch }
    return [result, `organization:${id}`, { name, epoch }]
  })
}

/**
 * Erases wrapped keys permanently, so that no query can be matched against their fingerprints. Erasing the current key
 * opens a new epoch at once, so that serving is not interrupted.
 * @param input.epoch one epoch; undefined: all.
 */
export async function eraseFingerprints(operator: Operator, input: Given & { readonly epoch?: number | undefined }) {
  const { id, name } = await organizationNamed(operator.database, input.organization)
  return withAudit(operator, 'fingerprint.erase', async (client) => {
    const newest = await newestFingerprintEpoch(client, id)
    const erased = await eraseFingerprintKeys(client, id, input.epoch ?? null)
    if (erased.length === 0)
      throw new OperatorError(`"${name}" has no fingerprint key left there to erase: see "operator fingerprints list".`)
    const current = erased.includes(newest) ? await createFingerprintEpoch(client, id, input.serviceSecrets) : newest
    const changed = { current_epoch: current, erased_epochs: erased }
    return [{ organization_id: id, organization: name, ...changed }, `organization:${id}`, { name, ...changed }]
  })
}

/**
 * Wraps again, under the first secret, every key that another secret unwraps. Keys and fingerprints stay the same. Each
 * batch of one organization is one transaction with its audit row, so a run that was interrupted is simply repeated.
 * @param input.organization one organization; undefined: all.
 * @param onProgress gets the number of keys read so far.
 * @returns counts of keys, of which erased ones are in none, and the first keys that no secret unwraps; they stay as
 * they are.
 */
export async function rewrapFingerprints(
  operator: Operator,
  input: { readonly organization?: string | undefined; readonly serviceSecrets: ServiceSecrets },
  onProgress: (keys: number) => void = () => undefined,
) {
  const only = await idOf(organizationNamed, operator.database, input.organization)
  let [rewrapped, current, unopenedCount] = [0, 0, 0]
  const unopened: { readonly organization: string; readonly epoch: number }[] = []
  for await (const owners of fingerprintOwners(operator.database, only, rewrapBatchMax))
    for (const owner of owners)
      for (let afterEpoch: number | undefined = 0; afterEpoch !== undefined;) {
        const batch: RewrappedBatch = await rewrapBatch(operator, owner, afterEpoch, input.serviceSecrets)
        rewrapped += batch.rewrapped
        unopenedCount += batch.unopened.length
        current += batch.read - batch.rewrapped - batch.unopened.length
        const named = batch.unopened.slice(0, OPERATOR_BOUNDS.rewrapUnopenedNamedMax - unopened.length)
        unopened.push(...named.map((epoch) => ({ organization: owner.name, epoch })))
        onProgress(rewrapped + current + unopenedCount)
        afterEpoch = batch.nextAfter
      }
  return { rewrapped_keys: rewrapped, current_keys: current, unopened_keys: unopenedCount, unopened }
}

type RewrappedBatch = Awaited<ReturnType<typeof rewrapBatch>>

/** @returns counts, the epochs that no secret opens, and the one after which the next batch begins, if there is one. */
async function rewrapBatch(
  operator: Operator,
  { id, name }: FingerprintOwnerRow,
  afterEpoch: number,
  secrets: ServiceSecrets,
) {
  return await withAudit(operator, 'fingerprint.rewrap', async (client) => {
    const keys = await lockFingerprintKeys(client, id, afterEpoch, rewrapBatchMax)
    const rewrapped = new Map<number, Buffer>()
    const unopened: number[] = []
    for (const { epoch, wrapped } of keys) {
      try {
        const again = rewrapFingerprintKey(wrapped, { organizationId: id, epoch }, secrets)
        if (again !== undefined) rewrapped.set(epoch, again)
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error
        unopened.push(epoch)
      }
    }
    const epochs = [...rewrapped.keys()]
    await replaceFingerprintKeys(client, id, epochs, [...rewrapped.values()])
    const nextAfter = keys.length < rewrapBatchMax ? undefined : keys.at(-1)?.epoch
    const result = { read: keys.length, rewrapped: epochs.length, unopened, nextAfter }
    return epochs.length === 0 ? [result] : [result, `organization:${id}`, { name, epochs }]
  })
}
