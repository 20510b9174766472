import fc from 'fast-check'
import { anySteps } from './commands.ts'
import { startSequence, type Sequence } from './sequence.ts'
import type { Servers } from './servers.ts'

/** Sequences that share a seed; the next ones have the next seed. */
const BATCH = 10

/**
 * Runs random sequences against the real stores until the number or the time is reached, or a guarantee is broken. A
 * sequence that has begun is finished.
 * @returns what broke a guarantee, with seed, path and the shortest steps found; null: nothing did.
 */
export async function runModel(
  servers: Servers,
  options: {
    readonly seed: number
    readonly sequences: number
    readonly minutes?: number
    readonly onSequence?: () => void
  },
): Promise<{ readonly sequences: number; readonly violation: string | null }> {
  const property = fc.asyncProperty(anySteps, async (steps) => {
    await fc.asyncModelRun(async () => ({ model: {}, real: await startSequence(servers) }), [...steps, FINISH])
    options.onSequence?.()
  })
  const endsAtMs = performance.now() + (options.minutes ?? Number.POSITIVE_INFINITY) * 60_000
  let sequences = 0
  for (let { seed } = options; sequences < options.sequences && performance.now() < endsAtMs; seed++) {
    const numRuns = Math.min(BATCH, options.sequences - sequences)
    const result = await fc.check(property, { seed, numRuns })
    sequences += result.numRuns
    if (result.failed)
      return { sequences, violation: `${fc.defaultReportMessage(result) ?? ''}\n${String(result.errorInstance)}` }
  }
  return { sequences, violation: null }
}

const FINISH = {
  check: () => true,
  run: async (_: object, sequence: Sequence) => sequence.finish(),
  toString: () => 'finish',
}
