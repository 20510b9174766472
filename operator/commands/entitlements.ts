import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { listEntitlements } from '#core/db/entitlements.ts'
import type { EntitlementRow } from '#core/db/entitlements.ts'
import {
  addEntitledProfile,
  changeEntitlement,
  grantEntitlement,
  removeEntitledProfile,
  setEntitlementActive,
  auditDetail,
  unmatchedValues,
} from '#operator/actions/entitlements.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { clientNamed, entitlementNamed, knowledgeBaseNamed } from '#operator/actions/names.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { environment, list, rows, subjects, text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { fields, table } from '#operator/command-line/table.ts'

const NAMING =
  'An entitlement is named CLIENT/ENVIRONMENT/KNOWLEDGE-BASE, with ORGANIZATION/ before it where ' +
  'clients of several share a name, or by its UUID.'
const NAMED = '"Advice Desk/live/hsfa-rules"'
const LISTS = {
  '--languages <a,b>': 'languages it covers (BCP 47)',
  '--jurisdictions <a,b>': 'jurisdictions it covers',
  '--subjects <a,b|all>': 'subjects it covers; all: every subject, and passages without one',
} as const

export function addEntitlements(program: OperatorCommand): void {
  const entitlements = addCommandGroup(
    program,
    'entitlements',
    'what a client may reach: grant, list, show, change, deactivate, activate, add-profile, remove-profile',
  )
  addGrant(entitlements)
  addReading(entitlements)
  addChange(entitlements)
  for (const active of [false, true]) addSwitch(entitlements, active)
  addProfiles(entitlements)
}

function addGrant(entitlements: OperatorCommand): void {
  addDatabaseCommand(entitlements, {
    usage: 'grant',
    summary: 'approve what a client may reach of a knowledge base; active at once',
    flags: {
      '--client <client>': 'name, ORGANIZATION/CLIENT or UUID',
      '--environment <test|live>': 'test or live',
      '--knowledge-base <slug>': 'slug or UUID',
      '--plan <plan>': 'name or UUID',
      ...LISTS,
    },
    notes: 'One entitlement per client, environment and knowledge base. Requests can only narrow it.',
    examples: [
      'entitlements grant --client "Advice Desk" --environment live --knowledge-base hsfa-rules ' +
        '--plan beta --languages en --jurisdictions HS-M,HS-F --subjects all',
    ],
    input: {
      client: text,
      environment,
      knowledgeBase: text,
      plan: text,
      languages: list,
      jurisdictions: list,
      subjects,
    },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const row = await grantEntitlement(operator, input)
      const warning = await unknownValueWarning(operator, row)
      show(
        row,
        () =>
          `Granted.\n${described(row)}\n${warning}Next: operator keys issue --client "${row.client}" ` +
          `--environment ${row.environment}`,
      )
    },
  })
}

function addReading(entitlements: OperatorCommand): void {
  addDatabaseCommand(entitlements, {
    usage: 'list',
    summary: 'list entitlements',
    flags: {
      '--client <client>': 'only those of one client',
      '--knowledge-base <slug>': 'only those to one knowledge base',
      '--rows <n>': 'show at most so many',
    },
    examples: ['entitlements list', 'entitlements list --client "Advice Desk"'],
    input: { client: text.optional(), knowledgeBase: text.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const client = input.client === undefined ? null : (await clientNamed(operator.database, input.client)).id
      const base =
        input.knowledgeBase === undefined ? null : (await knowledgeBaseNamed(operator.database, input.knowledgeBase)).id
      const found = await listEntitlements(operator.database, client, base, input.rows)
      const columns = {
        organization: 'organization',
        client: 'client',
        environment: 'environment',
        knowledge_base: 'knowledge base',
        plan: 'plan',
        active: 'active',
        languages: 'languages',
        jurisdictions: 'jurisdictions',
        subjects: 'subjects',
      }
      const readable = found.map((row) => ({ ...row, subjects: row.subjects ?? 'all' }))
      show(found, () =>
        table(readable, columns, 'There is no entitlement here: grant one with "operator entitlements grant".'),
      )
    },
  })
  addDatabaseCommand(entitlements, {
    usage: 'show <entitlement>',
    summary: 'show one entitlement',
    notes: NAMING,
    examples: [`entitlements show ${NAMED}`],
    input: { entitlement: text },
    variables: {},
    run: async (input, { operator, show }) => {
      const row = await entitlementNamed(operator.database, input.entitlement)
      show(row, () => described(row))
    },
  })
}

function addChange(entitlements: OperatorCommand): void {
  addDatabaseCommand(entitlements, {
    usage: 'change <entitlement>',
    summary: 'change plan or lists; what is not named stays, counters go on',
    flags: { '--plan <plan>': 'name or UUID', ...LISTS },
    notes: NAMING,
    examples: [
      `entitlements change ${NAMED} --plan standard`,
      `entitlements change ${NAMED} --languages en,fr --subjects conduct,prudential`,
    ],
    input: {
      entitlement: text,
      plan: text.optional(),
      languages: list.optional(),
      jurisdictions: list.optional(),
      subjects: subjects.optional(),
    },
    variables: {},
    writes: true,
    run: async ({ entitlement, ...change }, { operator, show }) => {
      const row = await changeEntitlement(operator, entitlement, change)
      const warning = await unknownValueWarning(operator, row)
      show(row, () => `Changed; every gateway follows within five seconds.\n${described(row)}\n${warning}`.trimEnd())
    },
  })
}

function addSwitch(entitlements: OperatorCommand, active: boolean): void {
  const name = active ? 'activate' : 'deactivate'
  addDatabaseCommand(entitlements, {
    usage: `${name} <entitlement>`,
    summary: active ? 'serve it again' : 'refuse every request to it, within five seconds',
    notes: NAMING,
    examples: [`entitlements ${name} ${NAMED}`],
    input: { entitlement: text },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const row = await setEntitlementActive(operator, input.entitlement, active)
      show(
        row,
        () => `${active ? 'Active' : 'Inactive'}; every gateway follows within five seconds.\n${described(row)}`,
      )
    },
  })
}

function addProfiles(entitlements: OperatorCommand): void {
  for (const [name, summary, act] of [
    [
      'add-profile',
      'let the client ask for a retrieval profile by its UUID, besides the active one',
      addEntitledProfile,
    ],
    ['remove-profile', 'take an explicitly entitled profile away', removeEntitledProfile],
  ] as const) {
    addDatabaseCommand(entitlements, {
      usage: `${name} <entitlement> <profile>`,
      summary,
      notes: `${NAMING}\n"operator versions show" prints the profile of a version.`,
      examples: [`entitlements ${name} ${NAMED} 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11`],
      input: { entitlement: text, profile: text },
      variables: {},
      writes: true,
      run: async (input, { operator, show }) => {
        const row = await act(operator, input.entitlement, input.profile)
        show(row, () => `Changed; every gateway follows within five seconds.\n${described(row)}`)
      },
    })
  }
}

async function unknownValueWarning(operator: Operator, row: EntitlementRow): Promise<string> {
  const unmatched = await unmatchedValues(operator.database, row)
  return unmatched.length === 0
    ? ''
    : `No passage of the active version has ${unmatched.join(', ')}: correct it with "operator ` +
        `entitlements change" if that is a slip.\n`
}

function described(row: EntitlementRow): string {
  return fields({ id: row.id, ...auditDetail(row), subjects: row.subjects ?? 'all', updated_at: row.updated_at })
}
