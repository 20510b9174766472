import { createSecretKey, type KeyObject } from 'node:crypto'
import { unwrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import type { PinnedRequest } from './pin.ts'

/** Unwrapped keys; each lives as long as the access entry that carries it. */
const unwrapped = new WeakMap<Buffer, KeyObject>()

/**
 * Returns the organization's key for digests of what must not be stored.
 * @throws ServiceError INTERNAL_UNAVAILABLE without a key: nothing could be metered.
 */
export function fingerprintKeyOf(
  secrets: ServiceSecrets,
  { fingerprintKey, organizationId }: PinnedRequest,
): { readonly key: KeyObject; readonly epoch: number } {
  if (fingerprintKey === undefined)
    throw new ServiceError('INTERNAL_UNAVAILABLE', {
      cause: new Error('the organization has no fingerprint key: run "operator fingerprints rotate"'),
    })
  const { wrapped, epoch } = fingerprintKey
  const key =
    unwrapped.get(wrapped) ?? createSecretKey(unwrapFingerprintKey(wrapped, { organizationId, epoch }, secrets))
  unwrapped.set(wrapped, key)
  return { key, epoch }
}
