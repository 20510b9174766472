import { createHash } from 'node:crypto'
import type { Manifest } from '#core/index/format/manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { ComparedContents } from './compared-passages.ts'
import type { NamedChange } from './changes-file.ts'

/** What the rows of a derived table are made from, in row order. */
const ROW_INPUTS = {
  words: ({ metadata, heading, text }: PassageRecord) => [metadata.language, heading, text],
  rows: ({ chunk_id, document, provision }: PassageRecord) => [chunk_id, document.id, document.revision_id, provision],
  facets: ({ metadata, subjects, in_force_from, in_force_to, document }: PassageRecord) => [
    metadata,
    subjects,
    in_force_from,
    in_force_to,
    document.id,
  ],
  references: ({ references }: PassageRecord) => references,
} as const
type RowInput = keyof typeof ROW_INPUTS

/**
 * How a table of an artifact is compared: `fields` field by field, of which each difference is a listed change. The
 * others are derived. While their inputs are equal they must be equal, byte for byte.
 */
type TableComparison =
  | { readonly by: 'fields' }
  /** From the bytes of `passages.jsonl`. */
  | { readonly by: 'lines' }
  | { readonly by: 'rows'; readonly inputs: readonly RowInput[] }
  /** From the words of the passages and the embedding space. */
  | { readonly by: 'vectors' }
  /** The captured sources, from which nothing is made that a search reads. */
  | { readonly by: 'sources' }
  /** From the search questions, and the rows and words of their passages. */
  | { readonly by: 'search questions' }

const WORDS = { by: 'rows', inputs: ['words'] } as const
const ORDERED_WORDS = { by: 'rows', inputs: ['words', 'rows'] } as const
const FACETS = { by: 'rows', inputs: ['facets'] } as const
const VECTORS = { by: 'vectors' } as const
const SEARCH_QUESTIONS = { by: 'search questions' } as const

/** What the manifest states beside its files and that a search uses. The profile repeats description and day. */
type DerivedField = Exclude<
  keyof Manifest,
  | 'format'
  | 'version_id'
  | 'passages'
  | 'documents'
  | 'embedding'
  | 'description'
  | 'as_of'
  | 'snapshots_digest'
  | 'merkle_root'
  | 'files'
>
type Table = keyof Manifest['files'] | DerivedField

/** Every table of an artifact. A new one without a comparison does not compile. */
const TABLES: Readonly<Record<Table, TableComparison>> = {
  'passages.jsonl': { by: 'fields' },
  'passages.offsets': { by: 'lines' },
  'passages.sha256': { by: 'lines' },
  'passages.leaves': { by: 'lines' },
  'sources.jsonl': { by: 'sources' },
  'facets.json': FACETS,
  'facets.bin': FACETS,
  'documents.bin': FACETS,
  'rows.bin': { by: 'rows', inputs: ['rows'] },
  'lexical.json': WORDS,
  'lexical.terms': WORDS,
  'lexical.postings': WORDS,
  'forward.json': ORDERED_WORDS,
  'forward.tokens': ORDERED_WORDS,
  'forward.offsets': ORDERED_WORDS,
  'forward.pairs': ORDERED_WORDS,
  'grams.json': ORDERED_WORDS,
  'grams.frequencies': WORDS,
  'references.json': { by: 'fields' },
  'references.bin': { by: 'rows', inputs: ['references'] },
  'vectors.f32': VECTORS,
  'vectors.sq4': VECTORS,
  'clusters.u32': VECTORS,
  'centroids.sq4': VECTORS,
  'graph.usearch': VECTORS,
  'search-questions.jsonl': { by: 'fields' },
  'search-questions.rows': SEARCH_QUESTIONS,
  'search-questions.json': SEARCH_QUESTIONS,
  'search-questions.terms': SEARCH_QUESTIONS,
  'search-questions.postings': SEARCH_QUESTIONS,
  search_questions: SEARCH_QUESTIONS,
  clusters: VECTORS,
  cosines: VECTORS,
  engine: { by: 'lines' },
}

