import { randomInt } from 'node:crypto'
import { disconnects, idempotencyKeys, keysByAddress } from './scenarios/callers.ts'
import { mixedTenants, overload, saturation } from './scenarios/capacity.ts'
import { calendar, concurrency, crawl, minute } from './scenarios/limits.ts'
import type { Scenario } from './scenarios/scenario.ts'
import { UsageError, numberOf, optionsOf } from '#test/support/long-run.ts'

/** In the order in which they run. */
const SCENARIOS: readonly Scenario[] = [
  concurrency,
  minute,
  calendar,
  idempotencyKeys,
  crawl,
  disconnects,
  keysByAddress,
  saturation,
  mixedTenants,
  overload,
]

export type LoadFlags = Exclude<ReturnType<typeof loadFlags>, 'help'>

export const USAGE = `npm run test:load -- [options]

Starts Postgres, Redis, gateways, search nodes, a job worker and a provider, with organizations, plans and keys for the
scenarios. Offers requests on a schedule, however slow the service is, and checks the caps: concurrency, requests per
minute, allowances, idempotency, exposure, charges, refunds and ledger. Exit code 1 when a check is violated. Everything
is removed at the end.

  --scenario NAME      one of ${SCENARIOS.map(({ name }) => name).join(', ')}; repeatable
  --gateways N         1, 2 or 4 gateways (default 2)
  --seconds S          length of the sustained phases, 1 to 600 (default 60)
  --seed N             seed of the arrivals (default: a random one, which is printed)
  --json PATH          write every number as JSON
  --html PATH          write a page with the same tables
  --data-dir PATH      where the services keep their files while they run (default .data/load)
`

const OPTIONS = {
  scenario: { type: 'string', multiple: true },
  gateways: { type: 'string', default: '2' },
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string' },
  json: { type: 'string' },
  html: { type: 'string' },
  'data-dir': { type: 'string', default: '.data/load' },
  help: { type: 'boolean', default: false },
} as const

/** @throws UsageError with one sentence. */
export function loadFlags(args: readonly string[]) {
  const values = optionsOf(args, OPTIONS)
  if (values.help) return 'help' as const
  const gateways = numberOf('gateways', values.gateways, 1, 4)
  if (gateways === 3) throw new UsageError('--gateways must be 1, 2 or 4.')
  return {
    scenarios: scenariosNamed(values.scenario ?? []),
    gateways,
    seconds: numberOf('seconds', values.seconds, 1, 600),
    seed: values.seed === undefined ? randomInt(2 ** 31) : numberOf('seed', values.seed, 0, 2 ** 31 - 1),
    json: values.json,
    html: values.html,
    dataDir: values['data-dir'],
  }
}

/** @param names none: all. @returns them and what they need before them, in the order of the list. */
export function scenariosNamed(names: readonly string[]): readonly Scenario[] {
  const unknown = names.find((name) => !SCENARIOS.some((scenario) => scenario.name === name))
  if (unknown !== undefined) throw new UsageError(`There is no scenario "${unknown}": --help lists them.`)
  const wanted = names.length === 0 ? SCENARIOS : SCENARIOS.filter(({ name }) => names.includes(name))
  const needed = new Set(wanted.flatMap(({ name, after }) => [name, after]))
  return SCENARIOS.filter(({ name }) => needed.has(name))
}
