import fc from 'fast-check'
import { inject } from 'vitest'

/**
 * A failing property prints its seed and path; FC_SEED repeats a run with that seed, FC_RUNS sets the number of
 * examples.
 */
const { seed, runs } = inject('random')

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed, ...(runs === null ? {} : { numRuns: runs }) })

declare module 'vitest' {
  export interface ProvidedContext {
    random: { readonly seed: number; readonly runs: number | null }
  }
}
