import { EVALUATION_BOUNDS as REAL } from '#jobs/evaluation/bounds.ts'

/** In place of `jobs/evaluation/bounds.ts`. */
export const EVALUATION_BOUNDS = { ...REAL, filteredQueries: 10 } as const
