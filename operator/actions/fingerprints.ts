import { OperatorError } from '#core/platform/errors.ts'
import { createFingerprintKey, rewrapFingerprintKey, wrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import {
  eraseFingerprintKeys,
  insertFingerprintKey,
  listFingerprintOwners,
  lockFingerprintKeys,
  newestFingerprintEpoch,
  replaceFingerprintKeys,
} from '#core/db/fingerprint-keys.ts'
import type { FingerprintKeyRow, FingerprintOwnerRow } from '#core/db/fingerprint-keys.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import { OPERATOR_BOUNDS } from './bounds.ts'
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

export interface RewrapFingerprints {
  /** One organization; undefined: all. */
  readonly organization?: string | undefined
  readonly serviceSecrets: ServiceSecrets
}

export interface UnopenedKey {
  readonly organization: string
  readonly epoch: number
}

/** Counts of keys; erased keys are in none of them. */
export interface FingerprintsRewrapped {
  readonly rewrapped_keys: number
  /** Keys that the first secret unwraps without any change. */
  readonly current_keys: number
  /** Keys that no secret unwraps; they stay as they are. */
  readonly unopened_keys: number
  /** The first of them. */
  readonly unopened: readonly UnopenedKey[]
}

/**
 * Wraps again, under the first secret, every key that another secret unwraps. Keys and fingerprints stay the same. Each
 * batch of one organization is one transaction with its audit row, so a run that was interrupted is simply repeated.
 * @param onProgress gets the number of keys read so far.
 */
export async function rewrapFingerprints(
  operator: Operator,
  input: RewrapFingerprints,
  onProgress: (keys: number) => void = () => undefined,
): Promise<FingerprintsRewrapped> {
  const { organization, serviceSecrets } = input
  const only = organization === undefined ? null : (await organizationNamed(operator.database, organization)).id
  let [rewrapped, current, unopenedCount] = [0, 0, 0]
  const unopened: UnopenedKey[] = []
  for await (const owner of ownersOf(operator.database, only)) {
    for (let afterEpoch: number | undefined = 0; afterEpoch !== undefined;) {
      const batch: RewrappedBatch = await rewrapBatch(operator, owner, afterEpoch, serviceSecrets)
      rewrapped += batch.rewrapped.length
      current += batch.current
      unopenedCount += batch.unopened.length
      const named = batch.unopened.slice(0, OPERATOR_BOUNDS.rewrapUnopenedNamedMax - unopened.length)
      unopened.push(...named.map((epoch) => ({ organization: owner.name, epoch })))
      onProgress(rewrapped + current + unopenedCount)
      afterEpoch = batch.nextAfter
    }
  }
  return { rewrapped_keys: rewrapped, current_keys: current, unopened_keys: unopenedCount, unopened }
}

async function* ownersOf(database: Database, only: string | null): AsyncGenerator<FingerprintOwnerRow> {
  let after: string | null = null
  for (;;) {
    const page: readonly FingerprintOwnerRow[] = await listFingerprintOwners(
      database,
      { only, after },
      OPERATOR_BOUNDS.rewrapBatchMax,
    )
    yield* page
    if (page.length < OPERATOR_BOUNDS.rewrapBatchMax) return
    after = page.at(-1)?.id ?? null
  }
}

interface RewrappedBatch {
  readonly rewrapped: readonly FingerprintKeyRow[]
  readonly current: number
  /** Epochs. */
  readonly unopened: readonly number[]
  /** The epoch after which the next batch begins; undefined if this was the last. */
  readonly nextAfter: number | undefined
}

async function rewrapBatch(
  operator: Operator,
  { id, name }: FingerprintOwnerRow,
  afterEpoch: number,
  secrets: ServiceSecrets,
): Promise<RewrappedBatch> {
  return withAudit(operator, async (client) => {
    const keys = await lockFingerprintKeys(client, id, afterEpoch, OPERATOR_BOUNDS.rewrapBatchMax)
    const { rewrapped, unopened } = rewrapAll(keys, id, secrets)
    await replaceFingerprintKeys(client, id, rewrapped)
    const nextAfter = keys.length < OPERATOR_BOUNDS.rewrapBatchMax ? undefined : keys.at(-1)?.epoch
    const epochs = rewrapped.map(({ epoch }) => epoch)
    return {
      result: { rewrapped, current: keys.length - rewrapped.length - unopened.length, unopened, nextAfter },
      audit:
        epochs.length === 0
          ? undefined
          : { action: 'fingerprint.rewrap', subject: `organization:${id}`, detail: { name, epochs } },
    }
  })
}

function rewrapAll(
  keys: readonly FingerprintKeyRow[],
  organizationId: string,
  secrets: ServiceSecrets,
): Pick<RewrappedBatch, 'rewrapped' | 'unopened'> {
  const rewrapped: FingerprintKeyRow[] = []
  const unopened: number[] = []
  for (const { epoch, wrapped } of keys) {
    try {
      const again = rewrapFingerprintKey(wrapped, { organizationId, epoch }, secrets)
      if (again !== undefined) rewrapped.push({ epoch, wrapped: again })
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      unopened.push(epoch)
    }
  }
  return { rewrapped, unopened }
}
