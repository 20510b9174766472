import { runCommandLine, withOwnDatabase } from '#test/support/long-run.ts'
import { USAGE, modelFlags } from './flags.ts'
import type { ModelFlags } from './flags.ts'
import { runModel } from './run.ts'
import { openServers } from './servers.ts'

const PROGRESS_EVERY = 50

/** @returns whether no guarantee was broken. */
async function runFor({ seed, minutes }: ModelFlags): Promise<boolean> {
  return withOwnDatabase('model', async ({ ownerUrl, gatewayUrl }) => {
    const servers = await openServers({ ownerUrl, gatewayUrl })
    try {
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
    } finally {
      await servers.close()
    }
  })
}

await runCommandLine(USAGE, modelFlags, runFor)
