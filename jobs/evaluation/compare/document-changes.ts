import type { RevisionEntry, Side, VersionDifferences } from '#core/db/version-differences.ts'
import type { DocumentChange } from './changes-file.ts'

/**
 * Yields the documents that were removed, changed or added, by id. A document is changed if a revision that the active
 * version holds has another title, authority, URL or date in the candidate, or is not there. A new revision beside them
 * changes provisions, not the document.
 * @param hold is called for each document that a version holds.
 */
export function* documentChanges(
  differences: VersionDifferences,
  hold: (side: Side) => void,
): Generator<DocumentChange | undefined> {
  for (const { document, before, after } of differences.documents()) {
    if (before) hold('before')
    if (after) hold('after')
    if (!after) yield { kind: 'documents_removed', document: named(differences, document, 'before') }
    else if (!before) yield { kind: 'documents_added', document: named(differences, document, 'after') }
    else yield changed(differences, document)
  }
}

function changed(differences: VersionDifferences, document: string): DocumentChange | undefined {
  const { first, total } = differences.lostRevisions(document)
  if (total === 0) return undefined
  const revisions = first.map((revision) => {
    const { language, day } = revision
    const after = differences.revisionOn(document, revision)
    return { language, day, before: header(revision), after: after === undefined ? null : header(after) }
  })
  return {
    kind: 'documents_changed',
    document: named(differences, document, 'before'),
    revisions,
    revisions_total: total,
  }
}

function named(differences: VersionDifferences, id: string, side: Side): DocumentChange['document'] {
  const { title = '', canonical_url = '' } = differences.newest(side, id) ?? {}
  return { id, title, canonical_url }
}

function header({ language: _language, day: _day, ...rest }: RevisionEntry): Omit<RevisionEntry, 'language' | 'day'> {
  return rest
}
