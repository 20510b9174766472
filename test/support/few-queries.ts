import { EVALUATION_BOUNDS as REAL } from '#jobs/evaluation/bounds.ts'
import { replaceModule } from './processes.ts'

/**
 * Loaded before the program of a process, in place of the bounds of an evaluation: recall under filters, which takes
 * most of a build, is measured with few queries.
 */
export const EVALUATION_BOUNDS = { ...REAL, filteredQueries: 10 } as const

replaceModule(new URL('../../jobs/evaluation/bounds.ts', import.meta.url), new URL(import.meta.url))
