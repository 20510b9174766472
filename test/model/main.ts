import { randomInt } from 'node:crypto'
import { numberOf, optionsOf, runCommandLine, withOwnDatabase } from '#test/support/long-run.ts'
import { runModel } from './run.ts'
import { openServers } from './servers.ts'

const USAGE = `npm run test:model -- [options]

Runs random sequences of requests, faults, crashes and moved clocks against the limits over a real Postgres and two real
Redis servers. After each step the decision is compared with a model, and at the end counters, reservations and ledger
are compared. Exit code 1 when a guarantee is broken; the report names the seed and the shortest sequence found.

  --seed N      seed of the sequences (default: a random one, which is printed)
  --minutes M   how long to run (default 1)
`

const OPTIONS = {
  seed: { type: 'string' },
  minutes: { type: 'string', default: '1' },
  help: { type: 'boolean', default: false },
} as const

/** @throws UsageError with one sentence. */
function modelFlags(args: readonly string[]) {
  const { help, seed, minutes } = optionsOf(args, OPTIONS)
  if (help) return 'help' as const
  return {
    seed: seed === undefined ? randomInt(2 ** 31) : numberOf('seed', seed, -(2 ** 31) + 1, 2 ** 31 - 1),
    minutes: numberOf('minutes', minutes, 0.001, 10_080, 3),
  }
}

const PROGRESS_EVERY = 50

/** @returns whether no guarantee was broken. */
async function runFor({ seed, minutes }: Exclude<ReturnType<typeof modelFlags>, 'help'>): Promise<boolean> {
  return withOwnDatabase('model', async ({ ownerUrl, gatewayUrl }) => {
    await using ending = new AsyncDisposableStack()
    const servers = ending.adopt(await openServers({ ownerUrl, gatewayUrl }), (it) => it.close())
    let done = 0
    process.stdout.write(`Seed ${seed}, ${minutes} minutes.\n`)
    const { sequences, violation } = await runModel(servers, {
      seed,
      minutes,
      sequences: Number.MAX_SAFE_INTEGER,
      onSequence: () => {
        if (++done % PROGRESS_EVERY === 0) process.stdout.write(`${done} sequences so far\n`)
      },
    })
    if (violation !== null) process.stdout.write(`${violation}\n`)
    process.stdout.write(`${sequences} sequences, ${violation === null ? 0 : 1} violations\n`)
    return violation === null
  })
}

await runCommandLine(USAGE, modelFlags, runFor)
