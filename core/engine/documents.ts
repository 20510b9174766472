import type { PassageRecord } from '#core/index/passages/record.ts'
import { OPEN_END_DAY, dayNumber } from '#core/index/facets/layout.ts'

/** A row of an artifact as it is loaded into an index. */
export interface EngineRow {
  readonly row: number
  readonly record: PassageRecord
  /** See `PassagesReader.digest`. */
  readonly digest: string
  readonly rank: number
  /** Impact of each term by its hash; see `impactsOf`. */
  readonly impacts: ReadonlyMap<number, number>
  /** Unit length. Undefined: a version without vectors. */
  readonly vector: Float32Array | undefined
}

/** The fields that a filter may name: a field that does not exist would match nothing, without an error. */
export const FILTER_FIELDS = {
  language: { type: 'keyword' },
  jurisdiction: { type: 'keyword' },
  status: { type: 'keyword' },
  subjects: { type: 'keyword' },
  document: { type: 'keyword' },
  from: { type: 'integer' },
  to: { type: 'integer' },
  row: { type: 'integer' },
} as const
export type FilterField = keyof typeof FILTER_FIELDS

/**
 * Settings and mapping of an index. It is strict, and has no replicas while it is loaded: replicas that index live
 * order ties differently. A document keeps its vector in the graph's own file alone: neither in its source, nor among
 * the doc values, nor in a second source for recoveries, which copy the files of a frozen index.
 */
export function indexBody(shards: number, dimensions: number | undefined): object {
  return {
    settings: {
      index: {
        number_of_shards: shards,
        number_of_replicas: 0,
        refresh_interval: '-1',
        knn: dimensions !== undefined,
        ...LOAD_SETTINGS,
      },
    },
    mappings: {
      dynamic: 'strict',
      _source: { excludes: ['vector'], recovery_source_enabled: false },
      properties: {
        ...FILTER_FIELDS,
        rank: { type: 'integer', index: false },
        digest: { type: 'keyword', index: false },
        words: { type: 'rank_features' },
        ...(dimensions === undefined ? {} : { vector: vectorField(dimensions) }),
      },
    },
  }
}

/** Every merge builds the graph of its segments anew, so none happens before the last one. */
const LOAD_SETTINGS = {
  'merge.policy.segments_per_tier': 1_000,
  'merge.policy.max_merge_at_once': 1_000,
  'translog.flush_threshold_size': '2gb',
} as const

function vectorField(dimension: number): object {
  const parameters = { m: 16, ef_construction: 128 }
  const method = { name: 'hnsw', engine: 'lucene', space_type: 'innerproduct', parameters }
  return { type: 'knn_vector', dimension, doc_values: false, method }
}

/** A document without its vector, as the index gives it back. */
export type DocumentSource = Readonly<
  Record<string, number | string | readonly string[] | Readonly<Record<string, number>>>
>

export function sourceOf({ row, record, digest, rank, impacts }: EngineRow): DocumentSource {
  const { metadata, subjects, document, in_force_from: from, in_force_to: to } = record
  return {
    row,
    rank,
    digest,
    language: metadata.language,
    jurisdiction: metadata.jurisdiction,
    status: metadata.verification_status,
    subjects: [...subjects],
    document: document.id,
    from: dayNumber(from),
    to: to === null ? OPEN_END_DAY : dayNumber(to),
    words: Object.fromEntries([...impacts].map(([hash, impact]) => [featureOf(hash), impact])),
  }
}

/** Name of a term's feature in the field `words`. @param hash see `tokenHash`. */
export function featureOf(hash: number): string {
  return `t${hash.toString(36)}`
}

/** Nine digits give every float32 back exactly. */
export function vectorValues(vector: Float32Array): readonly number[] {
  return Array.from(vector, (value) => Number(value.toPrecision(9)))
}
