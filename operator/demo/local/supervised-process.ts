import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { withTimeout } from '#core/platform/with-timeout.ts'

/** A start or stop failed; the message tells what to do. */
export class LocalProcessError extends Error {
  override readonly name = 'LocalProcessError'
}

export const PATH = '/usr/local/bin:/usr/bin:/bin'
export const SERVER_ENVIRONMENT = { PATH, LC_ALL: 'C', TZ: 'UTC' }
/** A process that fails ends by itself, which ends the wait; this only bounds one that hangs. */
export const START_TIMEOUT_MS = 180_000

export type SupervisedProcess = ReturnType<typeof startSupervised>

/** Receives the stop function of a process that was just started, so that it is stopped even if it never gets ready. */
export type OnSpawn = (stop: () => Promise<unknown>) => void

export interface ServerOptions {
  readonly folder: string
  /** Further settings of the server, or other values, by their names in its configuration. */
  readonly settings?: Readonly<Record<string, string>>
  readonly onLog?: (line: string) => void
  /** Called as soon as the server process runs, long before it is ready, and again after a restart. */
  readonly onSpawn?: OnSpawn
}

export interface SupervisedProcessOptions {
  readonly name: string
  readonly command: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  readonly folder: string
  readonly logFile: string
  readonly stopSignal: 'INT' | 'TERM'
  readonly user?: SystemUser
}

export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/**
 * Shell script of a supervised process. Descriptor 3 is a pipe from this process, which closes on `stop` or when this
 * process ends for any reason. The shell then sends the signal every second, since a program that was just started may
 * miss the first one. A supervised process therefore cannot outlive its parent.
 */
const SUPERVISOR =
  'signal=$1; shift; "$@" 3<&- & child=$!; (read -r _ <&3; while kill -s "$signal" "$child"; do ' +
  'sleep 1; done) 2>/dev/null & watcher=$!; wait "$child"; code=$?; kill "$watcher" 2>/dev/null; ' +
  'exit "$code"'

/** @param start starts the process with its output in the log. */
export function watched(name: string, logFile: string, start: (log: number) => ChildProcess) {
  using opened = new DisposableStack()
  const log = opened.adopt(openSync(logFile, 'a', 0o600), closeSync)
  const logStart = statSync(logFile).size
  const child = start(log)
  child.on('error', () => undefined)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const ended = exited.then((): never => {
    throw new LocalProcessError(
      `${name} ended unexpectedly (${child.signalCode ?? `code ${child.exitCode}`}). Its last ` +
        `lines:\n${lastLines(logFile, logStart)}`,
    )
  })
  ended.catch(() => undefined)
  const running = (): boolean => child.exitCode === null && child.signalCode === null
  /** `ended` rejects with the last lines of the log as soon as the process has ended; it never resolves. */
  return { child, exited, ended, running }
}

/**
 * Starts a program in its own session, which the terminal's Ctrl-C does not reach. Its output is appended to `logFile`.
 */
export function startSupervised(options: SupervisedProcessOptions) {
  const { child, exited, ended, running } = watched(options.name, options.logFile, (log) =>
    spawn('/bin/sh', ['-c', SUPERVISOR, 'supervisor', options.stopSignal, ...options.command], {
      cwd: options.folder,
      env: options.environment,
      stdio: ['ignore', log, log, 'pipe'],
      detached: true,
      ...options.user,
    }),
  )
  const { pid } = child
  if (pid === undefined) throw new LocalProcessError(`${options.name} could not be started: /bin/sh is missing.`)
  child.stdio[3]?.on('error', () => undefined)
  return {
    pid,
    ended,
    running,
    /** Sends the signal given at start, then SIGKILL after `timeoutMs`; resolves once the process has ended. */
    stop: (timeoutMs: number) => stopSupervised(child, exited, timeoutMs),
    /** Sends SIGKILL to the whole process group; for tests of a crash. */
    kill: () => killGroup(pid, exited),
  }
}

