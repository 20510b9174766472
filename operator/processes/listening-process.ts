import { fork, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { parsedJson } from '#core/platform/json.ts'
import { withTimeout } from '#core/platform/with-timeout.ts'

const STOP_TIMEOUT_MS = 5_000
const LINES_KEPT = 5

export interface ListeningOptions<T> {
  /** Begins a sentence, e.g. `The search node`. */
  readonly name: string
  readonly program: string
  readonly nodeOptions: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly startTimeoutMs: number
  /** The line of its log with which it says that it listens. */
  readonly listening: z.ZodType<T>
}

export interface ListeningProcess<T> {
  /** What the process said as it began to listen. */
  readonly said: T
  /** Aborted when the process ends without `stop`. */
  readonly ended: AbortSignal
  stop(): Promise<void>
}

/**
 * Starts a service as in production, in a process of its own. It ends when this process ends.
 * @throws OperatorError with its last lines when it ends early or is not ready in time.
 */
export async function startListening<T>(options: ListeningOptions<T>): Promise<ListeningProcess<T>> {
  const { name, program, nodeOptions, environment, startTimeoutMs, listening } = options
  const child = fork(program, [], {
    execArgv: [...nodeOptions],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // A Ctrl-C of the terminal reaches only this process, which then stops the service.
    detached: true,
    env: { ...environment },
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const lines = lastLinesOf(child)
  const failure = (): Error =>
    new OperatorError(`${name} ended (${child.signalCode ?? `code ${child.exitCode}`}): ${lines().join(' ')}`)
  const unasked = new AbortController()
  let stopping = false
  void exited.then(() => (stopping ? undefined : unasked.abort(failure())))
  async function stop(): Promise<void> {
    stopping = true
    await stopChild(child, exited)
  }
  try {
    const gone = exited.then((): never => {
      throw failure()
    })
    const late = new OperatorError(`${name} was not ready after ${startTimeoutMs / 1_000} s: try again.`)
    const said = await withTimeout(startTimeoutMs, late, Promise.race([saidBy(child, listening), gone]))
    return { said, ended: unasked.signal, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function saidBy<T>({ stdout }: ChildProcess, listening: z.ZodType<T>): Promise<T> {
  return new Promise((resolve) => {
    if (stdout === null) return
    createInterface({ input: stdout }).on('line', (line) => {
      const parsed = listening.safeParse(parsedJson(line))
      if (parsed.success) resolve(parsed.data)
    })
  })
}

function lastLinesOf({ stderr }: ChildProcess): () => readonly string[] {
  let kept: string[] = []
  if (stderr !== null)
    createInterface({ input: stderr }).on('line', (line) => (kept = [...kept, line.slice(0, 500)].slice(-LINES_KEPT)))
  return () => kept
}

async function stopChild(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await exited
  clearTimeout(timer)
}
