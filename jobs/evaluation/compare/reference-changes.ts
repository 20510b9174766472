import type { HeldReference, VersionDifferences } from '#core/db/version-differences.ts'
import type { ReferenceChange } from './changes-file.ts'

/**
 * Yields the references that the active version holds and that lead to other provisions in the candidate. A reference
 * that only lost provisions that the candidate does not hold is left out: each of them is a removed provision.
 */
export function* referenceChanges(differences: VersionDifferences): Generator<ReferenceChange | undefined> {
  let group: HeldReference[] = []
  for (const entry of differences.references()) {
    if (group[0] !== undefined && group[0].reference !== entry.reference) {
      yield changeOf(group)
      group = []
    }
    group.push(entry)
  }
  if (group.length > 0) yield changeOf(group)
}

function changeOf(group: readonly HeldReference[]): ReferenceChange | undefined {
  if (group.every(({ after, kept }) => !after && !kept)) return undefined
  const named = ({ document, language, provision, label }: HeldReference): ReferenceChange['lost'][number] => ({
    document,
    language,
    provision,
    label,
  })
  const reference = group[0]?.reference ?? ''
  return {
    kind: 'references_changed',
    // The primary language stands before it.
    reference: reference.slice(reference.indexOf(' ') + 1),
    lost: group.filter(({ before }) => before).map(named),
    gained: group.filter(({ after }) => after).map(named),
  }
}
