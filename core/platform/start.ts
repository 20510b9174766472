import { ConfigError } from './config.ts'
import { OperatorError } from './errors.ts'
import { describeCause } from './log.ts'

/**
 * Runs a process's start; what an operator can mend is said in plain words, anything else with its cause, and the
 * process ends with 1.
 */
export async function startOrExplain(start: () => Promise<void>): Promise<void> {
  try {
    await start()
  } catch (error) {
    process.stderr.write(
      error instanceof ConfigError || error instanceof OperatorError
        ? `${error.message}\n`
        : `The service could not start: ${describeCause(error)}\n`,
    )
    process.exit(1)
  }
}
