import { listClients } from '#core/db/clients.ts'
import { listOrganizations } from '#core/db/organizations.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { idOf, organizationNamed } from '#operator/actions/names.ts'
import {
  createClient,
  createOrganization,
  setClientSuspended,
  setOrganizationSuspended,
} from '#operator/actions/organizations.ts'
import type { Commands, Shown } from '#operator/command-line/command.ts'
import { option, rows, text } from '#operator/command-line/inputs.ts'
import { change, group, list, switches } from '#operator/command-line/verbs.ts'

const { SERVICE_SECRET } = OPERATOR_VARIABLES

export const commands: Commands = [
  group('organizations', 'who has clients: create, list, suspend, resume', [
    change('create <name>', 'create an organization and its first fingerprint key', {
      input: { name: text },
      variables: { SERVICE_SECRET },
      async run({ name }, { operator, config }) {
        const made = await createOrganization(operator, { name, serviceSecrets: config.SERVICE_SECRET })
        const next = `operator clients create "Application" --organization "${made.name}"`
        return [made, `Created organization "${made.name}" (${made.id}).\nNext: ${next}`]
      },
    }),
    list('list', 'list organizations', {
      input: { rows },
      read: async (input, { database }) => await listOrganizations(database, input.rows),
      columns: 'name active id created_at',
      empty: 'There is no organization yet: create one with "operator organizations create NAME".',
    }),
    ...switches(
      'organization',
      ['suspend', 'refuse every request of all its clients, within five seconds'],
      ['resume', 'serve its clients again'],
      {
        run: async (operator, name, on) => switched(await setOrganizationSuspended(operator, name, !on)),
      },
    ),
  ]),
  group('clients', 'named applications of an organization: create, list, suspend, resume', [
    change('create <name>', 'create a client of an organization', {
      input: { name: text, organization: option('<organization>', 'name or UUID', text) },
      async run(input, { operator }) {
        const made = await createClient(operator, input)
        const next = `operator entitlements grant --client "${made.organization}/${made.name}" …`
        return [made, `Created client "${made.name}" of "${made.organization}" (${made.id}).\nNext: ${next}`]
      },
    }),
    list('list', 'list clients', {
      input: { organization: option('<organization>', 'only those of one'), rows },
      read: async (input, { database }) =>
        await listClients(database, await idOf(organizationNamed, database, input.organization), input.rows),
      columns: 'organization name=client active id created_at',
      empty: 'There is no client yet: create one with "operator clients create NAME --organization ORGANIZATION".',
    }),
    ...switches(
      'client',
      ['suspend', 'refuse every request of this client, within five seconds'],
      ['resume', 'serve this client again'],
      {
        run: async (operator, name, on) => switched(await setClientSuspended(operator, name, !on)),
      },
    ),
  ]),
]

function switched(changed: { readonly name: string; readonly active: boolean }): Shown {
  const { name, active } = changed
  return [changed, active ? `Resumed "${name}".` : `Suspended "${name}": every gateway refuses it within five seconds.`]
}
