import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { listOrganizations } from '#core/db/organizations.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { createOrganization, setOrganizationSuspended } from '#operator/actions/organizations.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { rows, text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { table } from '#operator/command-line/table.ts'

const { SERVICE_SECRET } = OPERATOR_VARIABLES

export function addOrganizations(program: OperatorCommand): void {
  const organizations = addCommandGroup(program, 'organizations', 'who has clients: create, list, suspend, resume')
  addDatabaseCommand(organizations, {
    usage: 'create <name>',
    summary: 'create an organization and its first fingerprint key',
    examples: ['organizations create "Harbour Bank"'],
    input: { name: text },
    variables: { SERVICE_SECRET },
    writes: true,
    run: async ({ name }, { operator, config, show }) => {
      const made = await createOrganization(operator, { name, serviceSecrets: config.SERVICE_SECRET })
      show(
        made,
        () =>
          `Created organization "${made.name}" (${made.id}).\nNext: operator clients create ` +
          `"Application" --organization "${made.name}"`,
      )
    },
  })
  addDatabaseCommand(organizations, {
    usage: 'list',
    summary: 'list organizations',
    flags: { '--rows <n>': 'show at most so many' },
    examples: ['organizations list', 'organizations list --json'],
    input: { rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const found = await listOrganizations(operator.database, input.rows)
      show(found, () =>
        table(
          found,
          { name: 'name', active: 'active', id: 'id', created_at: 'created' },
          'There is no organization yet: create one with "operator organizations create NAME".',
        ),
      )
    },
  })
  for (const suspended of [true, false]) addSwitch(organizations, suspended)
}

function addSwitch(organizations: OperatorCommand, suspended: boolean): void {
  const name = suspended ? 'suspend' : 'resume'
  addDatabaseCommand(organizations, {
    usage: `${name} <organization>`,
    summary: suspended ? 'refuse every request of all its clients, within five seconds' : 'serve its clients again',
    examples: [`organizations ${name} "Harbour Bank"`],
    input: { organization: text },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const changed = await setOrganizationSuspended(operator, input.organization, suspended)
      show(changed, () =>
        suspended
          ? `Suspended "${changed.name}": every gateway refuses it within five seconds.`
          : `Resumed "${changed.name}".`,
      )
    },
  })
}
