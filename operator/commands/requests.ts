import { z } from 'zod'
import { listClients } from '#core/db/clients.ts'
import { optional } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import type { Commands, Shown } from '#operator/command-line/command.ts'
import { environment, instant, option, rows, text } from '#operator/command-line/inputs.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { group, list, verb } from '#operator/command-line/verbs.ts'
import { idempotencyDigests } from '#core/credentials/fingerprint.ts'
import type { Queryable } from '#core/db/pool.ts'
import { listRequests, readRequest, requestOfKey, requestOfTrace, type RequestRow } from '#core/db/requests.ts'
import { publicRequestId, publicTraceId } from '#core/platform/ids.ts'
import { readRefusals, type RefusalCount } from '#core/redis/refusals.ts'
import { clientNamed, idOf, isUuid } from '#operator/actions/names.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/operator.ts'

const REFUSED_BY = ['reason', 'client', 'day'] as const

const SERVICE_SECRET = {
  ...OPERATOR_VARIABLES.SERVICE_SECRET,
  schema: optional(OPERATOR_VARIABLES.SERVICE_SECRET.schema),
}

export const commands: Commands = [
  group('requests', 'what became of a request: show, list', [
    verb('show [id]', 'show what is on record of a request', {
      notes: 'The id is req_… or ret_… of a reply. Query and passages are not on record, but their digests are.',
      input: {
        id: text.optional(),
        idempotencyKey: option('<key>', 'in place of the id; needs --client and SERVICE_SECRET'),
        client: option('<client>', 'the client that sent the key'),
        environment: option(
          '<environment>',
          'in which it was sent: test or live; default: live',
          environment.default('live'),
        ),
      },
      variables: { SERVICE_SECRET },
      async run({ id, idempotencyKey: key, client, environment: where }, { database, config }) {
        const { SERVICE_SECRET: secrets } = config
        if (id !== undefined && key === undefined) return shown(await requestNamed(database, id))
        if (id !== undefined || key === undefined)
          throw new OperatorError('Name the request once: by its id, or by --idempotency-key and --client.')
        if (client === undefined) throw new OperatorError('A key belongs to one client: name it with --client.')
        if (secrets === undefined)
          throw new OperatorError(
            'Keys are on record only as digests: set SERVICE_SECRET to the secret of the gateways.',
          )
        const { id: clientId } = await clientNamed(database, client)
        const digests = idempotencyDigests(secrets, clientId, where, key)
        return shown(await admitted(database, await requestOfKey(database, clientId, where, digests)))
      },
    }),
    list('list', 'list admitted requests of a client, the newest first', {
      input: {
        client: option('<client>', 'name, ORGANIZATION/CLIENT or UUID', text),
        since: option('<when>', 'from this UTC day or instant; default: the last 24 hours', instant.optional()),
        rows,
      },
      async read({ client, since = new Date(Date.now() - DAY_MS), rows: limit }, { database }) {
        const { id: clientId, organization_id: organizationId } = await clientNamed(database, client)
        const found = await listRequests(database, organizationId, clientId, since, limit)
        return found.map((row) => ({ request_id: publicRequestId(row.id), ...row }))
      },
      columns: 'request_id admitted_at environment knowledge_base state decision error_code=error results',
      empty: 'No request was admitted in this time: go further back with --since.',
    }),
    verb('refused', 'count refused requests by reason: 401, 403, 429 and 503', {
      notes:
        'Gateways count them by UTC day, and the counts are kept in Redis for 30 days. A request without a valid key has ' +
        'no client.',
      input: {
        client: option('<client>', 'only those of one client'),
        by: option(
          '<reason|client|day>',
          'default: reason',
          z.enum(REFUSED_BY, 'must be reason, client or day').default('reason'),
        ),
        since: option('<when>', 'from this UTC day on; default: today', instant.optional()),
      },
      variables: { REDIS_URL: OPERATOR_VARIABLES.REDIS_URL },
      async run({ client, by, since = new Date() }, { database, config }) {
        const only = await idOf(clientNamed, database, client)
        const found = await withQueues(config.REDIS_URL, (_open, redis) => readRefusals(redis, since))
        const kept = found.filter((one) => only === null || one.client_id === only)
        const clients = await listClients(database, null, OPERATOR_BOUNDS.operatorRowsMax)
        const names = new Map(clients.map((row) => [row.id, `${row.organization}/${row.name}`]))
        const grouped = refusedBy(kept, by, names)
        const empty = 'Nothing was refused in this time: go further back with --since.'
        return [grouped, () => table(grouped, 'group status reason count', empty)]
      },
    }),
  ]),
]

