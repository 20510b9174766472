import { fork, type ChildProcess } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { dirname, join, resolve as resolvePath } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownEnvironment, sdkEnvironment } from '#jobs/platform/config.ts'
import { BUILD_BOUNDS } from './bounds.ts'
import { explainExit, oomKillCount } from './unexpected-exit.ts'

/** Resident memory and time of a process, beyond which it is killed, and processor time, beyond which the kernel does. */
export interface ProgramBounds {
  readonly residentMb: number
  readonly timeoutMs: number
  readonly cpuSeconds: number
}

/**
 * Folders that a process may read and write, besides the code and the files that its variables name. It loads native
 * libraries and starts threads only with `builds`, and starts processes only with `git`.
 */
export interface Folders {
  readonly read?: readonly string[]
  readonly write: readonly string[]
  readonly builds?: true
  readonly git?: boolean
}

export interface ProgramOptions {
  /** Kills the process at once. */
  readonly signal?: AbortSignal
  /** What the process reads as its environment; the worker's own if absent. */
  readonly environment?: NodeJS.ProcessEnv
  /** All that its account may if absent. */
  readonly folders?: Folders
  readonly bounds?: ProgramBounds
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
  const environment = options.environment ?? ownEnvironment()
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(program), args, {
      ...limited(execArgvOf(options, environment), options.bounds),
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      // The rest is told, so that no file of the system shows it.
      env: Object.fromEntries(NODE_VARIABLES.map((name) => [name, environment[name]])),
    })
    child.send({ environment }, () => undefined)
    const overrun = options.bounds === undefined ? undefined : watchCost(child, options.bounds)
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
      const error = overrun?.()
      if (error !== undefined) return resolve({ outcome, error })
      resolve({ outcome, code, signal, standardError: standardError() })
    })
  })
}

/** What Node itself reads before any code runs. */
const NODE_VARIABLES = ['PATH', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE', 'NODE_EXTRA_CA_CERTS'] as const
const CODE = fileURLToPath(new URL('../../', import.meta.url))
/** Its packages may be a link to where several installations have them. */
const PACKAGES = realpathSync(join(CODE, 'node_modules'))

function execArgvOf({ heapMb, folders }: ProgramOptions, environment: NodeJS.ProcessEnv): string[] {
  const heap = heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`]
  return folders === undefined ? heap : [...heap, ...permissionsOf(folders, environment)]
}

/** The options of Node by which a process opens no other folder. */
export function permissionsOf({ read = [], write, builds, git }: Folders, environment: NodeJS.ProcessEnv): string[] {
  const caches = [environment['NODE_COMPILE_CACHE'] ?? []].flat()
  // The kernel's links to what is open prove that no link was followed (law/sources/roots.ts). A native library asks on
  // which Linux it is.
  const always = [CODE, PACKAGES, '/proc/self/fd', ...(builds ? ['/etc/alpine-release'] : [])]
  const readable = [...always, ...caches, ...filesNamed(environment), ...read, ...write]
  // Node forgets a folder that is named after one below it.
  const allow = (kind: string, paths: readonly string[]): readonly string[] =>
    paths
      .toSorted()
      .flatMap((path) => [`--allow-fs-${kind}=${path}`, `--allow-fs-${kind}=${path.replace(/\/*$/, '/*')}`])
  const quiet = ['1', '2', '6'].map((n) => `--disable-warning=PERM000${n}`)
  const others = [...(builds ? ['--allow-addons', '--allow-worker'] : []), ...(git ? ['--allow-child-process'] : [])]
  return ['--permission', ...quiet, ...others, ...allow('read', readable), ...allow('write', [...caches, ...write])]
}

/** Secrets, certificates, what the AWS SDK reads, and the folders of what Node loads first, as an agent of traces is. */
function filesNamed(environment: NodeJS.ProcessEnv): readonly string[] {
  const { DATABASE_URL: url = '', ARTIFACT_STORE: store, NODE_OPTIONS: options = '' } = environment
  const preloaded = (options.match(/(?<=^|[\s="]|file:\/\/)\/[^\s?#"]+/g) ?? []).map(dirname)
  const { HOME: home } = sdkEnvironment(store, environment)
  const named = [...(URL.parse(url)?.searchParams ?? []), ...Object.entries(environment)]
  const paths = named.flatMap(([name, path = '']) =>
    /_(?:FILE|CA)$|^SEARCH_TLS_|^ssl(?:cert|key|rootcert)$/.test(name) && path !== '' ? [resolvePath(path)] : [],
  )
  return [...paths, ...preloaded, ...(home === undefined ? [] : [join(home, '.aws')])]
}

/** The shell becomes the program, whose processor time the kernel bounds, also where the worker is gone. */
export function limited(execArgv: readonly string[], bounds: ProgramBounds | undefined) {
  if (bounds === undefined) return { execArgv: [...execArgv] }
  // At a soft limit the kernel sends SIGXCPU; at a hard one SIGKILL, as it does for lack of memory.
  const script = `ulimit -S -t ${bounds.cpuSeconds} && exec "$0" "$@"`
  return { execPath: '/bin/sh', execArgv: ['-c', script, process.execPath, ...execArgv] }
}

/** Kills a process that takes too much. @returns a function that says what it took; undefined: it kept within. */
export function watchCost(child: ChildProcess, { residentMb, timeoutMs }: ProgramBounds) {
  const startedMs = performance.now()
  let overrun: string | undefined
  const watch = setInterval(() => {
    const tookMb = residentMbOf(child.pid)
    if (performance.now() - startedMs > timeoutMs) overrun = `it took longer than ${timeoutMs / 60_000} minutes`
    else if (tookMb > residentMb) overrun = `it took more than ${residentMb} MB of memory`
    if (overrun !== undefined) child.kill('SIGKILL')
  }, BUILD_BOUNDS.costWatchEveryMs)
  child.once('close', () => clearInterval(watch))
  return () => overrun
}

const PAGE_BYTES = 4_096

/** 0 where the system does not say. */
function residentMbOf(pid: number | undefined): number {
  try {
    const [, pages = ''] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')
    return (Number(pages) * PAGE_BYTES) / 1_048_576
  } catch {
    return 0
  }
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
