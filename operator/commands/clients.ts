import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { listClients } from '#core/db/clients.ts'
import { createClient, setClientSuspended } from '#operator/actions/organizations.ts'
import { organizationNamed } from '#operator/actions/names.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { rows, text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { table } from '#operator/command-line/table.ts'

export function addClients(program: OperatorCommand): void {
  const clients = addCommandGroup(
    program,
    'clients',
    'named applications of an organization: create, list, suspend, resume',
  )
  addDatabaseCommand(clients, {
    usage: 'create <name>',
    summary: 'create a client of an organization',
    flags: { '--organization <organization>': 'name or UUID' },
    examples: ['clients create "Advice Desk" --organization "Harbour Bank"'],
    input: { name: text, organization: text },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const made = await createClient(operator, input)
      show(
        made,
        () =>
          `Created client "${made.name}" of "${made.organization}" (${made.id}).\nNext: operator ` +
          `entitlements grant --client "${made.name}" …`,
      )
    },
  })
  addDatabaseCommand(clients, {
    usage: 'list',
    summary: 'list clients',
    flags: { '--organization <organization>': 'only those of one', '--rows <n>': 'show at most so many' },
    examples: ['clients list', 'clients list --organization "Harbour Bank"'],
    input: { organization: text.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const organization =
        input.organization === undefined ? null : (await organizationNamed(operator.database, input.organization)).id
      const found = await listClients(operator.database, organization, input.rows)
      const empty =
        'There is no client yet: create one with "operator clients create NAME --organization ORGANIZATION".'
      show(found, () =>
        table(
          found,
          { organization: 'organization', name: 'client', active: 'active', id: 'id', created_at: 'created' },
          empty,
        ),
      )
    },
  })
  for (const suspended of [true, false]) addSwitch(clients, suspended)
}

function addSwitch(clients: OperatorCommand, suspended: boolean): void {
  const name = suspended ? 'suspend' : 'resume'
  addDatabaseCommand(clients, {
    usage: `${name} <client>`,
    summary: suspended ? 'refuse every request of this client, within five seconds' : 'serve this client again',
    examples: [`clients ${name} "Advice Desk"`, `clients ${name} "Harbour Bank/Advice Desk"`],
    input: { client: text },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const changed = await setClientSuspended(operator, input.client, suspended)
      show(changed, () =>
        suspended
          ? `Suspended "${changed.name}": every gateway refuses it within five seconds.`
          : `Resumed "${changed.name}".`,
      )
    },
  })
}