async function stopSupervised(child: ChildProcess, exited: Promise<void>, timeoutMs: number): Promise<void> {
  const pipe = child.stdio[3]
  if (pipe !== null && pipe !== undefined && 'end' in pipe) pipe.end()
  if (child.pid !== undefined) await untilExited(child.pid, exited, timeoutMs)
}

/** Waits for the process to exit by itself; after `timeoutMs` sends SIGKILL to its group. */
export function untilExited(pid: number, exited: Promise<void>, timeoutMs: number): Promise<void> {
  return withTimeout(timeoutMs, 'late', exited).catch(() => killGroup(pid, exited))
}

/** Sends SIGKILL to a whole process group; a group that has already ended is not an error. */
async function killGroup(pid: number, exited: Promise<void>): Promise<void> {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
  await exited
}

/** Starts a server and waits until it is ready; one that does not become so is killed. */
export async function startServer(
  { stopTimeoutMs, ...options }: SupervisedProcessOptions & { readonly stopTimeoutMs: number },
  onSpawn: OnSpawn | undefined,
  ready: () => Promise<boolean>,
): Promise<SupervisedProcess> {
  const server = startSupervised(options)
  onSpawn?.(() => server.stop(stopTimeoutMs))
  try {
    await untilReady(options.name, server, START_TIMEOUT_MS, options.logFile, ready)
    return server
  } catch (error) {
    await server.kill()
    throw error
  }
}

/** Repeats `attempt` until it returns true; fails when the process ends or `timeoutMs` has passed. */
export async function untilReady(
  name: string,
  process: Pick<SupervisedProcess, 'ended'>,
  timeoutMs: number,
  logFile: string,
  attempt: () => Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (performance.now() < deadline) {
    const ready = await Promise.race([attempt().catch(() => false), process.ended])
    if (ready) return
    await Promise.race([sleep(25), process.ended])
  }
  throw new LocalProcessError(
    `${name} was not ready after ${timeoutMs / 1000} s. Its last lines:\n${lastLines(logFile)}`,
  )
}

const LAST_LINES = 12

/** Returns the last lines of a log from byte `from` on, indented. */
export function lastLines(file: string, from = 0): string {
  const lines = readFileSync(file).subarray(from).toString('utf8').trimEnd().split('\n').slice(-LAST_LINES)
  return lines.map((line) => `  ${line.slice(0, 500)}`).join('\n')
}

/**
 * Below the ports that systems give to outgoing connections: such a connection would keep a server that starts again
 * from its port. A client that repeats its attempts to reach a stopped server may even connect to itself.
 */
const FREE_PORTS = { from: 10_240, to: 32_768 } as const
const FREE_PORT_ATTEMPTS_MAX = 100
/**
 * Each process takes its ports one after the other, from a beginning of its own, and processes that were started one
 * after the other begin far apart: what is to listen on a port may need seconds until it does.
 */
const PORTS_BETWEEN_PROCESSES = 997
let portsTaken = process.pid * PORTS_BETWEEN_PROCESSES

/** Returns a port of 127.0.0.1 that was free during the check, and that this process was not given before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < FREE_PORT_ATTEMPTS_MAX; attempt++) {
    const port = FREE_PORTS.from + (portsTaken++ % (FREE_PORTS.to - FREE_PORTS.from))
    if (await isPortFree(port)) return port
  }
  throw new LocalProcessError('No free port was found on 127.0.0.1.')
}

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** @throws LocalProcessError when something else listens on this port of 127.0.0.1. */
export async function assertPortFree(port: number): Promise<void> {
  if (!(await isPortFree(port)))
    throw new LocalProcessError(`Port ${port} is taken, or this account may not use it: choose another with --port.`)
}

/** Returns the output of a short command, or undefined when the command is missing or fails. */
export function outputOf(command: string, args: readonly string[], user?: SystemUser): string | undefined {
  const { status, stdout } = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 60_000,
    ...user,
  })
  return status === 0 ? stdout.trim() : undefined
}
