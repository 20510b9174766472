import fc from 'fast-check'
import { anySteps } from './commands.ts'
import { startSequence } from './sequence.ts'
import type { Servers } from './servers.ts'

export interface ModelRun {
  readonly sequences: number
  /** What broke a guarantee, with seed, path and the shortest steps found; null: nothing did. */
  readonly violation: string | null
}

/** Runs random sequences against the real stores until the number or the time is reached, or a guarantee is broken. */
export async function runModel(
  servers: Servers,
  options: {
    readonly seed: number
    readonly sequences: number
    readonly minutes?: number
    readonly onSequence?: () => void
  },
): Promise<ModelRun> {
  const property = fc.asyncProperty(anySteps, async (steps) => {
    await fc.asyncModelRun(
      async () => ({ model: {}, real: await startSequence(servers) }),
      [
        ...steps,
        { check: () => true, run: async (_: object, sequence) => sequence.finish(), toString: () => 'finish' },
      ],
    )
    options.onSequence?.()
  })
  const result = await fc.check(property, {
    seed: options.seed,
    numRuns: options.sequences,
    ...(options.minutes === undefined ? {} : { plugins: [fc.interruptAfterTimeLimit(options.minutes * 60_000)] }),
  })
  return {
    sequences: result.numRuns,
    violation: result.failed
      ? `${fc.defaultReportMessage(result) ?? ''}
${String(result.errorInstance)}`
      : null,
  }
}