/** Sums counts of one group, status and reason, the largest first. */
function refusedBy(
  counts: readonly RefusalCount[],
  by: (typeof REFUSED_BY)[number],
  names: ReadonlyMap<string, string>,
) {
  const groupOf = ({ day, client_id: id }: RefusalCount): string =>
    by === 'day' ? day : by === 'client' ? (names.get(id) ?? (id === '' ? 'no client' : id)) : 'all'
  const groups = Map.groupBy(counts, (one) => JSON.stringify([groupOf(one), one.status, one.reason]))
  return [...groups.values()]
    .flatMap((all) => {
      const [first] = all
      if (first === undefined) return []
      const count = all.reduce((sum, one) => sum + one.count, 0)
      return [{ group: groupOf(first), status: first.status, reason: first.reason, count }]
    })
    .toSorted((a, b) => b.count - a.count)
}

function shown(row: RequestRow): Shown {
  const record = shownRequest(row)
  return [record, fields(record)]
}

/**
 * @param name `req_…`, `ret_…` or either UUID without its prefix.
 * @throws OperatorError where no request was admitted under it.
 */
export async function requestNamed(database: Queryable, name: string): Promise<RequestRow> {
  const uuid = name.replace(/^re[qt]_/, '')
  if (!isUuid(uuid)) throw new OperatorError('The id is none: write it as a reply has it, req_… or ret_….')
  if (name.startsWith('req_')) return await admitted(database, uuid)
  const traced = await requestOfTrace(database, uuid)
  return await admitted(database, traced ?? (name.startsWith('ret_') ? undefined : uuid))
}

async function admitted(database: Queryable, id: string | undefined): Promise<RequestRow> {
  const row = id === undefined ? undefined : await readRequest(database, id)
  if (row === undefined)
    throw new OperatorError(
      'There is no such request: one that was refused before its admission is only in the log of the gateway, and in the counts ' +
        'of "operator requests refused".',
    )
  return row
}

/** What an operator sees of a request: everything on record but digests under the organization's key. */
function shownRequest(row: RequestRow): object {
  const { chunk_ids: chunks, error_code: error, ...outcome } = row.outcome ?? {}
  const texts = row.replay?.passage_sha256 ?? []
  return {
    request_id: publicRequestId(row.id),
    trace_id: publicTraceId(row.trace_id),
    state: row.state,
    charged: row.charged ?? (row.state === 'delivered' || row.state === 'failed'),
    why: whyOf(row, error, outcome),
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
    considered: row.grounds,
    passages: (Array.isArray(chunks) ? chunks : []).map((chunk, at) => ({
      chunk_id: String(chunk),
      text_sha256: texts[at] ?? null,
    })),
    fingerprint_epoch: row.fingerprint_epoch,
    fingerprint_key: row.fingerprint_key === null ? 'erased' : 'kept',
    ledger_entry_at: row.appended_at,
  }
}

/** What is said of an unsupported reference. */
export const UNSUPPORTED = {
  not_in_corpus: 'not held',
  outside_filters: 'outside the filters',
  withdrawn: 'withdrawn',
} as const

/** @param unsupported clauses. @param listed passages of the list. @returns a clause that follows "because". */
export function decidedBecause(
  { allowed, unsupported, listed }: Readonly<{ allowed?: number; unsupported: readonly string[]; listed?: number }>,
  { decision, value, threshold }: { readonly decision: string; readonly value: number; readonly threshold: number },
): string {
  const worth = `the evidence is worth ${value.toFixed(3)}, which`
  if (decision === 'answer') return `${worth} reaches the threshold ${threshold.toFixed(3)}`
  if (allowed === 0) return 'the filters leave no passage'
  if (unsupported.length > 0) return unsupported.join(' and ')
  if (listed === 0) return 'no passage shares a word or a vector with the question'
  return value < threshold
    ? `${worth} is below the threshold ${threshold.toFixed(3)}`
    : 'of a reason that is no longer on record'
}

const decidedSchema = z.object({
  decision: z.enum(['answer', 'abstain']),
  observed_value: z.number(),
  threshold: z.number(),
})

/** One sentence. The grounds are forgotten after 30 days; value and threshold stay. */
function whyDecided(grounds: RequestRow['grounds'], outcome: object): string {
  const { decision, observed_value: value, threshold } = decidedSchema.parse(outcome)
  const unsupported = Object.entries(UNSUPPORTED).flatMap(([reason, said]) => {
    const count = grounds?.unsupported[reason] ?? 0
    if (count === 0) return []
    return [`${count} of the provisions that the question names ${count === 1 ? 'is' : 'are'} ${said}`]
  })
  const known = grounds === null ? {} : { allowed: grounds.allowed, listed: grounds.candidates.length }
  const because = decidedBecause({ ...known, unsupported }, { decision, value, threshold })
  return `${decision === 'answer' ? 'an answer' : 'an abstention'} was delivered, because ${because}`
}

function whyOf({ state, grounds }: RequestRow, error: unknown, outcome: object): string {
  switch (state) {
    case 'open':
      return 'it is under way, or its gateway ended and the sweeper will refund it'
    case 'delivered':
      return whyDecided(grounds, outcome)
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
