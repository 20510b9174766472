import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { CREDENTIAL_SETTINGS } from '#core/credentials/settings.ts'
import type { Queryable } from '#core/db/pool.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { runProgram } from '#operator/commands/program.ts'
import { COMPILE_CACHE, startProgram } from './processes.ts'
import { openTestPools } from './postgres.ts'
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

export type Cli = ReturnType<typeof commandLine>

/** The command line with only the variables given. Of the arguments, the first is a line of words. */
export function commandLine(environment: Readonly<Record<string, string>>) {
  /** As a process of its own. */
  const start = (line: string, ...args: readonly string[]) => {
    const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...environment }
    const { child, said, ended } = startProgram([MAIN, ...wordsOf(line), ...args], env)
    return {
      stderr: () => said.stderr,
      signal: (name: NodeJS.Signals) => void child.kill(name),
      ended: ended.then((code): CliResult => ({ code, stdout: said.stdout, stderr: said.stderr })),
    }
  }
  /** In this process. */
  const run = async (line = '', ...args: readonly string[]): Promise<CliResult> => {
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
    /** Adds `--json`, expects exit code 0 and parses standard output. */
    async json(...args: readonly string[]) {
      const { code, stdout, stderr } = await run(...args, '--json')
      if (code !== 0) throw new Error(`operator ${args.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout) as unknown
    },
    /** Expects exit code 1 and nothing on standard output. @returns what standard error says. */
    async refused(...args: readonly string[]) {
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
export async function openOperatorHarness(further: Readonly<Record<string, string>> = {}) {
  const { database: urls, owner, operator } = await openTestPools()
  const secrets = testSecrets()
  const environment: Readonly<Record<string, string>> = {
    DATABASE_URL: urls.operatorUrl,
    KEY_PEPPERS: secrets.KEY_PEPPERS,
    SERVICE_SECRET: secrets.SERVICE_SECRET,
    ...further,
  }
  return {
    urls,
    operator: { database: operator, actor: 'tester' } satisfies Operator,
    /** The owner's connections: for what a test arranges or inspects. */
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
