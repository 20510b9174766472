import { randomUUID } from 'node:crypto'
import { RETRIEVAL_SCOPE, issueKey, type KeyEnvironment } from '#core/credentials/api-key.ts'
import type { Pepper } from '#core/credentials/settings.ts'
import { expireKey, insertKey, revokeKey } from '#core/db/api-keys.ts'
import { clientHasEntitlement } from '#core/db/entitlements.ts'
import type { Queryable } from '#core/db/pool.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { clientNamed, keyNamed } from './names.ts'
import { withAudit, type Operator } from './operator.ts'

export const KEY_DAYS_DEFAULT = 365
export const KEY_DAYS_MAX = 730
export const OVERLAP_HOURS_DEFAULT = 24
export const OVERLAP_HOURS_MAX = 720
const SCOPES_MAX = 16
const DAY_SECONDS = 86_400

interface NewKey {
  readonly environment: KeyEnvironment
  /** Default: `retrieval:read` alone. */
  readonly scopes?: readonly string[]
  /** Whole days, 1 to 730; default 365. */
  readonly expiresInDays?: number
  /** New keys are hashed under the first pepper. */
  readonly peppers: readonly Pepper[]
}

/**
 * Issues a key to a client that has an entitlement in the environment.
 * @param input.client name, `organization/client` or UUID.
 */
export async function issueKeyFor(operator: Operator, input: NewKey & { readonly client: string }) {
  const { id, name } = await clientNamed(operator.database, input.client)
  if (!(await clientHasEntitlement(operator.database, id, input.environment)))
    throw new OperatorError(
      `"${name}" has no entitlement in ${input.environment}: approve one with "operator ` +
        'entitlements grant" before issuing a key.',
    )
  return withAudit(operator, 'key.issue', async (database) => {
    const issued = await insertIssued(database, { id, name }, input)
    return [issued, `key:${issued.id}`, { client_id: id, ...publicPart(issued) }]
  })
}

export interface RotateKeyInput extends Omit<NewKey, 'environment' | 'scopes'> {
  /** Prefix or UUID of the key to be replaced. */
  readonly key: string
  /** Hours for which the old key still works: 0 to 720, default 24, but never past its expiry. */
  readonly overlapHours?: number
}

/** Issues a key like the old one and ends the old one after the overlap. Idempotency keys and allowances carry over. */
export async function rotateKey(operator: Operator, input: RotateKeyInput) {
  const overlapHours = input.overlapHours ?? OVERLAP_HOURS_DEFAULT
  if (!(overlapHours >= 0 && overlapHours <= OVERLAP_HOURS_MAX))
    throw new OperatorError(`An overlap is 0 to ${OVERLAP_HOURS_MAX} hours: choose one in this range.`)
  return withAudit(operator, 'key.rotate', async (database) => {
    const { id, prefix, state, client_id, client, environment, scopes } = await keyNamed(database, input.key)
    if (state === 'expired' || state === 'revoked')
      throw new OperatorError(
        `The key ${prefix} is ${state}, there is nothing to rotate: issue a new one with "operator keys issue".`,
      )
    const issued = await insertIssued(database, { id: client_id, name: client }, { ...input, environment, scopes })
    const replaces = { id, prefix, expires_at: await expireKey(database, id, overlapHours * 3_600) }
    return [{ ...issued, replaces }, `key:${issued.id}`, { client_id, ...publicPart(issued), replaces }]
  })
}

/** Ends a key now; every gateway refuses it within five seconds. */
export async function revokeKeyNow(operator: Operator, prefixOrId: string) {
  return withAudit(operator, 'key.revoke', async (database) => {
    const { id, prefix, client_id, client } = await keyNamed(database, prefixOrId)
    if (!(await revokeKey(database, id)))
      throw new OperatorError(`The key ${prefix} is revoked already: nothing was changed.`)
    return [{ id, prefix, client }, `key:${id}`, { client_id, client, prefix }]
  })
}

type KeyIssued = Awaited<ReturnType<typeof insertIssued>>

/** @returns the key itself too, which is stored nowhere. */
async function insertIssued(
  database: Queryable,
  client: { readonly id: string; readonly name: string },
  { environment, scopes = [RETRIEVAL_SCOPE], expiresInDays: days = KEY_DAYS_DEFAULT, peppers: [pepper] }: NewKey,
) {
  if (!Number.isInteger(days) || days < 1 || days > KEY_DAYS_MAX)
    throw new OperatorError(`A key is valid for 1 to ${KEY_DAYS_MAX} whole days: choose an expiry in this range.`)
  if (scopes.length > SCOPES_MAX || scopes.some((scope) => !/^[a-z]{1,32}:[a-z]{1,32}$/.test(scope)))
    throw new OperatorError(
      `Scopes look like ${RETRIEVAL_SCOPE}, at most ${SCOPES_MAX} separated by commas: correct them.`,
    )
  if (pepper === undefined)
    throw new OperatorError('KEY_PEPPERS names no pepper: set it to the value that the gateways use.')
  const { secret, pepperName, ...made } = issueKey(environment, pepper)
  const id: string = randomUUID()
  const row = { ...made, id, client_id: client.id, environment, pepper: pepperName, scopes }
  const expires_at = await insertKey(database, { ...row, lifetimeSeconds: days * DAY_SECONDS })
  return { id, key: secret, prefix: made.prefix, client: client.name, environment, scopes, expires_at }
}

/** Returns the fields of an issued key that the audit trail may hold. */
function publicPart({ key: _key, id: _id, ...shown }: KeyIssued): Omit<KeyIssued, 'key' | 'id'> {
  return shown
}
