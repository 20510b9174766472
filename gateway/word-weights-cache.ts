import { BOUNDS } from '#core/platform/bounds.ts'
import { readWordWeights } from '#core/db/access.ts'
import type { Database } from '#core/db/pool.ts'
import type { WordWeights } from '#core/domain/word-weights.ts'

/** Returns the learned weights of a profile. Rejects if it has none, or the database cannot be read. */
export type WordWeightsOf = (profileId: string) => Promise<WordWeights>

/** Reads the weights of each profile once, because a profile never changes. */
export function createWordWeightsCache(database: Pick<Database, 'query'>): WordWeightsOf {
  const known = new Map<string, Promise<WordWeights>>()
  return (profileId) => {
    const cached = known.get(profileId)
    if (cached !== undefined) return cached
    const reading = readWordWeights(database, profileId)
    if (known.size >= BOUNDS.wordWeightProfilesMax) known.clear()
    known.set(profileId, reading)
    reading.catch(() => {
      if (known.get(profileId) === reading) known.delete(profileId)
    })
    return reading
  }
}
