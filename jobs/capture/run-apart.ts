import { fork } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commandEnvironment, ownEnvironment } from '#jobs/platform/config.ts'
import { limited, permissionsOf, watchCost, type ProgramBounds } from '#jobs/version-build/run-program.ts'
import { defaultBuildHeapMb, explainExit } from '#jobs/version-build/unexpected-exit.ts'
import { cloneAt } from '#law/sources/git/clone.ts'
import { CAPTURE_BOUNDS } from './bounds.ts'

/** What a process that reads sources may take. */
export function readingBounds(heapMb: number): ProgramBounds {
  const { residentBeyondHeapMb, captureTimeoutMs: timeoutMs, captureCpuSecondsMax: cpuSeconds } = CAPTURE_BOUNDS
  return { residentMb: heapMb + residentBeyondHeapMb, timeoutMs, cpuSeconds }
}

const TITLE = 'evidence-apart'
/** Whether this process is one that `runApart` started. */
export const isApart = process.title === TITLE

/** What the arguments name, with what stands beside a file, and the store; recorded sources may be anywhere. */
function foldersOf(args: readonly string[], { ARTIFACT_STORE: url, ARTIFACT_CACHE: cache }: NodeJS.ProcessEnv) {
  const named = args
    .map((each) => cloneAt(each)?.path ?? resolve(each.replace(/^--[\w-]+=/, '')))
    .filter((path) => existsSync(path))
    .flatMap((path) => [path, realpathSync(path)])
    .map((path) => (statSync(path).isDirectory() ? path : dirname(path)))
  const isCapture = args[0] === 'capture'
  const git = isCapture || named.some((path) => existsSync(join(path, '.git')) || existsSync(join(path, 'objects')))
  const store = url?.startsWith('file:') ? fileURLToPath(url) : (cache ?? [])
  const write = [store, args.some((each) => each === 'init' || each === 'draft') ? named : []].flat()
  return { read: isCapture ? ['/'] : named, write, git }
}

/**
 * Runs a program of the command line in a process of its own, with the streams of this one, so that a file that takes
 * too much ends in a sentence.
 * @returns its exit code.
 */
export async function runApart(program: URL, args: readonly string[], within?: ProgramBounds): Promise<number> {
  const heapMb = defaultBuildHeapMb(1)
  const { commandTimeoutMs: timeoutMs } = CAPTURE_BOUNDS
  const bounds = within ?? { ...readingBounds(heapMb), timeoutMs, cpuSeconds: timeoutMs / 1_000 }
  const path = fileURLToPath(program)
  const { read, write, git } = foldersOf(args, ownEnvironment())
  using ending = new DisposableStack()
  const scratch = ending.adopt(mkdtempSync(join(tmpdir(), 'evidence-apart-')), (folder) =>
    rmSync(folder, { recursive: true, force: true }),
  )
  const permissions = permissionsOf({ read: [path, ...read], write: [...write, scratch], git }, ownEnvironment())
  const child = fork(path, args, {
    env: { ...commandEnvironment(ownEnvironment()), TMPDIR: scratch },
    ...limited([...process.execArgv, `--title=${TITLE}`, `--max-old-space-size=${heapMb}`, ...permissions], bounds),
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    // Ctrl-C of a terminal reaches this process alone, which passes it on once.
    detached: true,
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const overrun = watchCost(child, bounds)
  const end = await new Promise<Pick<Parameters<typeof explainExit>[0], 'code' | 'signal'>>((done, reject) =>
    child.once('error', reject).once('close', (code, signal) => done({ code, signal })),
  )
  const killed = end.signal === null ? undefined : { ...end, standardError: '', heapMb, kernelKills: undefined }
  const reason = overrun() ?? (killed && explainExit(killed).reason)
  if (reason === undefined) return end.code ?? 1
  process.stderr.write(`Nothing was stored, because ${reason}: name fewer files, or split the one that takes it.\n`)
  return 1
}
