import { OPERATOR_BOUNDS } from '#operator/actions/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import { rewrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import { listFingerprintOwners, lockFingerprintKeys, replaceFingerprintKeys } from '#core/db/fingerprint-keys.ts'
import type { FingerprintKeyRow, FingerprintOwnerRow } from '#core/db/fingerprint-keys.ts'
import type { Database } from '#core/db/pool.ts'
import { organizationNamed } from './names.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'

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
