import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { listPlans } from '#core/db/plans.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { planNamed } from '#operator/actions/names.ts'
import { createPlan, limitsFromPairs } from '#operator/actions/plans.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { option, rows, text } from '#operator/command-line/inputs.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { change, group, verb } from '#operator/command-line/verbs.ts'

const RATES = 'requests_per_minute=a_minute concurrency=at_once requests_per_day=a_day requests_per_month=a_month'

export const commands: Commands = [
  group('plans', 'immutable limits that entitlements point to: create, list, show', [
    change('create <name>', 'create a plan; what is not named keeps its default', {
      notes:
        `A plan never changes: to change limits, create another and move entitlements to it.\n\nLimits ` +
        `and their defaults:\n${fields(planLimitsSchema.parse({}), '  ')}`,
      input: {
        name: text,
        limit: option('<name=number...>', 'one limit; may be repeated', z.array(z.string()).default([])),
        file: option('<path>', 'limits as JSON, e.g. {"requests_per_minute":60,"exposure":{"window_days":7}}'),
      },
      async run({ name, limit, file }, { operator }) {
        if (file !== undefined && limit.length > 0)
          throw new OperatorError('Limits come from --file or from --limit, not from both: leave one out.')
        const limits = file === undefined ? limitsFromPairs(limit) : await readJson(file)
        const made = await createPlan(operator, { name, limits })
        return [made, `Created plan "${made.name}" (${made.id}).\n${fields(made.limits, '  ')}`]
      },
    }),
    verb('list', 'list plans', {
      input: { rows },
      async run(input, { database }) {
        const found = await listPlans(database, input.rows)
        const flat = found.map(({ name, limits, id }) => ({ name, ...limits, id }))
        return [
          found,
          () =>
            table(
              flat,
              `name ${RATES} max_top_k=top_k id`,
              'There is no plan yet: create one with "operator plans create NAME".',
            ),
        ]
      },
    }),
    verb('show <plan>', 'show every limit of a plan', {
      input: { plan: text },
      async run(input, { database }) {
        const plan = await planNamed(database, input.plan)
        return [plan, fields(plan)]
      },
    }),
  ]),
]

async function readJson(path: string): Promise<unknown> {
  const contents = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new OperatorError(`The file ${path} cannot be read: check its path and rights.`, { cause })
  })
  try {
    return JSON.parse(contents)
  } catch (cause) {
    throw new OperatorError(`The file ${path} is not JSON: correct it.`, { cause })
  }
}
