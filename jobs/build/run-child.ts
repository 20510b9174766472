import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { BuildFence } from '#core/db/builds.ts'
import { BUILD_BOUNDS } from '#jobs/build/bounds.ts'
import { explainExit, oomKillCount } from './unexpected-exit.ts'
import { BUILD_STAGES } from './stages.ts'

const markSchema = z.strictObject({ stage: z.enum(BUILD_STAGES), done: z.number(), total: z.number() })
const outcomeSchema = z.discriminatedUnion('outcome', [
  z.strictObject({ outcome: z.literal('succeeded'), versionId: z.uuid() }),
  z.strictObject({ outcome: z.literal('overtaken') }),
  z.strictObject({
    outcome: z.literal('failed'),
    kind: z.enum(['permanent', 'out of memory', 'transient']),
    message: z.string(),
  }),
])
const messageSchema = z.union([markSchema, outcomeSchema])
/** A message of a build's process to the worker: its progress or its outcome. */
export type ChildMessage = z.infer<typeof messageSchema>
export type BuildMark = z.infer<typeof markSchema>
/** How a run ended that told so. */
export type AttemptOutcome = z.infer<typeof outcomeSchema>
export type FailedRun = Extract<ChildMessage, { outcome: 'overtaken' | 'failed' }>
export type BuildOutcome =
  | AttemptOutcome
  | { readonly outcome: 'died'; readonly reason: string; readonly outOfMemory: boolean }
  /** Killed by `signal`. */
  | { readonly outcome: 'stopped' }

export interface RunChildOptions {
  /** Kills the process at once; the next run of the build resumes where this one stopped. */
  readonly signal?: AbortSignal
  /** The environment of the process; the worker's own if absent. */
  readonly environment?: NodeJS.ProcessEnv
  /** Limit of the heap of each thread of the process; that of V8 if absent. */
  readonly heapMb?: number
  readonly onProgress?: (mark: BuildMark, pid: number) => void
}

const program = fileURLToPath(new URL('./child.ts', import.meta.url))

/**
 * Runs a build in its own process, so that a blocked event loop, a crash of a native library or a lack of memory does
 * not affect the worker.
 */
export async function runBuildChild(fence: BuildFence, options: RunChildOptions = {}): Promise<BuildOutcome> {
  const killsBefore = await oomKillCount()
  const ended = await childEnd(fence, options)
  if (ended.outcome !== undefined) return ended.outcome
  if (options.signal?.aborted === true) return { outcome: 'stopped' }
  if ('error' in ended) return { outcome: 'died', reason: ended.error, outOfMemory: false }
  const killsAfter = await oomKillCount()
  const kernelKills = killsBefore === undefined || killsAfter === undefined ? undefined : killsAfter - killsBefore
  return { outcome: 'died', ...explainExit({ ...ended, heapMb: options.heapMb, kernelKills }) }
}

type ChildEnd = { readonly outcome: Exclude<BuildOutcome, { outcome: 'died' | 'stopped' }> | undefined } & (
  | { readonly error: string }
  | { readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly standardError: string }
)

function childEnd({ buildId, attempt }: BuildFence, options: RunChildOptions): Promise<ChildEnd> {
  return new Promise((resolve) => {
    const child = fork(program, [buildId, String(attempt)], {
      execArgv: options.heapMb === undefined ? [] : [`--max-old-space-size=${options.heapMb}`],
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      ...(options.environment === undefined ? {} : { env: options.environment }),
    })
    const standardError = keepStandardError(child)
    let outcome: ChildEnd['outcome']
    const kill = (): void => void child.kill('SIGKILL')
    if (options.signal?.aborted === true) kill()
    else options.signal?.addEventListener('abort', kill, { once: true })
    child.on('message', (raw) => {
      const parsed = messageSchema.safeParse(raw)
      if (!parsed.success) return
      if ('outcome' in parsed.data) outcome = parsed.data
      else options.onProgress?.(parsed.data, child.pid ?? 0)
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
