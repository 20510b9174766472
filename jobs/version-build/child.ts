import { z } from 'zod'
import { jobsConfig, type JobsConfig } from '#jobs/platform/config.ts'
import { attemptBuild } from './attempt.ts'
import { asProgram } from './program.ts'
import type { ChildMessage } from './run-child.ts'

/**
 * Runs a build once in its own process: `child.ts <build id> <attempt>`. The worker has begun the attempt, so it knows
 * the fence of a process that dies.
 */
const [buildId, attempt] = z.tuple([z.uuid(), z.coerce.number().int()]).parse(process.argv.slice(2))

await asProgram<ChildMessage, JobsConfig>(jobsConfig, async ({ tell, ...context }) =>
  attemptBuild({ buildId, attempt }, { ...context, onProgress: (mark) => void tell(mark) }),
)
