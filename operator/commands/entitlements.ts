import { z } from 'zod'
import { listEntitlements, type EntitlementRow } from '#core/db/entitlements.ts'
import {
  addEntitledProfile,
  auditDetail,
  changeEntitlement,
  grantEntitlement,
  removeEntitledProfile,
  setEntitlementActive,
  unmatchedValues,
} from '#operator/actions/entitlements.ts'
import { clientNamed, entitlementNamed, idOf, knowledgeBaseNamed } from '#operator/actions/names.ts'
import type { Operator } from '#operator/actions/operator.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { commaList, environment, option, rows, subjects, text } from '#operator/command-line/inputs.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { change, group, switches, verb } from '#operator/command-line/verbs.ts'

const NAMING =
  'An entitlement is named CLIENT/ENVIRONMENT/KNOWLEDGE-BASE, with ORGANIZATION/ before it where ' +
  'clients of several share a name, or by its UUID.'
const CHANGED = 'Changed; every gateway follows within five seconds.'
const LANGUAGES = ['<a,b>', 'languages it covers (BCP 47)'] as const
const JURISDICTIONS = ['<a,b>', 'jurisdictions it covers'] as const
const ASSISTANCE = ['<allow|refuse>', 'whether a chat model may see questions and passages; default: refuse'] as const
const allowance = z.enum(['allow', 'refuse']).transform((value) => value === 'allow')
const SUBJECTS = ['<a,b|all>', 'subjects it covers; all: every subject, and passages without one'] as const

const COLUMNS = 'organization client environment knowledge_base plan active languages jurisdictions subjects'

const profiles = [
  ['add-profile', 'let the client ask for a retrieval profile by its UUID, besides the active one', addEntitledProfile],
  ['remove-profile', 'take an explicitly entitled profile away', removeEntitledProfile],
] as const

export const commands: Commands = [
  group(
    'entitlements',
    'what a client may reach: grant, list, show, change, deactivate, activate, add-profile, remove-profile',
    [
      change('grant', 'approve what a client may reach of a knowledge base; active at once', {
        notes: 'One entitlement per client, environment and knowledge base. Requests can only narrow it.',
        input: {
          client: option('<client>', 'name, ORGANIZATION/CLIENT or UUID', text),
          environment: option('<test|live>', 'test or live', environment),
          knowledgeBase: option('<slug>', 'slug or UUID', text),
          plan: option('<plan>', 'name or UUID', text),
          languages: option(...LANGUAGES, commaList),
          jurisdictions: option(...JURISDICTIONS, commaList),
          subjects: option(...SUBJECTS, subjects),
          assistance: option(...ASSISTANCE, allowance.optional()),
        },
        async run(input, { operator }) {
          const row = await grantEntitlement(operator, input)
          const warning = await unknownValueWarning(operator, row)
          const next = `operator keys issue --client "${row.organization}/${row.client}" --environment ${row.environment}`
          return [row, `Granted.\n${described(row)}\n${warning}Next: ${next}`]
        },
      }),
      verb('list', 'list entitlements', {
        input: {
          client: option('<client>', 'only those of one client'),
          knowledgeBase: option('<slug>', 'only those to one knowledge base'),
          rows,
        },
        async run(input, { database }) {
          const client = await idOf(clientNamed, database, input.client)
          const base = await idOf(knowledgeBaseNamed, database, input.knowledgeBase)
          const found = await listEntitlements(database, client, base, input.rows)
          const shown = found.map((row) => ({ ...row, subjects: row.subjects ?? 'all' }))
          const empty = 'There is no entitlement here: grant one with "operator entitlements grant".'
          return [found, () => table(shown, COLUMNS, empty)]
        },
      }),
      verb('show <entitlement>', 'show one entitlement', {
        notes: NAMING,
        input: { entitlement: text },
        async run({ entitlement }, { database }) {
          const row = await entitlementNamed(database, entitlement)
          return [row, described(row)]
        },
      }),
      change('change <entitlement>', 'change plan or lists; what is not named stays, counters go on', {
        notes: NAMING,
        input: {
          entitlement: text,
          plan: option('<plan>', 'name or UUID'),
          languages: option(...LANGUAGES, commaList.optional()),
          jurisdictions: option(...JURISDICTIONS, commaList.optional()),
          subjects: option(...SUBJECTS, subjects.optional()),
          assistance: option(...ASSISTANCE, allowance.optional()),
        },
        async run({ entitlement, ...asked }, { operator }) {
          const row = await changeEntitlement(operator, entitlement, asked)
          const warning = await unknownValueWarning(operator, row)
          return [row, `${CHANGED}\n${described(row)}\n${warning}`.trimEnd()]
        },
      }),
      ...switches(
        'entitlement',
        ['deactivate', 'refuse every request to it, within five seconds'],
        ['activate', 'serve it again'],
        {
          notes: NAMING,
          async run(operator, name, on) {
            const row = await setEntitlementActive(operator, name, on)
            return [row, `${on ? 'Active' : 'Inactive'}; every gateway follows within five seconds.\n${described(row)}`]
          },
        },
      ),
      ...profiles.map(([name, summary, act]) =>
        change(`${name} <entitlement> <profile>`, summary, {
          notes: `${NAMING}\n"operator versions show" prints the profile of a version.`,
          input: { entitlement: text, profile: text },
          async run({ entitlement, profile }, { operator }) {
            const row = await act(operator, entitlement, profile)
            return [row, `${CHANGED}\n${described(row)}`]
          },
        }),
      ),
    ],
  ),
]

async function unknownValueWarning({ database }: Operator, row: EntitlementRow): Promise<string> {
  const unmatched = (await unmatchedValues(database, row)).join(', ')
  const slip = 'correct it with "operator entitlements change" if that is a slip.\n'
  return unmatched === '' ? '' : `No passage of the active version has ${unmatched}: ${slip}`
}

function described(row: EntitlementRow): string {
  return fields({ id: row.id, ...auditDetail(row), subjects: row.subjects ?? 'all', updated_at: row.updated_at })
}