/** Tables that a version has for its engine; a candidate may have another one. */
const OF_ENGINE: ReadonlySet<Table> = new Set<Table>([
  'engine',
  'lexical.postings',
  'vectors.sq4',
  'clusters.u32',
  'centroids.sq4',
  'graph.usearch',
  'clusters',
])

/** Digest (hex) of each input over all rows. */
export type RowInputs = Readonly<Record<RowInput, string>>

/** Collects the inputs of the derived tables while the passages are read. */
export function createRowInputs(): { add(passage: PassageRecord): void; finish(): RowInputs } {
  const hashes = { words: sha(), rows: sha(), facets: sha(), references: sha() } satisfies Record<RowInput, unknown>
  return {
    add(passage) {
      for (const [input, of] of INPUTS) hashes[input].update(`${JSON.stringify(of(passage))}\n`)
    },
    finish: () => ({
      words: hashes.words.digest('hex'),
      rows: hashes.rows.digest('hex'),
      facets: hashes.facets.digest('hex'),
      references: hashes.references.digest('hex'),
    }),
  }
}

const INPUTS = [
  ['words', ROW_INPUTS.words],
  ['rows', ROW_INPUTS.rows],
  ['facets', ROW_INPUTS.facets],
  ['references', ROW_INPUTS.references],
] as const satisfies readonly (readonly [RowInput, unknown])[]

function sha(): ReturnType<typeof createHash> {
  return createHash('sha256')
}

export interface ComparedTables {
  readonly manifest: ComparedContents['manifest']
  readonly inputs: RowInputs
}

/**
 * Compares the derived tables of both artifacts. An endpoint may send other vectors for the same texts, which is a
 * change that approvals accept by name; nothing else explains a derived table whose inputs are equal.
 * @throws OperatorError naming a table that differs although no listed change explains it.
 */
export function* tableChanges(before: ComparedTables, after: ComparedTables): Generator<NamedChange> {
  const isOtherEngine = before.manifest.engine?.name !== after.manifest.engine?.name
  for (const [table, comparison] of tables()) {
    if (isOtherEngine && OF_ENGINE.has(table)) continue
    if (valueOf(table, before.manifest) === valueOf(table, after.manifest)) continue
    if (isExplained(comparison, before, after)) continue
    if (comparison.by !== 'vectors') throw unexplained(table)
    yield { kind: 'vectors_changed', file: table }
  }
}

function tables(): readonly (readonly [Table, TableComparison])[] {
  const names = Object.keys(TABLES).filter((name): name is Table => name in TABLES)
  return names.map((name) => [name, TABLES[name]])
}

function valueOf(table: Table, manifest: ComparedContents['manifest']): string | undefined {
  if (table === 'clusters' || table === 'cosines' || table === 'search_questions')
    return canonicalJson(manifest[table] ?? null)
  // Name, UUID and operations of an index are new for every version.
  if (table === 'engine') return manifest.engine?.digest
  return manifest.files[table]?.sha256
}

function isExplained(comparison: TableComparison, before: ComparedTables, after: ComparedTables): boolean {
  switch (comparison.by) {
    case 'fields':
    case 'sources':
      return true
    case 'lines':
      return before.manifest.files['passages.jsonl'].sha256 !== after.manifest.files['passages.jsonl'].sha256
    case 'rows':
      return comparison.inputs.some((input) => before.inputs[input] !== after.inputs[input])
    case 'vectors':
      return (
        before.inputs.words !== after.inputs.words ||
        canonicalJson(before.manifest.embedding ?? null) !== canonicalJson(after.manifest.embedding ?? null)
      )
    case 'search questions':
      return (
        before.inputs.rows !== after.inputs.rows ||
        before.inputs.words !== after.inputs.words ||
        valueOf('search-questions.jsonl', before.manifest) !== valueOf('search-questions.jsonl', after.manifest)
      )
    default:
      return comparison satisfies never
  }
}

function unexplained(table: Table): OperatorError {
  return new OperatorError(
    `The candidate differs from the active version in ${table}, a difference that no listed change explains: build ` +
      'the candidate again. If it differs again, report the release, which makes another table from the same passages.',
  )
}
