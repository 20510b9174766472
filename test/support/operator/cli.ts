import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { COMPILE_CACHE } from '#test/support/compile-cache.ts'

export const MAIN = fileURLToPath(new URL('../../../jobs/operator/main.ts', import.meta.url))

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The command line as a process of its own, with only the variables given. */
export interface Cli {
  start(...args: readonly string[]): {
    stderr(): string
    signal(name: NodeJS.Signals): void
    readonly ended: Promise<CliResult>
  }
  run(...args: readonly string[]): Promise<CliResult>
  /** Adds `--json`, expects exit code 0 and parses standard output. */
  json(...args: readonly string[]): Promise<unknown>
}

export function commandLine(environment: Readonly<Record<string, string>>): Cli {
  const start: Cli['start'] = (...args) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const output = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
    const ended = new Promise<CliResult>((resolve, reject) =>
      child.once('error', reject).once('close', (code) => resolve({ code, ...output })),
    )
    return { stderr: () => output.stderr, signal: (name) => void child.kill(name), ended }
  }
  const run: Cli['run'] = (...args) => start(...args).ended
  return {
    start,
    run,
    async json(...args) {
      const { code, stdout, stderr } = await run(...args, '--json')
      if (code !== 0) throw new Error(`operator ${args.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout) as unknown
    },
  }
}
