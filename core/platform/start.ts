import { ConfigError } from './config.ts'
import { OperatorError } from './errors.ts'
import { describeCause } from './log.ts'

/**
 * Runs the start of a process. A failure prints one explanation and ends the process with exit code 1.
 * @param failure sentence that introduces the cause of a failure. A fault that the operator can mend is printed without
 * it: its message says what to do.
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
