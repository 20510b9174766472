import type { PassageRecord } from '#core/index/passages/record.ts'

export type OrderedPassage = Pick<PassageRecord, 'metadata' | 'subjects' | 'document' | 'position'>

/**
 * Order of the rows of an artifact: language, jurisdiction, first subject, document, revision, ordinal, by code units.
 * The rows that a filter allows then form few runs, and exact scoring reads each run at once.
 */
export function rowOrder(a: OrderedPassage, b: OrderedPassage): number {
  return (
    compare(a.metadata.language, b.metadata.language) ||
    compare(a.metadata.jurisdiction, b.metadata.jurisdiction) ||
    compare(a.subjects[0] ?? '', b.subjects[0] ?? '') ||
    compare(a.document.id, b.document.id) ||
    compare(a.document.revision_id, b.document.revision_id) ||
    a.position.ordinal - b.position.ordinal
  )
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
