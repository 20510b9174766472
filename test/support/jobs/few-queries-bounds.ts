import { EVALUATION_BOUNDS as REAL } from '#core/platform/evaluation-bounds.ts'

/** In place of `core/platform/evaluation-bounds.ts`. */
export const EVALUATION_BOUNDS = { ...REAL, filteredQueries: 10 } as const
