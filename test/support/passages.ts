import type { FoundPassage } from '#core/domain/search.ts'
import { rowOrder } from '#core/index/format/row-checks.ts'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { chunkId, derivedUuid } from '#core/platform/ids.ts'
import { mulberry32 as seededRandom } from '#core/platform/seeded-random.ts'

export { seededRandom }

export interface PassageTraits {
  readonly language?: string
  readonly jurisdiction?: string
  readonly subjects?: readonly string[]
  readonly status?: PassageRecord['metadata']['verification_status']
  readonly inForceFrom?: string
  readonly inForceTo?: string | null
  readonly text?: string
  readonly heading?: string
  readonly references?: readonly string[]
  /** A key of its own if absent; the revisions of one provision share it. */
  readonly provision?: string
  /** Id of the record; one of its own if absent. */
  readonly sourceId?: string
  /** Tells the revisions of one document apart. */
  readonly revision?: string
}

/**
 * Passage number `n` of an invented corpus: ten passages a document, one revision a document unless the traits say
 * otherwise.
 */
export function testPassage(n: number, traits: PassageTraits = {}): PassageRecord {
  const documentId = derivedUuid('test document', String(Math.floor(n / 10)))
  const text =
    traits.text ??
    `Passage ${n}. The firm keeps a record of rule ${n} and gives it to the authority on request. – §${n}`
  return {
    chunk_id: chunkId([documentId, String(n)], text),
    text,
    document: {
      id: documentId,
      revision_id: derivedUuid('test revision', `${documentId}${traits.revision ?? ''}`),
      title: `Rulebook ${Math.floor(n / 10)}`,
      authority: 'Test Authority',
      canonical_url: `https://rules.example/${Math.floor(n / 10)}`,
      published_at: '2024-01-01T00:00:00.000Z',
      effective_at: '2024-02-01T00:00:00.000Z',
    },
    citation: {
      label: `Rule ${n}`,
      source_anchor: `https://rules.example/${Math.floor(n / 10)}#r${n}`,
      source_snapshot_id: derivedUuid('test snapshot', '1'),
    },
    metadata: {
      language: traits.language ?? 'en',
      jurisdiction: traits.jurisdiction ?? 'XA',
      verification_status: traits.status ?? 'verified',
    },
    subjects: [...(traits.subjects ?? ['general'])],
    in_force_from: traits.inForceFrom ?? '2024-02-01',
    in_force_to: traits.inForceTo ?? null,
    position: { ordinal: n % 10, document_passages: 10 },
    source_id: traits.sourceId ?? `doc-${Math.floor(n / 10)}#r${n}`,
    heading: traits.heading ?? `Rulebook ${Math.floor(n / 10)}`,
    references: [...(traits.references ?? [])],
    provision: traits.provision ?? `${documentId}#r${n}`,
    selector: { type: 'DataPositionSelector', start: n * 1_000, end: n * 1_000 + Buffer.byteLength(text) },
  }
}

/** A passage as a search result shows it. */
export function shownPassage(record: PassageRecord): Omit<FoundPassage, 'score' | 'row' | 'named'> {
  const { document, citation, metadata, position } = record
  return {
    chunkId: record.chunk_id,
    sourceId: record.source_id,
    provision: record.provision,
    text: record.text,
    document: {
      id: document.id,
      revisionId: document.revision_id,
      title: document.title,
      authority: document.authority,
      canonicalUrl: document.canonical_url,
      publishedAt: document.published_at,
      effectiveAt: document.effective_at,
    },
    citation: {
      label: citation.label,
      sourceAnchor: citation.source_anchor,
      sourceSnapshotId: citation.source_snapshot_id,
    },
    metadata: {
      language: metadata.language,
      jurisdiction: metadata.jurisdiction,
      subjects: record.subjects,
      verificationStatus: metadata.verification_status,
    },
    documentPassages: position.document_passages,
  }
}

export interface TestCorpusOptions {
  readonly rows: number
  readonly dimensions: number
  readonly seed: number
  /** Vectors lie around this many centres; neighbours of a query then share a centre, as texts on one topic do. */
  readonly clusters?: number
  /**
   * Width of what a vector lies in around its centre, in every direction; centres lie in 1. Up to 1, rows divide into
   * clusters.
   */
  readonly spread?: number
  readonly traits?: (n: number, cluster: number) => PassageTraits
}

/** Rows in row order, with clustered unit vectors. */
export function testRows({
  rows,
  dimensions,
  seed,
  clusters = 50,
  spread = 1.2,
  traits = () => ({}),
}: TestCorpusOptions): ArtifactRow[] {
  const random = seededRandom(seed)
  const centres = Float32Array.from({ length: clusters * dimensions }, () => random() - 0.5)
  const made = Array.from({ length: rows }, (_, n): ArtifactRow => {
    const cluster = Math.floor(random() * clusters)
    const vector = Float32Array.from(
      { length: dimensions },
      (_unused, d) => (centres[cluster * dimensions + d] ?? 0) + (random() - 0.5) * spread,
    )
    return { record: testPassage(n, traits(n, cluster)), vector: unit(vector) }
  })
  return made.sort((a, b) => rowOrder(a.record, b.record))
}

export function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

/** A query near row `row`, so that it has true neighbours. */
export function queryNear(rows: readonly ArtifactRow[], row: number, random: () => number): Float32Array {
  const near = rows[row]
  if (near === undefined) throw new Error(`no row ${row}`)
  return unit(near.vector.map((value) => value + (random() - 0.5) * 0.1))
}

const TOPIC_WORDS = 12
const COMMON_WORDS = 400

/**
 * Invented words, none of which is another's stem or a function word: letters only, so that none is parsed as a
 * reference.
 */
function wordOf(kind: string, number: number): string {
  const syllables = ['ba', 'do', 'ki', 'lu', 'mo', 'na', 'pu', 'ro', 'ti', 'vu']
  return `${kind}${[...String(number)].map((digit) => syllables[Number(digit)]).join('')}x`
}

/** The word that passage number `n` alone holds. */
export function ownWord(n: number): string {
  return wordOf('own', n)
}

/** A question in words of one topic, which its passages share. */
export function questionOn(topic: number, random: () => number): string {
  return Array.from({ length: 5 }, () =>
    wordOf('topic', topic * TOPIC_WORDS + Math.floor(random() * TOPIC_WORDS)),
  ).join(' ')
}

/** Rows whose words correlate with their vectors: passages of one cluster share a topic. */
export function wordedRows({ traits = () => ({}), ...options }: TestCorpusOptions): ArtifactRow[] {
  const random = seededRandom(options.seed + 1)
  return testRows({
    ...options,
    traits(n, cluster): PassageTraits {
      const common = Array.from({ length: 20 }, () => wordOf('common', Math.floor(random() ** 2 * COMMON_WORDS)))
      const text = [ownWord(n), questionOn(cluster, random), ...common].join(' ')
      return { text: `${text}.`, heading: wordOf('heading', Math.floor(n / 10)), ...traits(n, cluster) }
    },
  })
}
