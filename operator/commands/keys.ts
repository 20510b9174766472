import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { listKeys } from '#core/db/api-keys.ts'
import { RETRIEVAL_SCOPE } from '#core/credentials/api-key.ts'
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
import { clientNamed } from '#operator/actions/names.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { environment, list, rows, text, whole } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { cell, table } from '#operator/command-line/table.ts'

const { KEY_PEPPERS } = OPERATOR_VARIABLES
const ONCE =
  'The key is printed once and stored only as a keyed hash: hand it over through a secret store, never by mail or chat.'

const days = whole(1, KEY_DAYS_MAX)
  .optional()
  .transform((value) => value ?? KEY_DAYS_DEFAULT)
const hours = whole(0, OVERLAP_HOURS_MAX)
  .optional()
  .transform((value) => value ?? OVERLAP_HOURS_DEFAULT)
const scopes = list
  .optional()
  .transform((value) => (value === undefined ? [RETRIEVAL_SCOPE] : value.filter((scope) => scope !== 'none')))

const OVERLAP = `0 to ${OVERLAP_HOURS_MAX}, default ${OVERLAP_HOURS_DEFAULT}: how long the old key still works`

export function addKeys(program: OperatorCommand): void {
  const keys = addCommandGroup(program, 'keys', 'API keys of a client: issue, list, rotate, revoke')
  addIssue(keys)
  addList(keys)
  addRotate(keys)
  addRevoke(keys)
}

function addIssue(keys: OperatorCommand): void {
  addDatabaseCommand(keys, {
    usage: 'issue',
    summary: 'issue a key to a client that has an entitlement in the environment',
    flags: {
      '--client <client>': 'name, ORGANIZATION/CLIENT or UUID',
      '--environment <test|live>': 'test or live',
      '--scopes <a,b>': `default: ${RETRIEVAL_SCOPE}; none: a key that may do nothing`,
      '--expires-in-days <days>': `1 to ${KEY_DAYS_MAX}, default ${KEY_DAYS_DEFAULT}`,
    },
    notes: ONCE,
    examples: [
      'keys issue --client "Advice Desk" --environment live',
      'keys issue --client "Harbour Bank/Advice Desk" --environment test --expires-in-days 30 --json',
    ],
    input: { client: text, environment, scopes, expiresInDays: days },
    variables: { KEY_PEPPERS },
    writes: true,
    run: async (input, { operator, config, show }) => {
      const issued = await issueKeyFor(operator, { ...input, peppers: config.KEY_PEPPERS })
      show(
        issued,
        () =>
          `${issued.key}\n\nThis is the only time the key is shown. Id ${issued.id}, for ` +
          `"${issued.client}" in ${issued.environment}, expires ${cell(issued.expires_at)}.`,
      )
    },
  })
}

function addList(keys: OperatorCommand): void {
  addDatabaseCommand(keys, {
    usage: 'list',
    summary: 'list keys by prefix and state; neither key nor hash is ever shown',
    flags: { '--client <client>': 'only those of one client', '--rows <n>': 'show at most so many' },
    examples: ['keys list', 'keys list --client "Advice Desk" --json'],
    input: { client: text.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const client = input.client === undefined ? null : (await clientNamed(operator.database, input.client)).id
      const found = await listKeys(operator.database, client, input.rows)
      const columns = {
        prefix: 'prefix',
        client: 'client',
        environment: 'environment',
        state: 'state',
        scopes: 'scopes',
        created_at: 'created',
        expires_at: 'expires',
        pepper: 'pepper',
        id: 'id',
      }
      show(found, () => table(found, columns, 'There is no key here: issue one with "operator keys issue".'))
    },
  })
}

function addRotate(keys: OperatorCommand): void {
  addDatabaseCommand(keys, {
    usage: 'rotate <key>',
    summary: 'issue a key like this one and let this one end after an overlap',
    flags: {
      '--overlap-hours <hours>': OVERLAP,
      '--expires-in-days <days>': `1 to ${KEY_DAYS_MAX}, default ${KEY_DAYS_DEFAULT}`,
    },
    notes: `A key is named by the prefix or id that "operator keys list" shows.\n${ONCE}`,
    examples: ['keys rotate erk_live_4fXa', 'keys rotate erk_live_4fXa --overlap-hours 72'],
    input: { key: text, overlapHours: hours, expiresInDays: days },
    variables: { KEY_PEPPERS },
    writes: true,
    run: async (input, { operator, config, show }) => {
      const issued = await rotateKey(operator, { ...input, peppers: config.KEY_PEPPERS })
      const ends = `${issued.replaces.prefix} works until ${cell(issued.replaces.expires_at)}.`
      show(
        issued,
        () =>
          `${issued.key}\n\nThis is the only time the key is shown. Id ${issued.id}, expires ` +
          `${cell(issued.expires_at)}. ${ends}`,
      )
    },
  })
}

function addRevoke(keys: OperatorCommand): void {
  addDatabaseCommand(keys, {
    usage: 'revoke <key>',
    summary: 'end a key now; every gateway refuses it within five seconds',
    notes:
      'A key is named by the prefix or id that "operator keys list" shows. What it did stays in the ' +
      'audit trail and the ledger.',
    examples: ['keys revoke erk_live_4fXa'],
    input: { key: text },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const revoked = await revokeKeyNow(operator, input.key)
      show(
        revoked,
        () => `Revoked ${revoked.prefix} of "${revoked.client}": every gateway refuses it within five seconds.`,
      )
    },
  })
}
