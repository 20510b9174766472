import { spawn } from 'node:child_process'
import type { Log } from '#core/platform/log.ts'
import { CAPTURE_BOUNDS } from './bounds.ts'

/** Who is told of captures and candidates, beside the log. Undefined: nobody. */
export interface Notified {
  /** Address that takes a POST of JSON. */
  readonly webhook?: string | undefined
  /** Absolute path of a program and its arguments. It reads JSON from standard input. */
  readonly command?: readonly string[] | undefined
  /** For each of them; default: the bound of captures. */
  readonly timeoutMs?: number
}

/** What a program needs to find others; it sees no variable of the worker, which has secrets. */
const COMMAND_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }

/** Tells the webhook and the command. A failure goes to the log and stops nothing. */
export async function notify(
  { webhook, command, timeoutMs = CAPTURE_BOUNDS.notifyTimeoutMs }: Notified,
  what: object,
  log: Log,
): Promise<void> {
  const body = JSON.stringify(what)
  await Promise.all([
    webhook === undefined ? undefined : post(webhook, body, timeoutMs, log),
    command === undefined ? undefined : run(command, body, timeoutMs, log),
  ])
}

async function post(webhook: string, body: string, timeoutMs: number, log: Log): Promise<void> {
  try {
    const answer = await fetch(webhook, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    await answer.body?.cancel()
    if (!answer.ok) log.warn('webhook refused', { status: answer.status })
  } catch (error) {
    log.warn('webhook', {}, error)
  }
}

/** Runs a program without a shell. It is killed at the end of its time, and its output is not read. */
async function run(
  [program = '', ...args]: readonly string[],
  body: string,
  timeoutMs: number,
  log: Log,
): Promise<void> {
  const { code, signal, error } = await new Promise<{
    readonly code?: number | null
    readonly signal?: string | null
    readonly error?: Error
  }>((resolve) => {
    const child = spawn(program, args, {
      stdio: ['pipe', 'ignore', 'ignore'],
      env: COMMAND_ENVIRONMENT,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    })
    child.once('error', (failure) => resolve({ error: failure }))
    child.once('exit', (ended, by) => resolve({ code: ended, signal: by }))
    // A program may end without reading.
    child.stdin.on('error', () => undefined)
    child.stdin.end(`${body}\n`)
  })
  if (error !== undefined) log.warn('capture command', {}, error)
  else if (code !== 0) log.warn('capture command failed', { code, signal })
}
