import { z } from 'zod'
import { findKeys, type KeyRow } from '#core/db/api-keys.ts'
import { findClients, type ClientRow } from '#core/db/clients.ts'
import { listVersions, showBuild, showImport, showVersion } from '#core/db/corpus-lists.ts'
import { findEntitlements, type EntitlementRow } from '#core/db/entitlements.ts'
import { findKnowledgeBase } from '#core/db/knowledge-bases.ts'
import { findOrganization } from '#core/db/organizations.ts'
import { findPlan } from '#core/db/plans.ts'
import type { Queryable } from '#core/db/pool.ts'
import { readVersion } from '#core/db/versions.ts'
import { readWithdrawal } from '#core/db/withdrawals.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { OPERATOR_BOUNDS } from './operator.ts'

/** Look-ups by name or UUID. Each returns the row, or fails with a message that says what to do next. */

const NAME_CHARACTERS_MAX = 200
const UNFIT = /[/\p{Cc}\p{Bidi_Control}\u200b\u2060\ufeff]/u
const uuid = z.uuid()

export function isUuid(text: string): boolean {
  return uuid.safeParse(text).success
}

/** @throws OperatorError for a name that could be read as a UUID or a path, or that a table cannot show. */
export function checkedName(what: string, name: string): string {
  const trimmed = name.trim()
  const fits = trimmed.length > 0 && trimmed.length <= NAME_CHARACTERS_MAX && !UNFIT.test(trimmed) && !isUuid(trimmed)
  if (!fits)
    throw new OperatorError(
      `A name of ${what} has 1 to ${NAME_CHARACTERS_MAX} characters, no "/" and no control ` +
        'or invisible characters, and is not a UUID: choose another.',
    )
  return trimmed
}

type LookUp<T> = (database: Queryable, name: string) => Promise<T>

export async function idOf(named: LookUp<{ readonly id: string }>, database: Queryable, name: string | undefined) {
  return name === undefined ? null : (await named(database, name)).id
}

/** @param list the command that shows what there is. */
function lookUp<T>(find: LookUp<T | undefined>, what: string, list: string): LookUp<T> {
  return async (database, name) => known(await find(database, name), what, name, list)
}

function byId<T>(find: LookUp<T | undefined>): LookUp<T | undefined> {
  return async (database, id) => (isUuid(id) ? await find(database, id) : undefined)
}

/** A version by its id, or by the slug of its knowledge base: its only candidate or, without one, its active version. */
function versionBy<T>(find: LookUp<T | undefined>): LookUp<T | undefined> {
  return async (database, name) => {
    const base = isUuid(name) ? undefined : await findKnowledgeBase(database, name)
    if (base === undefined) return await byId(find)(database, name)
    const versions = await listVersions(database, base.id, OPERATOR_BOUNDS.operatorRowsDefault)
    const [first, ...others] = versions.filter(({ state }) => state === 'candidate')
    if (others.length > 0)
      throw new OperatorError(`"${name}" has several candidates: name one by its id, see "operator versions list".`)
    const id = first?.id ?? base.active_version_id
    return id === null ? undefined : await find(database, id)
  }
}

export const organizationNamed = lookUp(findOrganization, 'organization', 'organizations list')
export const planNamed = lookUp(findPlan, 'plan', 'plans list')
export const knowledgeBaseNamed = lookUp(findKnowledgeBase, 'knowledge base', 'knowledge-bases list')
export const importNamed = lookUp(byId(showImport), 'import', 'imports list')
export const buildNamed = lookUp(byId(showBuild), 'build', 'build list')
export const versionNamed = lookUp(versionBy(showVersion), 'version', 'versions list')
/** The version as an activation reads it, with what was compared and the digests of its files. */
export const versionRowNamed = lookUp(versionBy(readVersion), 'version', 'versions list')
export const withdrawalNamed = lookUp(byId(readWithdrawal), 'withdrawal', 'withdrawals list')

export async function clientNamed(database: Queryable, nameOrId: string): Promise<ClientRow> {
  const [first, second] = await findClients(database, nameOrId)
  if (second !== undefined)
    throw new OperatorError(
      `Several organizations have a client "${nameOrId}": write ORGANIZATION/CLIENT, e.g. ` +
        `"${second.organization}/${second.name}".`,
    )
  return known(first, 'client', nameOrId, 'clients list')
}

export async function entitlementNamed(database: Queryable, nameOrId: string): Promise<EntitlementRow> {
  const [first, second] = await findEntitlements(database, nameOrId)
  if (second !== undefined)
    throw new OperatorError(
      `Several organizations have an entitlement "${nameOrId}": put the organization and "/" before ` +
        `it, e.g. "${second.organization}/${nameOrId}".`,
    )
  return known(first, 'entitlement', nameOrId, 'entitlements list')
}

export async function keyNamed(database: Queryable, prefixOrId: string): Promise<KeyRow> {
  const [first, second] = await findKeys(database, prefixOrId)
  if (second !== undefined)
    throw new OperatorError(
      `Several keys begin with "${prefixOrId}": name the key by its id from "operator keys list".`,
    )
  if (first === undefined && prefixOrId.length > 20 && prefixOrId.startsWith('erk_')) {
    throw new OperatorError(
      'That is a whole key: name it by its id or its prefix from "operator keys list", and keep the ' +
        'key itself out of your shell history.',
    )
  }
  return known(first, 'key', prefixOrId, 'keys list')
}

function known<T>(found: T | undefined, what: string, name: string, list: string): T {
  if (found === undefined) throw new OperatorError(`There is no ${what} "${name}": see "operator ${list}".`)
  return found
}
