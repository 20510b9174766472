import { RETRIEVAL_SCOPE } from '#core/credentials/api-key.ts'
import { listKeys } from '#core/db/api-keys.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import {
  KEY_DAYS_DEFAULT,
  KEY_DAYS_MAX,
  OVERLAP_HOURS_DEFAULT,
  OVERLAP_HOURS_MAX,
  issueKeyFor,
  revokeKeyNow,
  rotateKey,
} from '#operator/actions/api-keys.ts'
import { clientNamed, idOf } from '#operator/actions/names.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { commaList, environment, option, rows, text, wholeOr } from '#operator/command-line/inputs.ts'
import { cell } from '#operator/command-line/table.ts'
import { change, group, list } from '#operator/command-line/verbs.ts'

const { KEY_PEPPERS } = OPERATOR_VARIABLES
const ONCE =
  'The key is printed once and stored only as a keyed hash: hand it over through a secret store, never by mail or chat.'
const NAMED = 'A key is named by the prefix or id that "operator keys list" shows.'
const expiresInDays = option(
  '<days>',
  `1 to ${KEY_DAYS_MAX}, default ${KEY_DAYS_DEFAULT}`,
  wholeOr(KEY_DAYS_DEFAULT, 1, KEY_DAYS_MAX),
)

export const commands: Commands = [
  group('keys', 'API keys of a client: issue, list, rotate, revoke', [
    change('issue', 'issue a key to a client that has an entitlement in the environment', {
      notes: ONCE,
      input: {
        client: option('<client>', 'name, ORGANIZATION/CLIENT or UUID', text),
        environment: option('<test|live>', 'test or live', environment),
        scopes: option(
          '<a,b>',
          `default: ${RETRIEVAL_SCOPE}; none: a key that may do nothing`,
          commaList.optional().transform((value) => (value ?? [RETRIEVAL_SCOPE]).filter((scope) => scope !== 'none')),
        ),
        expiresInDays,
      },
      variables: { KEY_PEPPERS },
      async run(input, { operator, config }) {
        const issued = await issueKeyFor(operator, { ...input, peppers: config.KEY_PEPPERS })
        const { client, environment: where, expires_at, scopes } = issued
        const idle = scopes.includes(RETRIEVAL_SCOPE) ? '' : ` It cannot retrieve without ${RETRIEVAL_SCOPE}.`
        return [issued, `${shownOnce(issued)}, for "${client}" in ${where}, expires ${cell(expires_at)}.${idle}`]
      },
    }),
    list('list', 'list keys by prefix and state; neither key nor hash is ever shown', {
      input: { client: option('<client>', 'only those of one client'), rows },
      read: async (input, { database }) =>
        await listKeys(database, await idOf(clientNamed, database, input.client), input.rows),
      columns: 'prefix client environment state scopes created_at expires_at last_used_at pepper id',
      empty: 'There is no key here: issue one with "operator keys issue".',
    }),
    change('rotate <key>', 'issue a key like this one and let this one end after an overlap', {
      notes: `${NAMED}\n${ONCE}`,
      input: {
        key: text,
        overlapHours: option(
          '<hours>',
          `0 to ${OVERLAP_HOURS_MAX}, default ${OVERLAP_HOURS_DEFAULT}: how long the old key still works`,
          wholeOr(OVERLAP_HOURS_DEFAULT, 0, OVERLAP_HOURS_MAX),
        ),
        expiresInDays,
      },
      variables: { KEY_PEPPERS },
      async run(input, { operator, config }) {
        const issued = await rotateKey(operator, { ...input, peppers: config.KEY_PEPPERS })
        const ends = `${issued.replaces.prefix} works until ${cell(issued.replaces.expires_at)}.`
        return [issued, `${shownOnce(issued)}, expires ${cell(issued.expires_at)}. ${ends}`]
      },
    }),
    change('revoke <key>', 'end a key now; every gateway refuses it within five seconds', {
      notes: `${NAMED} What it did stays in the audit trail and the ledger.`,
      input: { key: text },
      async run({ key }, { operator }) {
        const revoked = await revokeKeyNow(operator, key)
        const { prefix, client } = revoked
        return [revoked, `Revoked ${prefix} of "${client}": every gateway refuses it within five seconds.`]
      },
    }),
  ]),
]

function shownOnce({ key, id }: { readonly key: string; readonly id: string }): string {
  return `${key}\n\nThis is the only time the key is shown. Id ${id}`
}
