import { OperatorError } from '#core/platform/errors.ts'
import { createFingerprintKey, wrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import { eraseFingerprintKeys, insertFingerprintKey, newestFingerprintEpoch } from '#core/db/fingerprint-keys.ts'
import type { Queryable } from '#core/db/pool.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import { organizationNamed } from './names.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'

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

export interface FingerprintsChanged {
  readonly organization_id: string
  readonly organization: string
  readonly current_epoch: number
}

/**
 * Opens a new epoch. Fingerprints of one query before and after it no longer match. Those of one earlier epoch stay
 * comparable.
 */
export async function rotateFingerprints(
  operator: Operator,
  input: { readonly organization: string; readonly serviceSecrets: ServiceSecrets },
): Promise<FingerprintsChanged> {
  const { id, name } = await organizationNamed(operator.database, input.organization)
  return withAudit(operator, async (client) => {
    const epoch = await createFingerprintEpoch(client, id, input.serviceSecrets)
    return {
      result: { organization_id: id, organization: name, current_epoch: epoch },
      audit: { action: 'fingerprint.rotate', subject: `organization:${id}`, detail: { name, epoch } },
    }
  })
}

export interface EraseFingerprints {
  readonly organization: string
  /** One epoch; undefined: all. */
  readonly epoch?: number | undefined
  readonly serviceSecrets: ServiceSecrets
}

/**
 * Erases wrapped keys permanently, so that no query can be matched against their fingerprints. Erasing the current key
 * opens a new epoch at once, so that serving is not interrupted.
 */
export async function eraseFingerprints(
  operator: Operator,
  input: EraseFingerprints,
): Promise<FingerprintsChanged & { readonly erased_epochs: readonly number[] }> {
  const { id, name } = await organizationNamed(operator.database, input.organization)
  return withAudit(operator, async (client) => {
    const newest = await newestFingerprintEpoch(client, id)
    const erased = await eraseFingerprintKeys(client, id, input.epoch ?? null)
    if (erased.length === 0)
      throw new OperatorError(`"${name}" has no fingerprint key left there to erase: see "operator fingerprints list".`)
    const current = erased.includes(newest) ? await createFingerprintEpoch(client, id, input.serviceSecrets) : newest
    const result = { organization_id: id, organization: name, current_epoch: current, erased_epochs: erased }
    return {
      result,
      audit: {
        action: 'fingerprint.erase',
        subject: `organization:${id}`,
        detail: { name, erased_epochs: erased, current_epoch: current },
      },
    }
  })
}
