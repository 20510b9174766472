import { randomUUID } from 'node:crypto'
import { OperatorError } from '#core/platform/errors.ts'
import { RETRIEVAL_SCOPE, issueKey } from '#core/credentials/api-key.ts'
import type { KeyEnvironment } from '#core/credentials/api-key.ts'
import type { Pepper } from '#core/credentials/settings.ts'
import { clientHasEntitlement } from '#core/db/entitlements.ts'
import { expireKey, insertKey, revokeKey } from '#core/db/api-keys.ts'
import type { Queryable } from '#core/db/pool.ts'
import { clientNamed, keyNamed } from './names.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'

export const KEY_DAYS_DEFAULT = 365
export const KEY_DAYS_MAX = 730
export const OVERLAP_HOURS_DEFAULT = 24
export const OVERLAP_HOURS_MAX = 720
const SCOPES_MAX = 16
const DAY_SECONDS = 86_400

export interface IssueKeyInput {
  /** Name, `organization/client` or UUID. */
  readonly client: string
  readonly environment: KeyEnvironment
  /** Default: `retrieval:read` alone. */
  readonly scopes?: readonly string[]
  /** Whole days, 1 to 730; default 365. */
  readonly expiresInDays?: number
  /** New keys are hashed under the first pepper. */
  readonly peppers: readonly Pepper[]
}

export interface KeyIssued {
  readonly id: string
  /** The key itself; it is returned only here. */
  readonly key: string
  readonly prefix: string
  readonly client: string
  readonly environment: KeyEnvironment
  readonly scopes: readonly string[]
  readonly expires_at: Date
}

/** Issues a key to a client that has an entitlement in the environment. */
export async function issueKeyFor(operator: Operator, input: IssueKeyInput): Promise<KeyIssued> {
  const client = await clientNamed(operator.database, input.client)
  if (!(await clientHasEntitlement(operator.database, client.id, input.environment))) {
    throw new OperatorError(
      `"${client.name}" has no entitlement in ${input.environment}: approve one with "operator ` +
        'entitlements grant" before issuing a key.',
    )
  }
  return withAudit(operator, async (database) => {
    const issued = await insertIssued(database, { ...input, clientId: client.id, client: client.name })
    return {
      result: issued,
      audit: {
        action: 'key.issue',
        subject: `key:${issued.id}`,
        detail: { client_id: client.id, ...publicPart(issued) },
      },
    }
  })
}

export interface RotateKeyInput {
  /** Prefix or UUID of the key to be replaced. */
  readonly key: string
  /** Hours for which the old key still works: 0 to 720, default 24, but never past its expiry. */
  readonly overlapHours?: number
  readonly expiresInDays?: number
  readonly peppers: readonly Pepper[]
}

export interface KeyRotated extends KeyIssued {
  readonly replaces: { readonly id: string; readonly prefix: string; readonly expires_at: Date }
}

/** Issues a key like the old one and ends the old one after the overlap. Idempotency keys and allowances carry over. */
export async function rotateKey(operator: Operator, input: RotateKeyInput): Promise<KeyRotated> {
  const overlapHours = input.overlapHours ?? OVERLAP_HOURS_DEFAULT
  if (!(overlapHours >= 0 && overlapHours <= OVERLAP_HOURS_MAX))
    throw new OperatorError(`An overlap is 0 to ${OVERLAP_HOURS_MAX} hours: choose one in this range.`)
  return withAudit(operator, async (database) => {
    const old = await keyNamed(database, input.key)
    if (old.state !== 'valid')
      throw new OperatorError(
        `The key ${old.prefix} is ${old.state}, there is nothing to rotate: ` +
          'issue a new one with "operator keys issue".',
      )
    const issued = await insertIssued(database, {
      ...input,
      clientId: old.client_id,
      client: old.client,
      environment: old.environment,
      scopes: old.scopes,
    })
    const replaces = {
      id: old.id,
      prefix: old.prefix,
      expires_at: await expireKey(database, old.id, overlapHours * 3_600),
    }
    const audit = {
      action: 'key.rotate',
      subject: `key:${issued.id}`,
      detail: { client_id: old.client_id, ...publicPart(issued), replaces },
    }
    return { result: { ...issued, replaces }, audit }
  })
}

/** Ends a key now; every gateway refuses it within five seconds. */
export async function revokeKeyNow(
  operator: Operator,
  prefixOrId: string,
): Promise<{ readonly id: string; readonly prefix: string; readonly client: string }> {
  return withAudit(operator, async (database) => {
    const key = await keyNamed(database, prefixOrId)
    if (!(await revokeKey(database, key.id)))
      throw new OperatorError(`The key ${key.prefix} is revoked already: nothing was changed.`)
    const audit = {
      action: 'key.revoke',
      subject: `key:${key.id}`,
      detail: { client_id: key.client_id, client: key.client, prefix: key.prefix },
    }
    return { result: { id: key.id, prefix: key.prefix, client: key.client }, audit }
  })
}

interface Issue {
  readonly clientId: string
  readonly client: string
  readonly environment: KeyEnvironment
  readonly scopes?: readonly string[]
  readonly expiresInDays?: number
  readonly peppers: readonly Pepper[]
}

async function insertIssued(database: Queryable, issue: Issue): Promise<KeyIssued> {
  const days = issue.expiresInDays ?? KEY_DAYS_DEFAULT
  if (!Number.isInteger(days) || days < 1 || days > KEY_DAYS_MAX)
    throw new OperatorError(`A key is valid for 1 to ${KEY_DAYS_MAX} whole days: choose an expiry in this range.`)
  const scopes = issue.scopes ?? [RETRIEVAL_SCOPE]
  if (scopes.length > SCOPES_MAX || scopes.some((scope) => !/^[a-z]{1,32}:[a-z]{1,32}$/.test(scope))) {
    throw new OperatorError(
      `Scopes look like ${RETRIEVAL_SCOPE}, at most ${SCOPES_MAX} separated by commas: correct them.`,
    )
  }
  const [pepper] = issue.peppers
  if (pepper === undefined)
    throw new OperatorError('KEY_PEPPERS names no pepper: set it to the value that the gateways use.')
  const { secret, digest, pepperName, prefix } = issueKey(issue.environment, pepper)
  const id = randomUUID()
  const expiresAt = await insertKey(database, {
    id,
    clientId: issue.clientId,
    environment: issue.environment,
    digest,
    pepperName,
    prefix,
    scopes,
    lifetimeSeconds: days * DAY_SECONDS,
  })
  return {
    id,
    key: secret,
    prefix,
    client: issue.client,
    environment: issue.environment,
    scopes,
    expires_at: expiresAt,
  }
}

/** Returns the fields of an issued key that the audit trail may hold. */
function publicPart(issued: KeyIssued): Omit<KeyIssued, 'key' | 'id'> {
  const { prefix, client, environment, scopes, expires_at } = issued
  return { prefix, client, environment, scopes, expires_at }
}
