import { randomInt } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Steps } from '#operator/demo/steps.ts'
import { renderPage, renderText, type Section } from '#operator/command-line/sections.ts'
import { verdictRows } from '#test/load/report.ts'
import { INTERRUPTED, UsageError, interruptible, numberOf, optionsOf, runWithSteps } from '#test/support/long-run.ts'
import { startFleet } from './fleet.ts'
import { openHistory } from './history.ts'
import { PLANTS } from './plants.ts'
import { runFleet, type FleetResult } from './run.ts'

const USAGE = `npm run test:fleet -- [options]

Starts gateways, search nodes, job workers, Postgres with a replica, Redis with a replica under Sentinel, an S3 server
and a provider, with a fault proxy before each. Draws faults from the seed and plays them under load, beside builds,
activations, captures, withdrawals and revocations. At the end it kills the gateways, then cuts Redis off, while requests
are under way. Then checks the history of requests against ledger, reservations and counters. Exit code 1 when a check is
violated; the folder with the history and the logs then stays.

  --seed N             seed of the faults and the load (default: a random one, which is printed)
  --minutes M          length of the load, 0.5 to 600 (default 3)
  --gateways N         1 to 8 (default 2)
  --nodes N            search nodes, 1 to 8 (default 2)
  --workers N          job workers, 1 to 8 (default 1)
  --store s3|file      of the artifacts (default s3, where pip can fetch its server)
  --data-dir PATH      where each run has a folder (default .data/fleet)
  --keep               keeps the folder of a run without violations too
  --plant NAME,NAME    faults of the product, see test/fleet/plants.ts, which the run must find
`

const SEED_MAX = 2 ** 31 - 1
const STORES = ['s3', 'file'] as const
const OPTIONS = {
  seed: { type: 'string' },
  minutes: { type: 'string', default: '3' },
  gateways: { type: 'string', default: '2' },
  nodes: { type: 'string', default: '2' },
  workers: { type: 'string', default: '1' },
  store: { type: 'string' },
  'data-dir': { type: 'string', default: '.data/fleet' },
  keep: { type: 'boolean', default: false },
  plant: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const

type Flags = Exclude<ReturnType<typeof flagsOf>, 'help'>

/** @throws UsageError with one sentence. */
function flagsOf(args: readonly string[]) {
  const values = optionsOf(args, OPTIONS)
  if (values.help) return 'help' as const
  const { keep, plant } = values
  const store = STORES.find((one) => one === values.store)
  if (store !== values.store) throw new UsageError(`--store must be ${STORES.join(' or ')}.`)
  const count = (name: 'gateways' | 'nodes' | 'workers'): number => numberOf(name, values[name], 1, 8)
  return {
    seed: values.seed === undefined ? randomInt(SEED_MAX) : numberOf('seed', values.seed, 0, SEED_MAX),
    minutes: numberOf('minutes', values.minutes, 0.5, 600, 1),
    sizes: { gateways: count('gateways'), nodes: count('nodes'), workers: count('workers') },
    dataDir: values['data-dir'],
    store,
    keep,
    preload: plant === undefined ? undefined : plantsOf(plant),
  }
}

function sectionsOf(
  { seed, minutes }: Flags,
  { checks, outcomes, rounds, slowness, busySeconds, interrupted }: FleetResult,
): readonly Section[] {
  const examples = checks.flatMap(({ name, examples: of }) =>
    of.map(({ tenant, message }) => `VIOLATED ${name}${tenant === '' ? '' : `, ${tenant}`}: ${message}`),
  )
  const violations = checks.reduce((sum, check) => sum + check.violations, 0)
  const verdict = violations === 0 ? 'Every check that could be made holds.' : `${violations} violation(s).`
  return [
    {
      title: 'Checks',
      head: ['check', 'verdict', 'checked', 'guarantee'],
      rows: verdictRows(checks),
      lines: [
        `Seed ${seed}, ${minutes} min, ${rounds.length} round(s)${interrupted ? ', interrupted' : ''}. ${verdict}`,
        ...(slowness > 1
          ? [`Busy machine: deadlines are ${slowness.toFixed(1)} times as long, 503s of ${busySeconds} s are excused.`]
          : []),
        ...examples,
      ],
    },
    { title: 'Requests', head: ['outcome', 'requests'], rows: Object.entries(outcomes) },
  ]
}

/** @throws UsageError where there is no such plant. */
function plantsOf(names: string): string {
  for (const name of names.split(','))
    if (PLANTS[name] === undefined)
      throw new UsageError(`There is no plant "${name}": ${Object.keys(PLANTS).join(', ')}.`)
  return new URL(`./plants.ts?plant=${encodeURIComponent(names)}`, import.meta.url).href
}

async function run(flags: Flags, steps: Steps): Promise<number> {
  const { seed, sizes, store, minutes, dataDir, keep, preload } = flags
  const signal = interruptible(steps, 'the faults end')
  const folder = join(resolve(dataDir), `seed-${seed}-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`)
  steps.print(`Seed ${seed}; history, logs and files are in ${folder}`)
  const history = openHistory(join(folder, 'history.jsonl'))
  const ended: string[] = []
  const onEnd = (message: string): void => {
    history.write('ended', { message })
    ended.push(message)
  }
  let removed = false
  // The last step to be undone: by then every process has stopped.
  steps.onStop(async () => {
    await history.close()
    if (removed) rmSync(folder, { recursive: true, force: true })
  })
  const fleet = await startFleet({ sizes, store, folder, preload, onEnd }, steps)
  const print = (line: string): void => steps.note(line)
  const result = await runFleet({ fleet, seed, minutes, history, signal, print, ended })
  const sections = sectionsOf(flags, result)
  steps.print(renderText(sections))
  writeFileSync(join(folder, 'summary.html'), renderPage(`Fleet of seed ${seed}`, sections))
  const violated = result.checks.some(({ violations }) => violations > 0)
  removed = !violated && !keep
  return violated ? 1 : result.interrupted ? INTERRUPTED : 0
}

await runWithSteps(USAGE, flagsOf, run)
