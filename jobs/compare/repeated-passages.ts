import type { PassageEntry, VersionDifferences } from '#core/db/version-differences.ts'
import { foldKey } from '#core/identity/fold.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { COMPARISON_BOUNDS } from './bounds.ts'

/** Finds the passages beside which a candidate puts another text under the same citation. */
export interface RepeatedPassages {
  /**
   * @returns a passage of the active version with a name of the added one: of the same document and language, another
   * provision, and in force at the same time. Undefined if there is none.
   */
  original(added: PassageEntry, passage: PassageRecord): PassageEntry | undefined
}

/** The names under which a reader finds a passage: its citation label and the provisions whose text it holds. */
export function namesOf({ citation, references }: Pick<PassageRecord, 'citation' | 'references'>): readonly string[] {
  return [`label ${foldKey(citation.label)}`, ...references.map((reference) => `reference ${foldKey(reference)}`)]
}

export function createRepeatedPassages(differences: VersionDifferences): RepeatedPassages {
  // Many added passages may have one name, so that each would search the same passages in vain.
  const first = new Map<string, PassageEntry | undefined>()
  let scope = ''
  function firstUnder(name: string, added: PassageEntry): PassageEntry | undefined {
    const own = JSON.stringify([added.document, added.language])
    if (own !== scope || first.size >= COMPARISON_BOUNDS.repeatedNamesCachedMax) first.clear()
    scope = own
    const key = JSON.stringify([name, added.day, added.until])
    if (!first.has(key)) first.set(key, differences.heldUnder(name, added, null))
    return first.get(key)
  }
  return {
    original(added, passage) {
      for (const name of namesOf(passage)) {
        const held = firstUnder(name, added)
        const other = held?.provision === added.provision ? differences.heldUnder(name, added, added.provision) : held
        if (other !== undefined) return other
      }
      return undefined
    },
  }
}
