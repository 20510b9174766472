import { ConfigError } from './config.ts'
import { limitsCoreDumps } from './core-dumps.ts'
import { OperatorError } from './errors.ts'
import { describeCause } from './log.ts'

/**
 * Runs the start of a process. A failure prints one explanation and ends the process with exit code 1.
 * @param failure sentence that introduces the cause. It is not printed for a fault that the operator can correct,
 * because such a message says what to do.
 */
export async function startOrExplain(failure: string, start: () => Promise<void>): Promise<void> {
  // A start may wait for a server. What the process stops by later is added to this.
  const end = (): never => process.exit(1)
  for (const event of ENDS) process.on(event, end)
  try {
    assertNode(process.versions.node)
    if (!limitsCoreDumps()) process.stderr.write('A core dump would hold keys and queries: set LimitCORE=0.\n')
    await start()
  } catch (error) {
    process.stderr.write(
      error instanceof ConfigError || error instanceof OperatorError
        ? `${error.message}\n`
        : `${failure}: ${describeCause(error)}\n`,
    )
    process.exit(1)
  } finally {
    for (const event of ENDS) process.off(event, end)
  }
}

const ENDS = ['SIGTERM', 'SIGINT', 'disconnect'] as const

/** What `engines` of package.json asks for. */
const NODE_MIN = [24, 21] as const

/** @throws OperatorError for a Node that corrupts its heap under HTTP/2. */
export function assertNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]))
    throw new OperatorError(
      `Node ${version} corrupts its memory under HTTP/2: run this with Node ${NODE_MIN.join('.')} or newer.`,
    )
}
