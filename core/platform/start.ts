import { ConfigError } from './config.ts'
import { OperatorError } from './errors.ts'
import { describeCause } from './log.ts'

/**
 * Runs the start of a process. A failure prints one explanation and ends the process with exit code 1.
 * @param failure sentence that introduces the cause. It is not printed for a fault that the operator can correct,
 * because such a message says what to do.
 */
export async function startOrExplain(failure: string, start: () => Promise<void>): Promise<void> {
  try {
    await start()
  } catch (error) {
    process.stderr.write(
      error instanceof ConfigError || error instanceof OperatorError
        ? `${error.message}\n`
        : `${failure}: ${describeCause(error)}\n`,
    )
    process.exit(1)
  }
}
