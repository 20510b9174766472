import { readFile } from 'node:fs/promises'
import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { listPlans } from '#core/db/plans.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { planNamed } from '#operator/actions/names.ts'
import { createPlan, limitsFromPairs } from '#operator/actions/plans.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { rows, text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { fields, table } from '#operator/command-line/table.ts'

const pairs = z.array(z.string()).default([])

export function addPlans(program: OperatorCommand): void {
  const plans = addCommandGroup(program, 'plans', 'immutable limits that entitlements point to: create, list, show')
  addCreate(plans)
  addList(plans)
  addShow(plans)
}

function addCreate(plans: OperatorCommand): void {
  addDatabaseCommand(plans, {
    usage: 'create <name>',
    summary: 'create a plan; what is not named keeps its default',
    flags: {
      '--limit <name=number...>': 'one limit; may be repeated',
      '--file <path>': 'limits as JSON, e.g. {"requests_per_minute":60,"exposure":{"window_days":7}}',
    },
    notes:
      `A plan never changes: to change limits, create another and move entitlements to it.\n\nLimits ` +
      `and their defaults:\n${fields(planLimitsSchema.parse({}), '  ')}`,
    examples: [
      'plans create beta',
      'plans create standard --limit requests_per_minute=60 --limit exposure.window_days=7',
      'plans create large --file large.json',
    ],
    input: { name: text, limit: pairs, file: text.optional() },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      if (input.file !== undefined && input.limit.length > 0)
        throw new OperatorError('Limits come from --file or from --limit, not from both: leave one out.')
      const limits = input.file === undefined ? limitsFromPairs(input.limit) : await readJson(input.file)
      const made = await createPlan(operator, { name: input.name, limits })
      show(made, () => `Created plan "${made.name}" (${made.id}).\n${fields(made.limits, '  ')}`)
    },
  })
}

function addList(plans: OperatorCommand): void {
  addDatabaseCommand(plans, {
    usage: 'list',
    summary: 'list plans',
    flags: { '--rows <n>': 'show at most so many' },
    examples: ['plans list'],
    input: { rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const found = await listPlans(operator.database, input.rows)
      const flat = found.map((plan) => ({ ...plan.limits, ...plan }))
      const columns = {
        name: 'name',
        requests_per_minute: 'a minute',
        concurrency: 'at once',
        requests_per_day: 'a day',
        requests_per_month: 'a month',
        max_top_k: 'top_k',
        id: 'id',
      }
      show(found, () => table(flat, columns, 'There is no plan yet: create one with "operator plans create NAME".'))
    },
  })
}

function addShow(plans: OperatorCommand): void {
  addDatabaseCommand(plans, {
    usage: 'show <plan>',
    summary: 'show every limit of a plan',
    examples: ['plans show beta'],
    input: { plan: text },
    variables: {},
    run: async (input, { operator, show }) => {
      const plan = await planNamed(operator.database, input.plan)
      show(plan, () => fields(plan))
    },
  })
}

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
