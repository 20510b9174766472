import { idempotencyDigests } from '#core/credentials/fingerprint.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import type { Queryable } from '#core/db/pool.ts'
import { listRequests, readRequest, requestOfKey, requestOfTrace } from '#core/db/requests.ts'
import type { RequestListRow, RequestRow } from '#core/db/requests.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { publicRequestId, publicTraceId } from '#core/platform/ids.ts'
import { clientNamed, isUuid } from './names.ts'

/** How a request is looked up: by an id that its caller saw, or by its Idempotency-Key. */
export type RequestName =
  | { readonly id: string }
  | {
      readonly idempotencyKey: string
      readonly client: string
      readonly environment: 'test' | 'live'
      readonly serviceSecrets: ServiceSecrets
    }

/**
 * @param name `req_…`, `ret_…` or either UUID without its prefix.
 * @throws OperatorError where no request was admitted under it.
 */
export async function requestNamed(database: Queryable, name: RequestName): Promise<RequestRow> {
  const id = 'id' in name ? await idOf(database, name.id) : await idOfKey(database, name)
  const row = id === undefined ? undefined : await readRequest(database, id)
  if (row === undefined)
    throw new OperatorError(
      'There is no such request: one that was refused before its admission is only in the log of the gateway; see ' +
        '"operator requests list".',
    )
  return row
}

async function idOf(database: Queryable, name: string): Promise<string | undefined> {
  const uuid = name.replace(/^re[qt]_/, '')
  if (!isUuid(uuid)) throw new OperatorError('The id is none: write it as a reply has it, req_… or ret_….')
  if (name.startsWith('req_')) return uuid
  const traced = await requestOfTrace(database, uuid)
  return traced ?? (name.startsWith('ret_') ? undefined : uuid)
}

async function idOfKey(
  database: Queryable,
  name: Extract<RequestName, { readonly idempotencyKey: string }>,
): Promise<string | undefined> {
  const { id } = await clientNamed(database, name.client)
  const digests = idempotencyDigests(name.serviceSecrets, id, name.environment, name.idempotencyKey)
  return requestOfKey(database, id, name.environment, digests)
}

/** What an operator sees of a request: everything on record but digests under the organization's key. */
export function shownRequest(row: RequestRow): object {
  const { chunk_ids: chunks, error_code: error, ...outcome } = row.outcome ?? {}
  const texts = row.replay?.passage_sha256 ?? []
  return {
    request_id: publicRequestId(row.id),
    trace_id: publicTraceId(row.trace_id),
    state: row.state,
    charged: row.charged ?? (row.state === 'delivered' || row.state === 'failed'),
    why: whyOf(row, error),
    organization: row.organization,
    client: row.client,
    environment: row.environment,
    api_key: row.api_key,
    api_key_id: row.api_key_id,
    entitlement_id: row.entitlement_id,
    plan: row.plan,
    knowledge_base: row.knowledge_base,
    version: row.version_id,
    projection: row.projection,
    retrieval_profile: row.profile_id,
    in_force_on: row.in_force_on,
    filters: row.filters,
    idempotency_key: row.idempotency_key,
    admitted_at: row.admitted_at,
    finished_at: row.finished_at,
    ...outcome,
    error_code: error ?? null,
    passages: (Array.isArray(chunks) ? chunks : []).map((chunk, at) => ({
      chunk_id: String(chunk),
      text_sha256: texts[at] ?? null,
    })),
    fingerprint_epoch: row.fingerprint_epoch,
    fingerprint_key: row.fingerprint_key === null ? 'erased' : 'kept',
    ledger_entry_at: row.appended_at,
  }
}

function whyOf({ state }: RequestRow, error: unknown): string {
  switch (state) {
    case 'open':
      return 'it is under way, or its gateway ended and the sweeper will refund it'
    case 'delivered':
      return 'an answer or an abstention was delivered'
    case 'refunded':
      return `the caller was refused with ${String(error)}, and day and month were given back`
    case 'failed':
      return typeof error === 'string'
        ? `the caller was refused with ${error}, and the refunds of the day were used up`
        : 'the caller hung up'
    default:
      return state satisfies never
  }
}

export async function requestsOf(
  database: Queryable,
  input: { readonly client: string; readonly since: Date; readonly limit: number },
): Promise<readonly (RequestListRow & { readonly request_id: string })[]> {
  const client = await clientNamed(database, input.client)
  const scope = { organizationId: client.organization_id, clientId: client.id }
  const rows = await listRequests(database, scope, input.since, input.limit)
  return rows.map((row) => ({ request_id: publicRequestId(row.id), ...row }))
}
