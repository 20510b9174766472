import { spawn } from 'node:child_process'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { runProgram } from '#jobs/operator/program.ts'
import { COMPILE_CACHE } from '#test/support/compile-cache.ts'

export const MAIN = fileURLToPath(new URL('../../../jobs/operator/main.ts', import.meta.url))

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The command line with only the variables given. */
export interface Cli {
  /** As a process of its own. */
  start(...args: readonly string[]): {
    stderr(): string
    signal(name: NodeJS.Signals): void
    readonly ended: Promise<CliResult>
  }
  /** In this process. */
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
  const run: Cli['run'] = async (...args) => {
    const [stdout, stderr] = [textStream(), textStream()]
    const code = await runProgram(args, { environment, stdout: stdout.stream, stderr: stderr.stream })
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  }
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

function textStream(): { readonly stream: Writable; text(): string } {
  const written: Buffer[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(written).toString('utf8') }
}
