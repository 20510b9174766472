import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

export const MAIN = fileURLToPath(new URL('../../../jobs/cli/operator/main.ts', import.meta.url))
/** Starting is most of what a short command costs; the modules need compiling only once. */
const COMPILE_CACHE = fileURLToPath(new URL('../../../node_modules/.cache/compile', import.meta.url))

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The command line as a process of its own, with only the variables given. */
export interface Cli {
  run(...args: readonly string[]): Promise<CliResult>
  /** Adds `--json`, expects exit code 0 and parses standard output. */
  json(...args: readonly string[]): Promise<unknown>
}

export function commandLine(environment: Readonly<Record<string, string>>): Cli {
  async function run(...args: readonly string[]): Promise<CliResult> {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const code = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await code, stdout, stderr }
  }
  return {
    run,
    async json(...args) {
      const { code, stdout, stderr } = await run(...args, '--json')
      if (code !== 0) throw new Error(`operator ${args.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout) as unknown
    },
  }
}
