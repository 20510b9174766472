import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { SCENARIOS } from './scenarios/list.ts'
import { UsageError } from '#test/support/long-run.ts'

export interface LoadFlags {
  /** Undefined: the run starts its own services. */
  readonly url: RemoteFlags | undefined
  /** Names; all that are possible by default. */
  readonly scenarios: readonly string[]
  readonly gateways: number
  readonly seconds: number
  readonly seed: number
  readonly json: string | undefined
  readonly html: string | undefined
  readonly dataDir: string
}

/** What the caller says about a deployment that is seen from outside. */
export interface RemoteFlags {
  readonly url: string
  readonly keys: readonly string[]
  readonly knowledgeBase: string
  readonly queries: readonly string[]
  /** The plan's cap; undefined: what is seen is reported and not checked. */
  readonly concurrency: number | undefined
}

export const USAGE = `npm run test:load -- [embedded | --url URL --key KEY…] [options]

Offers requests on a schedule, however slow the service is, and checks the caps: concurrency, requests per minute,
allowances, idempotency, exposure, charges, refunds and ledger. Exit code 1 when a check is violated.

  embedded             start Postgres, Redis, gateways, search nodes, a job worker and a provider (default), with
                       organizations, plans and keys for the scenarios; everything is removed at the end
  --url URL            send to a deployment, such as http://127.0.0.1:8080, and judge by its replies alone
  --yes                allow a URL that is not of this machine: its callers and its allowance are affected
  --key KEY            a key of one entitlement, with --url; repeatable
  --knowledge-base S   slug that the keys are entitled to, with --url
  --query TEXT         question to ask, with --url; repeatable
  --concurrency N      cap of the plan, with --url; without it the number at once is reported and not checked
  --scenario NAME      one of ${SCENARIOS.map(({ name }) => name).join(', ')}; repeatable
  --gateways N         1, 2 or 4 gateways (default 2)
  --seconds S          length of the sustained phases, 1 to 600 (default 60)
  --seed N             seed of the arrivals (default: a random one, which is printed)
  --json PATH          write every number as JSON
  --html PATH          write a page with the same numbers drawn
  --data-dir PATH      where the embedded services keep their files while they run (default .data/load)
`

const OPTIONS = {
  url: { type: 'string' },
  yes: { type: 'boolean', default: false },
  key: { type: 'string', multiple: true },
  'knowledge-base': { type: 'string' },
  query: { type: 'string', multiple: true },
  concurrency: { type: 'string' },
  scenario: { type: 'string', multiple: true },
  gateways: { type: 'string', default: '2' },
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string' },
  json: { type: 'string' },
  html: { type: 'string' },
  'data-dir': { type: 'string', default: '.data/load' },
  help: { type: 'boolean', default: false },
} as const

const DEFAULT_QUERY = 'Which records must be kept, and for how long?'

/** @throws UsageError with one sentence. */
export function loadFlags(args: readonly string[]): LoadFlags | 'help' {
  const { values, positionals } = parsed(args)
  if (values.help) return 'help'
  if (positionals.some((word) => word !== 'embedded') || (positionals.length > 0 && values.url !== undefined))
    throw new UsageError('Give either "embedded" or --url URL, and nothing else without a dash.')
  const unknown = values.scenario?.find((name) => !SCENARIOS.some((scenario) => scenario.name === name))
  if (unknown !== undefined) throw new UsageError(`There is no scenario "${unknown}": --help lists them.`)
  const gateways = whole('--gateways', values.gateways, 1, 4)
  if (gateways === 3) throw new UsageError('--gateways must be 1, 2 or 4.')
  return {
    url: values.url === undefined ? embeddedOnly(values) : outsideFlags({ ...values, url: values.url }),
    scenarios: values.scenario ?? [],
    gateways,
    seconds: whole('--seconds', values.seconds, 1, 600),
    seed: values.seed === undefined ? randomInt(2 ** 31) : whole('--seed', values.seed, 0, 2 ** 31 - 1),
    json: values.json,
    html: values.html,
    dataDir: values['data-dir'],
  }
}

type Values = ReturnType<typeof parsed>['values']

function embeddedOnly(values: Values): undefined {
  if (values.key !== undefined || values.query !== undefined || values['knowledge-base'] !== undefined)
    throw new UsageError('--key, --knowledge-base and --query belong to --url: leave them out, or name the URL.')
}

function outsideFlags(values: Values & { readonly url: string }): RemoteFlags {
  const knowledgeBase = values['knowledge-base']
  if (values.key === undefined || knowledgeBase === undefined)
    throw new UsageError('--url needs at least one --key and a --knowledge-base that it is entitled to.')
  const url = URL.canParse(values.url) ? new URL(values.url) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UsageError('--url must be a URL such as http://127.0.0.1:8080.')
  if (!isLoopback(url.hostname) && !values.yes)
    throw new UsageError(
      `${url.hostname} is not this machine: its callers and its allowance are affected. Add --yes if that is wanted.`,
    )
  return {
    url: url.origin,
    keys: values.key,
    knowledgeBase,
    queries: values.query ?? [DEFAULT_QUERY],
    concurrency: values.concurrency === undefined ? undefined : whole('--concurrency', values.concurrency, 1, 10_000),
  }
}

/** A literal address of loopback, or the name that every system gives it. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)
}

function parsed(
  args: readonly string[],
): ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>> {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The options are not valid.', { cause: error })
  }
}

function whole(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isInteger(value) || value < min || value > max)
    throw new UsageError(`${name} must be a whole number from ${min} to ${max}.`)
  return value
}
