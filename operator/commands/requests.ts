import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { optional } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { requestNamed, requestsOf, shownRequest } from '#operator/actions/requests.ts'
import type { RequestName } from '#operator/actions/requests.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { environment, instant, rows, text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { fields, table } from '#operator/command-line/table.ts'

const SERVICE_SECRET = {
  ...OPERATOR_VARIABLES.SERVICE_SECRET,
  schema: optional(OPERATOR_VARIABLES.SERVICE_SECRET.schema),
}

export function addRequests(program: OperatorCommand): void {
  const requests = addCommandGroup(program, 'requests', 'what became of a request: show, list')
  addDatabaseCommand(requests, {
    usage: 'show [id]',
    summary: 'show what is on record of a request',
    flags: {
      '--idempotency-key <key>': 'in place of the id; needs --client and SERVICE_SECRET',
      '--client <client>': 'the client that sent the key',
      '--environment <environment>': 'in which it was sent: test or live; default: live',
    },
    notes: 'The id is req_… or ret_… of a reply. Query and passages are not on record, but their digests are.',
    examples: [
      'requests show req_8a4d5e0b-2f6c-4c0e-9d55-6a1f3f0c7e21',
      'requests show --idempotency-key 4f3c2b1a-0e9d-4c8b-a7f6-5e4d3c2b1a09 --client "Advice Desk"',
    ],
    input: {
      id: text.optional(),
      idempotencyKey: text.optional(),
      client: text.optional(),
      environment: environment.default('live'),
    },
    variables: { SERVICE_SECRET },
    run: async (input, { operator, config, show }) => {
      const row = await requestNamed(operator.database, nameOf(input, config.SERVICE_SECRET))
      const shown = shownRequest(row)
      show(shown, () => fields(shown))
    },
  })
  addDatabaseCommand(requests, {
    usage: 'list',
    summary: 'list admitted requests of a client, the newest first',
    flags: {
      '--client <client>': 'name, ORGANIZATION/CLIENT or UUID',
      '--since <when>': 'from this UTC day or instant; default: the last 24 hours',
      '--rows <n>': 'show at most so many',
    },
    examples: ['requests list --client "Advice Desk" --since 2026-11-01'],
    input: { client: text, since: instant.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const since = input.since ?? new Date(Date.now() - DAY_MS)
      const found = await requestsOf(operator.database, { client: input.client, since, limit: input.rows })
      const columns = {
        request_id: 'request',
        admitted_at: 'admitted',
        environment: 'environment',
        knowledge_base: 'knowledge base',
        state: 'state',
        decision: 'decision',
        error_code: 'error',
        results: 'results',
      }
      show(found, () => table(found, columns, 'No request was admitted in this time: go further back with --since.'))
    },
  })
}

function nameOf(
  input: {
    readonly id?: string | undefined
    readonly idempotencyKey?: string | undefined
    readonly client?: string | undefined
    readonly environment: 'test' | 'live'
  },
  serviceSecrets: Extract<RequestName, { readonly idempotencyKey: string }>['serviceSecrets'] | undefined,
): RequestName {
  const { id, idempotencyKey, client } = input
  if (id !== undefined && idempotencyKey === undefined) return { id }
  if (id !== undefined || idempotencyKey === undefined)
    throw new OperatorError('Name the request once: by its id, or by --idempotency-key and --client.')
  if (client === undefined) throw new OperatorError('A key belongs to one client: name it with --client.')
  if (serviceSecrets === undefined)
    throw new OperatorError('Keys are on record only as digests: set SERVICE_SECRET to the secret of the gateways.')
  return { idempotencyKey, client, environment: input.environment, serviceSecrets }
}
