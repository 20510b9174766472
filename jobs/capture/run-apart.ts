import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { limited, watchCost, type ProgramBounds } from '#jobs/version-build/run-program.ts'
import { defaultBuildHeapMb, explainExit } from '#jobs/version-build/unexpected-exit.ts'
import { CAPTURE_BOUNDS } from './bounds.ts'

/** What a process that reads sources may take. */
export function readingBounds(heapMb: number): ProgramBounds {
  const { residentBeyondHeapMb, captureTimeoutMs: timeoutMs, captureCpuSecondsMax: cpuSeconds } = CAPTURE_BOUNDS
  return { residentMb: heapMb + residentBeyondHeapMb, timeoutMs, cpuSeconds }
}

const TITLE = 'evidence-apart'
/** Whether this process is one that `runApart` started. */
export const isApart = process.title === TITLE

/**
 * Runs a program of the command line in a process of its own, with the streams of this one, so that a file that takes
 * too much ends in a sentence.
 * @returns its exit code.
 */
export async function runApart(program: URL, args: readonly string[], within?: ProgramBounds): Promise<number> {
  const heapMb = defaultBuildHeapMb(1)
  const { commandTimeoutMs: timeoutMs } = CAPTURE_BOUNDS
  const bounds = within ?? { ...readingBounds(heapMb), timeoutMs, cpuSeconds: timeoutMs / 1_000 }
  const child = fork(fileURLToPath(program), args, {
    ...limited([...process.execArgv, `--title=${TITLE}`, `--max-old-space-size=${heapMb}`], bounds),
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    // Ctrl-C of a terminal reaches this process alone, which passes it on once.
    detached: true,
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const overrun = watchCost(child, bounds)
  const end = await new Promise<Pick<Parameters<typeof explainExit>[0], 'code' | 'signal'>>((resolve, reject) =>
    child.once('error', reject).once('close', (code, signal) => resolve({ code, signal })),
  )
  const killed = end.signal === null ? undefined : { ...end, standardError: '', heapMb, kernelKills: undefined }
  const reason = overrun() ?? (killed && explainExit(killed).reason)
  if (reason === undefined) return end.code ?? 1
  process.stderr.write(`Nothing was stored, because ${reason}: name fewer files, or split the one that takes it.\n`)
  return 1
}
