import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { BUILD_STAGES } from './stages.ts'

const markSchema = z.strictObject({ stage: z.enum(BUILD_STAGES), done: z.number(), total: z.number() })
const outcomeSchema = z.discriminatedUnion('outcome', [
  z.strictObject({ outcome: z.literal('succeeded'), versionId: z.uuid() }),
  z.strictObject({ outcome: z.literal('finished before') }),
  z.strictObject({ outcome: z.literal('overtaken') }),
  /** `attempt` is the run's fence; absent when the run had none yet. */
  z.strictObject({
    outcome: z.literal('failed'),
    permanent: z.boolean(),
    message: z.string(),
    attempt: z.int().optional(),
  }),
])
const messageSchema = z.union([markSchema, outcomeSchema])
/** A message of a build's process to the worker: its progress or its outcome. */
export type ChildMessage = z.infer<typeof messageSchema>
export type BuildMark = z.infer<typeof markSchema>
export type FailedRun = Extract<ChildMessage, { outcome: 'overtaken' | 'failed' }>
export type BuildOutcome = z.infer<typeof outcomeSchema> | { readonly outcome: 'died'; readonly reason: string }

export interface RunChildOptions {
  /** Kills the process at once; the next run of the build resumes where this one stopped. */
  readonly signal?: AbortSignal
  /** The environment of the process; the worker's own if absent. */
  readonly environment?: NodeJS.ProcessEnv
  readonly onProgress?: (mark: BuildMark, pid: number) => void
}

const program = fileURLToPath(new URL('./child.ts', import.meta.url))

/**
 * Runs a build in its own process, so that a blocked event loop or a crash of a native library does not affect the
 * worker.
 */
export function runBuildChild(buildId: string, options: RunChildOptions = {}): Promise<BuildOutcome> {
  return new Promise((resolve) => {
    const child = fork(program, [buildId], {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      ...(options.environment === undefined ? {} : { env: options.environment }),
    })
    let outcome: BuildOutcome | undefined
    const kill = (): void => void child.kill('SIGKILL')
    if (options.signal?.aborted === true) kill()
    else options.signal?.addEventListener('abort', kill, { once: true })
    child.on('message', (raw) => {
      const parsed = messageSchema.safeParse(raw)
      if (!parsed.success) return
      if ('outcome' in parsed.data) outcome = parsed.data
      else options.onProgress?.(parsed.data, child.pid ?? 0)
    })
    child.on('error', (error) => (outcome ??= { outcome: 'died', reason: error.message }))
    child.on('close', (code, signal) => {
      options.signal?.removeEventListener('abort', kill)
      resolve(outcome ?? { outcome: 'died', reason: signal === null ? `exit code ${code}` : `signal ${signal}` })
    })
  })
}
