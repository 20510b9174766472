import { CHECKS } from './checks/list.ts'
import { SCENARIOS } from './scenarios/list.ts'
import type { Scenario } from './scenarios/scenario.ts'
import type { Target } from './target.ts'

/** The scenarios of a run in their order, and one sentence for each that is left out. */
export interface Plan {
  readonly scenarios: readonly Scenario[]
  readonly leftOut: readonly string[]
}

/** @param names of the wanted scenarios; none: all that are possible. What one needs before it is added. */
export function planOf(mode: Target['mode'], names: readonly string[]): Plan {
  const wanted = names.length === 0 ? SCENARIOS : SCENARIOS.filter(({ name }) => names.includes(name))
  const needed = new Set(wanted.flatMap(({ name, after }) => [name, ...(after === undefined ? [] : [after])]))
  const scenarios = SCENARIOS.filter(({ name }) => needed.has(name))
  if (mode === 'embedded') return { scenarios, leftOut: [] }
  return {
    scenarios: scenarios.filter(({ needs }) => needs === 'anywhere'),
    leftOut: [
      ...scenarios
        .filter(({ needs }) => needs === 'embedded')
        .map(({ name }) => `The scenario ${name} is left out: it needs plans, a clock or a provider of its own.`),
      ...CHECKS.filter(({ outside }) => outside === 'no').map(
        ({ name }) => `The check ${name} is not made: replies do not show what the service recorded.`,
      ),
      ...CHECKS.filter(({ outside }) => outside === 'partly').map(
        ({ name }) => `The check ${name} is made in part: replies prove only a lower bound.`,
      ),
    ],
  }
}
