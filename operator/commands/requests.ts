import type { RequestRow } from '#core/db/requests.ts'
import { optional } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { requestNamed, requestsOf, shownRequest } from '#operator/actions/requests.ts'
import type { Commands, Shown } from '#operator/command-line/command.ts'
import { environment, instant, option, rows, text } from '#operator/command-line/inputs.ts'
import { fields } from '#operator/command-line/table.ts'
import { group, list, verb } from '#operator/command-line/verbs.ts'

const SERVICE_SECRET = {
  ...OPERATOR_VARIABLES.SERVICE_SECRET,
  schema: optional(OPERATOR_VARIABLES.SERVICE_SECRET.schema),
}

export const commands: Commands = [
  group('requests', 'what became of a request: show, list', [
    verb('show [id]', 'show what is on record of a request', {
      notes: 'The id is req_… or ret_… of a reply. Query and passages are not on record, but their digests are.',
      examples: [
        'requests show req_8a4d5e0b-2f6c-4c0e-9d55-6a1f3f0c7e21',
        'requests show --idempotency-key 4f3c2b1a-0e9d-4c8b-a7f6-5e4d3c2b1a09 --client "Advice Desk"',
      ],
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
      async run({ id, idempotencyKey, client, environment: where }, { database, config }) {
        const { SERVICE_SECRET: serviceSecrets } = config
        if (id !== undefined && idempotencyKey === undefined) return shown(await requestNamed(database, { id }))
        if (id !== undefined || idempotencyKey === undefined)
          throw new OperatorError('Name the request once: by its id, or by --idempotency-key and --client.')
        if (client === undefined) throw new OperatorError('A key belongs to one client: name it with --client.')
        if (serviceSecrets === undefined)
          throw new OperatorError(
            'Keys are on record only as digests: set SERVICE_SECRET to the secret of the gateways.',
          )
        return shown(await requestNamed(database, { idempotencyKey, client, environment: where, serviceSecrets }))
      },
    }),
    list('list', 'list admitted requests of a client, the newest first', {
      examples: ['requests list --client "Advice Desk" --since 2026-11-01'],
      input: {
        client: option('<client>', 'name, ORGANIZATION/CLIENT or UUID', text),
        since: option('<when>', 'from this UTC day or instant; default: the last 24 hours', instant.optional()),
        rows,
      },
      read: async ({ client, since = new Date(Date.now() - DAY_MS), rows: limit }, { database }) =>
        await requestsOf(database, { client, since, limit }),
      columns: [
        'request_id',
        'admitted_at',
        'environment',
        'knowledge_base',
        'state',
        'decision',
        ['error_code', 'error'],
        'results',
      ],
      empty: 'No request was admitted in this time: go further back with --since.',
    }),
  ]),
]

function shown(row: RequestRow): Shown {
  const record = shownRequest(row)
  return [record, fields(record)]
}
