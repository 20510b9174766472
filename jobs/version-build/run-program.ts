import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { BUILD_BOUNDS } from './bounds.ts'
import { explainExit, oomKillCount } from './unexpected-exit.ts'

export interface ProgramOptions {
  /** Kills the process at once. */
  readonly signal?: AbortSignal
  /** The environment of the process; the worker's own if absent. */
  readonly environment?: NodeJS.ProcessEnv
  /** Limit of the heap of each thread of the process; that of V8 if absent. */
  readonly heapMb?: number
}

/** How a process ended that told no outcome. */
export type Unended =
  | { readonly outcome: 'died'; readonly reason: string; readonly outOfMemory: boolean }
  /** Killed by `signal`. */
  | { readonly outcome: 'stopped' }

/**
 * Runs a program of the worker in its own process, so that a blocked event loop, a crash of a native library or a lack
 * of memory does not affect the worker.
 * @param onMessage takes what the process tells. Its last result is the outcome, unless it is undefined.
 */
export async function runProgram<T extends { readonly outcome: string }>(
  program: URL,
  args: readonly string[],
  onMessage: (raw: unknown, pid: number) => T | undefined,
  options: ProgramOptions,
): Promise<T | Unended> {
  const killsBefore = await oomKillCount()
  const ended = await childEnd(program, args, onMessage, options)
  if (ended.outcome !== undefined) return ended.outcome
  if (options.signal?.aborted === true) return { outcome: 'stopped' }
  if ('error' in ended) return { outcome: 'died', reason: ended.error, outOfMemory: false }
  const killsAfter = await oomKillCount()
  const kernelKills = killsBefore === undefined || killsAfter === undefined ? undefined : killsAfter - killsBefore
  return { outcome: 'died', ...explainExit({ ...ended, heapMb: options.heapMb, kernelKills }) }
}

type ChildEnd<T> = { readonly outcome: T | undefined } & (
  | { readonly error: string }
  | { readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly standardError: string }
)

function childEnd<T>(
  program: URL,
  args: readonly string[],
  onMessage: (raw: unknown, pid: number) => T | undefined,
  options: ProgramOptions,
): Promise<ChildEnd<T>> {
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(program), args, {
      execArgv: options.heapMb === undefined ? [] : [`--max-old-space-size=${options.heapMb}`],
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      ...(options.environment === undefined ? {} : { env: options.environment }),
    })
    const standardError = keepStandardError(child)
    let outcome: T | undefined
    const kill = (): void => void child.kill('SIGKILL')
    if (options.signal?.aborted === true) kill()
    else options.signal?.addEventListener('abort', kill, { once: true })
    child.on('message', (raw) => {
      outcome = onMessage(raw, child.pid ?? 0) ?? outcome
    })
    // A process that cannot be started ends here; after any other error it still closes.
    child.on('error', (error) => {
      if (child.pid === undefined) resolve({ outcome, error: `its process could not be started (${error.message})` })
    })
    child.on('close', (code, signal) => {
      options.signal?.removeEventListener('abort', kill)
      resolve({ outcome, code, signal, standardError: standardError() })
    })
  })
}

/** Passes the standard error of the process on. @returns a function that gives its last part. */
function keepStandardError({ stderr }: ChildProcess): () => string {
  let kept = ''
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    process.stderr.write(text)
    kept = (kept + text).slice(-BUILD_BOUNDS.buildStandardErrorCharactersKept)
  })
  return () => kept
}
