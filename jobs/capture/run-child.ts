import { z } from 'zod'
import { CAPTURE_OUTCOMES } from '#core/db/sources.ts'
import { openArtifactStore } from '#core/index/format/store.ts'
import { captureConfig, captureEnvironment, ownEnvironment } from '#jobs/platform/config.ts'
import { runProgram, type ProgramOptions, type Unended } from '#jobs/version-build/run-program.ts'
import { readingBounds } from './run-apart.ts'

/** Who captures and builds on a schedule, in the audit trail and on the builds. */
export const SCHEDULED = 'scheduled capture'

const capturedSchema = z.strictObject({
  source: z.string(),
  knowledge_base: z.string(),
  outcome: z.enum(CAPTURE_OUTCOMES),
  /** Why it failed, or why no candidate follows. */
  message: z.string().nullable(),
  files: z.int(),
  import_id: z.uuid().nullable(),
  build_id: z.uuid().nullable(),
})
export type Captured = Readonly<z.infer<typeof capturedSchema>>

const runSchema = z.discriminatedUnion('outcome', [
  z.strictObject({
    outcome: z.literal('ended'),
    captured: capturedSchema,
    cost: z.strictObject({ cpuSeconds: z.number(), peakBytes: z.number() }),
  }),
  z.strictObject({ outcome: z.literal('removed') }),
  z.strictObject({ outcome: z.literal('failed'), reason: z.string() }),
])
/** How a process of a capture ended that told so. */
export type CaptureRun = z.infer<typeof runSchema>

const program = new URL('./child.ts', import.meta.url)

/** Captures a source in its own process: a large file takes the memory and the time of that one alone. */
export async function runCaptureChild(sourceId: string, options: ProgramOptions): Promise<CaptureRun | Unended> {
  const environment = captureEnvironment(options.environment ?? ownEnvironment())
  const { SOURCE_ROOTS: roots, ...settings } = captureConfig(environment)
  const { root: folder } = openArtifactStore(settings)
  return await runProgram(program, [sourceId], (raw) => runSchema.safeParse(raw).data, {
    bounds: readingBounds(options.heapMb ?? 0),
    ...options,
    environment,
    folders: { read: roots, write: [folder] },
  })
}
