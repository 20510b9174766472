import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { insertPlan } from '#core/db/plans.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { checkedName } from './names.ts'
import { withAudit, type Operator } from './operator.ts'

/**
 * Stores a plan. A plan is immutable; a change needs another plan, to which entitlements are moved.
 * @param input.limits the limits that differ from the default plan, as parsed JSON. All faults are reported at once.
 */
export async function createPlan(operator: Operator, input: { readonly name: string; readonly limits?: unknown }) {
  const name = checkedName('a plan', input.name)
  const parsed = planLimitsSchema.safeParse(input.limits ?? {})
  if (!parsed.success)
    throw new OperatorError(
      `The limits do not fit: ${faults(parsed.error)}. Correct them; "operator plans create --help" lists every limit.`,
    )
  const limits = parsed.data
  const id = randomUUID()
  return withAudit(operator, 'plan.create', async (client) => {
    if (!(await insertPlan(client, id, name, limits)))
      throw new OperatorError(
        `The plan "${name}" exists already and plans never change: choose another name and move ` +
          'entitlements to it with "operator entitlements change".',
      )
    return [{ id, name, limits }, `plan:${id}`, { name, limits }]
  })
}

function faults({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.length === 0 ? 'limits' : path.join('.')}: ${message}`).join('; ')
}

type Tree = { [name: string]: number | Tree }

/**
 * Parses limits: `exposure.window_days=7` becomes `{ exposure: { window_days: 7 } }`. Several pairs are merged.
 * @throws OperatorError for a pair without a name or a number.
 */
export function limitsFromPairs(pairs: readonly string[]): Tree {
  const limits: Tree = {}
  for (const pair of pairs) {
    const match = /^([a-z_]+(?:\.[a-z_]+)*)=(-?\d+(?:\.\d+)?)$/.exec(pair)
    if (match === null)
      throw new OperatorError(
        `"${pair}" is not a limit: write NAME=NUMBER, e.g. requests_per_minute=60 or exposure.window_days=7.`,
      )
    const path = (match[1] ?? '').split('.')
    const last = path.pop() ?? ''
    let node = limits
    for (const name of path) {
      const below = node[name]
      node = typeof below === 'object' ? below : (node[name] = {})
    }
    node[last] = Number(match[2])
  }
  return limits
}
