import { z } from 'zod'
import type { BuildFence } from '#core/db/builds.ts'
import { openArtifactStore } from '#core/index/format/store.ts'
import { jobsConfig, ownEnvironment } from '#jobs/platform/config.ts'
import { BUILD_BOUNDS } from './bounds.ts'
import { runProgram, type ProgramOptions, type Unended } from './run-program.ts'
import { BUILD_STAGES } from './progress.ts'

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
export type BuildOutcome = AttemptOutcome | Unended

export type RunChildOptions = ProgramOptions & { readonly onProgress?: (mark: BuildMark, pid: number) => void }

const program = new URL('./child.ts', import.meta.url)

/** Runs a build in its own process. Where it is killed, the next run of the build resumes where this one stopped. */
export async function runBuildChild(
  { buildId, attempt }: BuildFence,
  { onProgress, ...options }: RunChildOptions = {},
): Promise<BuildOutcome> {
  const { DATABASE_URL_FILE: _, ...environment } = options.environment ?? ownEnvironment()
  const { DATABASE_URL, ...settings } = jobsConfig(options.environment ?? ownEnvironment())
  const onMessage = (raw: unknown, pid: number): AttemptOutcome | undefined => {
    const { data } = messageSchema.safeParse(raw)
    if (data === undefined) return undefined
    if ('outcome' in data) return data
    onProgress?.(data, pid)
    return undefined
  }
  // A provider may take days, and a version any memory that the heap's limit leaves.
  const bounds = { residentMb: Infinity, timeoutMs: Infinity, cpuSeconds: BUILD_BOUNDS.buildCpuSecondsMax }
  return await runProgram(program, [buildId, String(attempt)], onMessage, {
    bounds,
    ...options,
    environment: { ...environment, DATABASE_URL },
    folders: { write: [openArtifactStore(settings).root], builds: true },
  })
}
