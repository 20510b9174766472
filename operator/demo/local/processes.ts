import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  LocalProcessError,
  PATH,
  START_TIMEOUT_MS,
  startSupervised,
  untilExited,
  untilReady,
  watched,
  type OnSpawn,
} from './supervised-process.ts'

/** Longer than a gateway takes that finishes what is in flight. */
const STOP_TIMEOUT_MS = 60_000
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

export interface ServiceOptions {
  readonly name: string
  /** Entry point relative to `root`, e.g. `gateway/main.ts`. */
  readonly script: string
  /** Folder of the code; the root of this repository if absent. */
  readonly root?: string | undefined
  readonly args?: readonly string[]
  readonly nodeOptions?: readonly string[]
  /** A program that becomes the service, with its arguments. */
  readonly prefix?: readonly string[] | undefined
  /** The whole environment of the process, except for the PATH. */
  readonly environment: Readonly<Record<string, string>>
  readonly logFile: string
  /** Polled until it returns true; a rejection counts as not ready. */
  readonly ready: () => Promise<boolean>
  readonly startTimeoutMs?: number
  /** Folders, absolute or relative to the root; a change of any file below them restarts the service. */
  readonly restartOn?: readonly string[] | undefined
  /** Called with the stop function as soon as the process runs, before it is ready. */
  readonly onSpawn?: OnSpawn | undefined
}

export interface LocalService {
  readonly name: string
  readonly pid: number
  readonly logFile: string
  /** Rejects with the last lines of the log once the process has ended for any reason; never resolves. */
  readonly ended: Promise<never>
  running(): boolean
  /**
   * Sends SIGTERM, then SIGKILL after `timeoutMs`. Resolves with the exit code, or null when it was killed or was
   * started with `restartOn`.
   */
  stop(timeoutMs?: number): Promise<number | null>
  signal(name: NodeJS.Signals): void
}

/**
 * Starts one service as in production: its `main.ts` under this Node, with only the given environment. The service has
 * its own session, so that Ctrl-C reaches only the parent, which stops its services in order. The end of its IPC
 * channel tells the service that its parent has ended.
 * @throws LocalProcessError with the last lines of its log when it ends early or is not ready in time.
 */
export async function startService(options: ServiceOptions): Promise<LocalService> {
  const { name, logFile, restartOn, startTimeoutMs = START_TIMEOUT_MS } = options
  mkdirSync(dirname(logFile), { recursive: true })
  const service = { name, logFile, ...(restartOn === undefined ? spawned(options) : spawnedAgain(options, restartOn)) }
  options.onSpawn?.(() => service.stop())
  try {
    await untilReady(name, service, startTimeoutMs, logFile, options.ready)
    return service
  } catch (error) {
    await service.stop()
    throw error
  }
}

type Spawned = Omit<LocalService, 'name' | 'logFile'>

function spawned(options: ServiceOptions): Spawned {
  const { name, script, root = ROOT, args = [], nodeOptions = [], prefix = [], environment, logFile } = options
  const [program = '', ...rest] = [...prefix, process.execPath, ...nodeOptions, script, ...args]
  const { child, exited, ended, running } = watched(name, logFile, (log) =>
    spawn(program, rest, {
      cwd: root,
      env: { PATH, ...environment },
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
    }),
  )
  const { pid } = child
  if (pid === undefined)
    throw new LocalProcessError(`${name} could not be started: Node is missing at ${process.execPath}.`)
  return {
    pid,
    ended,
    running,
    signal: (signal) => void child.kill(signal),
    stop: async (timeoutMs = STOP_TIMEOUT_MS) => {
      child.kill('SIGTERM')
      await untilExited(pid, exited, timeoutMs)
      return child.exitCode
    },
  }
}

/** Runs the service under `node --watch-path`, which restarts it; Node's watcher has no IPC channel to its parent. */
function spawnedAgain(options: ServiceOptions, folders: readonly string[]): Spawned {
  const { name, script, root = ROOT, args = [], nodeOptions = [], environment, logFile } = options
  const watching = [...folders.map((folder) => `--watch-path=${folder}`), '--watch-preserve-output']
  const { pid, ended, running, stop } = startSupervised({
    name,
    command: [process.execPath, ...nodeOptions, ...watching, script, ...args],
    environment: { PATH, ...environment },
    folder: root,
    logFile,
    stopSignal: 'TERM',
  })
  return {
    pid,
    ended,
    running,
    signal: (signal) => void process.kill(-pid, signal),
    stop: (timeoutMs = STOP_TIMEOUT_MS) => stop(timeoutMs).then(() => null),
  }
}
