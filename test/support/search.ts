import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Filters, Ranking, SearchQuery, SearchResult } from '#core/domain/search.ts'
import { OPEN_END_DAY, dayNumber } from '#core/index/facets/layout.ts'
import { artifactRef, openIndex } from '#core/index/format/reader.ts'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { CallDeadline } from '#search-node/node-error.ts'
import { createIndexVersion } from '#search-node/search/index-version.ts'
import { search } from '#search-node/search/pipeline.ts'
import type { SearchInput } from '#search-node/search/interfaces.ts'
import { buildTestArtifact, type TestArtifactOptions } from './artifact.ts'

/** No deadline and no abort. */
export const UNLIMITED: CallDeadline = { deadlineMs: Infinity, signal: new AbortController().signal }

/** Everything that test corpora hold, whenever it is in force. */
export const EVERYTHING: Filters = {
  languages: ['de', 'en'],
  jurisdictions: ['XA', 'XB'],
  subjects: [],
  anySubject: true,
  verificationStatuses: ['verified'],
  inForceOn: '',
  documents: [],
}

/** Words and vectors have equal weight; every revision and every passage of a document is shown. */
export const RANKING: Ranking = { rowsScoredMin: 64, denseWeight: 0.5, perDocumentMax: 0, collapseRevisionsOn: '' }

const askedOf = ({ filters = EVERYTHING }: { readonly filters?: Filters }): Omit<SearchQuery, 'versionId'> => ({
  vector: undefined,
  text: '',
  limit: 5,
  filters,
  entitled: filters,
  ranking: RANKING,
})

/** A search as a scoring thread gets it; entitled to what the filters allow unless the change says otherwise. */
export function inputOf(change: Partial<SearchInput>): SearchInput {
  return { ...askedOf(change), rowsOnly: false, onlyRows: undefined, ...change }
}

/** A query as a gateway asks it; entitled likewise. */
export function requestOf({
  versionId,
  ...change
}: Partial<SearchQuery> & Pick<SearchQuery, 'versionId'>): SearchQuery {
  return { versionId, ...askedOf(change), ...change }
}

export type Searchable = Awaited<ReturnType<typeof searchable>>

/** An artifact that one thread has open. */
export async function searchable(
  corpus: Pick<TestArtifactOptions, 'rows' | 'acts' | 'queries' | 'embedding' | 'queryExpansions'>,
) {
  const store = mkdtempSync(join(tmpdir(), 'search-'))
  const { folder, manifest } = await buildTestArtifact({ ...corpus, store })
  const mapping = openIndex(artifactRef(folder, manifest))
  const version = createIndexVersion(mapping)
  return {
    mapping,
    /** Searches as a scoring thread does; see `inputOf`. */
    ask: (change: Partial<SearchInput>): Promise<SearchResult> => search(version, inputOf(change), UNLIMITED),
    /** Closes the index and removes its files. */
    close() {
      mapping.close()
      rmSync(store, { recursive: true, force: true })
    },
  }
}

/** The definition of a filter, row by row: what every search plan must agree with. */
export function allows(filters: Filters, record: PassageRecord): boolean {
  if (
    !filters.languages.includes(record.metadata.language) ||
    !filters.jurisdictions.includes(record.metadata.jurisdiction)
  )
    return false
  if (!filters.verificationStatuses.includes(record.metadata.verification_status)) return false
  if (filters.documents.length > 0 && !filters.documents.includes(record.document.id)) return false
  if (!filters.anySubject && !record.subjects.some((subject) => filters.subjects.includes(subject))) return false
  if (filters.inForceOn === '') return true
  const day = dayNumber(filters.inForceOn)
  return (
    dayNumber(record.in_force_from) <= day &&
    day < (record.in_force_to === null ? OPEN_END_DAY : dayNumber(record.in_force_to))
  )
}

/** The k best allowed passages by brute force, with their cosines in double precision, descending, then by chunk id. */
export function bruteForce(rows: readonly ArtifactRow[], query: Float32Array, filters: Filters, k: number) {
  const allowed = rows.filter(({ record }) => allows(filters, record))
  const scored = allowed.map(({ record, vector }) => ({ chunk_id: record.chunk_id, score: cosine(vector, query) }))
  return scored.sort((a, b) => b.score - a.score || (a.chunk_id < b.chunk_id ? -1 : 1)).slice(0, k)
}

function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0
  for (let d = 0; d < a.length; d++) dot += (a[d] ?? 0) * (b[d] ?? 0)
  return dot
}
