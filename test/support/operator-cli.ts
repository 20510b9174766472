import { spawn } from 'node:child_process'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { CREDENTIAL_SETTINGS } from '#core/credentials/settings.ts'
import type { Pepper, ServiceSecrets } from '#core/credentials/settings.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { runProgram } from '#operator/commands/program.ts'
import { COMPILE_CACHE } from './processes.ts'
import { openTestPools } from './postgres.ts'
import type { TestDatabase } from './postgres.ts'
import { testSecrets } from './secrets.ts'

export const MAIN = fileURLToPath(new URL('../../operator/main.ts', import.meta.url))

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The words of a line, as a shell reads them; double quotes keep spaces. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '')
}

/** The command line with only the variables given. Of the arguments, the first is a line of words. */
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
  /** Expects exit code 1 and nothing on standard output. @returns what standard error says. */
  refused(...args: readonly string[]): Promise<string>
}

export function commandLine(environment: Readonly<Record<string, string>>): Cli {
  const start: Cli['start'] = (line = '', ...args) => {
    const child = spawn(process.execPath, [MAIN, ...wordsOf(line), ...args], {
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
  const run: Cli['run'] = async (line = '', ...args) => {
    const [stdout, stderr] = [textStream(), textStream()]
    const code = await runProgram([...wordsOf(line), ...args], {
      environment,
      stdout: stdout.stream,
      stderr: stderr.stream,
    })
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
    async refused(...args) {
      const { code, stdout, stderr } = await run(...args)
      if (code !== 1 || stdout !== '') throw new Error(`operator ${args.join(' ')} ended with ${code}: ${stdout}`)
      return stderr
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

/** A database of its own, an operator on it in process, and the command line on the same. */
export interface OperatorHarness {
  readonly urls: TestDatabase
  readonly operator: Operator
  /** The owner's connections: for what a test arranges or inspects. */
  readonly owner: Database
  readonly environment: Readonly<Record<string, string>>
  readonly cli: Cli
  readonly peppers: readonly Pepper[]
  readonly serviceSecrets: ServiceSecrets
}

export async function openOperatorHarness(further: Readonly<Record<string, string>> = {}): Promise<OperatorHarness> {
  const { database: urls, owner, operator } = await openTestPools()
  const secrets = testSecrets()
  const environment = {
    DATABASE_URL: urls.operatorUrl,
    KEY_PEPPERS: secrets.KEY_PEPPERS,
    SERVICE_SECRET: secrets.SERVICE_SECRET,
    ...further,
  }
  return {
    urls,
    operator: { database: operator, actor: 'tester' },
    owner,
    environment,
    cli: commandLine(environment),
    peppers: CREDENTIAL_SETTINGS.KEY_PEPPERS.schema.parse(secrets.KEY_PEPPERS),
    serviceSecrets: CREDENTIAL_SETTINGS.SERVICE_SECRET.schema.parse(secrets.SERVICE_SECRET),
  }
}

/** Every row of every table as text; byte columns as hex. */
export async function everythingStored(owner: Queryable): Promise<string> {
  const { rows: tables } = await owner.query<{ name: string }>(
    "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'",
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await owner.query<{ text: string | null }>(
      `select string_agg(stored::text, E'\\n') as text from ${name} as stored`,
    )
    texts.push(rows[0]?.text ?? '')
  }
  return texts.join('\n')
}
