import type { RowColumns } from './interfaces.ts'

export interface Scored {
  readonly row: number
  readonly score: number
}

export interface SelectRules {
  readonly limit: number
  /** Maximum of rows of one document; 0: no cap. */
  readonly perDocumentMax: number
  /** Whether a row is in force on the day by which revisions collapse; undefined: every revision is shown. */
  readonly inForce: ((row: number) => boolean) | undefined
}

/** Best score first; ties by chunk id. */
export function byScore({ chunkRanks }: Pick<RowColumns, 'chunkRanks'>): (a: Scored, b: Scored) => number {
  return (a, b) => b.score - a.score || (chunkRanks[a.row] ?? 0) - (chunkRanks[b.row] ?? 0)
}

/**
 * Selects the rows of a reply: of each provision the revision in force, or else its best one; of each document at most
 * the cap; the `limit` best of these.
 * @param ranked in the order of `byScore`.
 */
export function selectRows(
  ranked: readonly Scored[],
  { documents, provisions }: Pick<RowColumns, 'documents' | 'provisions'>,
  rules: SelectRules,
): Scored[] {
  const shown = rules.inForce === undefined ? undefined : shownRevisions(ranked, provisions, rules.inForce)
  const ofDocument = new Map<number, number>()
  const selected: Scored[] = []
  for (const candidate of ranked) {
    if (selected.length === rules.limit) break
    if (shown !== undefined && shown.get(provisions[candidate.row] ?? 0) !== candidate.row) continue
    const document = documents[candidate.row] ?? 0
    const before = ofDocument.get(document) ?? 0
    if (rules.perDocumentMax !== 0 && before >= rules.perDocumentMax) continue
    ofDocument.set(document, before + 1)
    selected.push(candidate)
  }
  return selected
}

/** The row shown for each provision. */
function shownRevisions(
  ranked: readonly Scored[],
  provisions: Uint32Array,
  inForce: (row: number) => boolean,
): Map<number, number> {
  const shown = new Map<number, number>()
  for (const { row } of ranked) {
    const provision = provisions[row] ?? 0
    const known = shown.get(provision)
    if (known === undefined || (!inForce(known) && inForce(row))) shown.set(provision, row)
  }
  return shown
}
