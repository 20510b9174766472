import { MetricKind, exactSearch } from 'usearch'
import { rowOrder } from '#core/index/format/row-order.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { chunkId, derivedUuid } from '#core/platform/ids.ts'
import { sha256 } from '#core/platform/digest.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { openingOf } from '#jobs/version-build/sample-queries.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { ACTS, SNAPSHOT_ID, facetSubjects } from '../corpus.ts'
import type { Neighbourhood } from '../corpus.ts'
import { repeated } from '../source.ts'
import type { BenchCorpus, BenchPassage, Query } from '../source.ts'
import { streamAt } from '../stream.ts'
import { inventedQuestion } from '../text.ts'
import { REAL_DIMENSIONS, cachedVectors, encodeMissing } from './encoder.ts'
import { readRealQuestions, readRealTexts } from './texts.ts'
import type { RealText } from './texts.ts'

/** Passages and questions that a real encoder encoded; as many passages as there are, up to `passages`. */
export interface RealSpec {
  readonly passages: number
  readonly seed: number
  readonly dataDir: string
}

/** Clusters by which filters keep or exclude a neighbourhood: nearest of so many passages. */
const CLUSTERS = 200

function passageText({ title, text }: RealText): string {
  return `passage: ${title}\n${text}`
}

function questionText(question: string): string {
  return `query: ${question}`
}

/** Encodes what earlier runs did not. @returns the number of passages. */
export async function prepareRealVectors({ passages, dataDir }: RealSpec, steps: Steps): Promise<number> {
  const texts = readRealTexts(passages)
  const asked = [...readRealQuestions(), ...openingsOf(texts)].map(questionText)
  await encodeMissing(dataDir, [...texts.map(passageText), ...asked], steps)
  return texts.length
}

/** As a build takes them, so that searches go as far as those of a built version. */
function openingsOf(texts: readonly RealText[]): readonly string[] {
  const step = Math.max(1, texts.length / BUILD_BOUNDS.cosineQueries)
  const count = Math.ceil(texts.length / step)
  return Array.from({ length: count }, (_, at) => openingOf(texts[Math.ceil(at * step)]?.text ?? ''))
}

/** @throws Error unless `prepareRealVectors` has run. */
function realVectors({ passages, dataDir }: RealSpec): {
  passages: Float32Array<ArrayBuffer>
  questions: Float32Array<ArrayBuffer>
  openings: readonly Float32Array[]
} {
  const joined = (texts: readonly string[]): Float32Array<ArrayBuffer> => {
    const vectors = cachedVectors(dataDir, texts)
    if (vectors.length !== texts.length) throw new Error('A real vector is missing: start again to encode it.')
    const values = new Float32Array(texts.length * REAL_DIMENSIONS)
    for (const [at, vector] of vectors.entries()) values.set(vector, at * REAL_DIMENSIONS)
    return values
  }
  const texts = readRealTexts(passages)
  return {
    passages: joined(texts.map(passageText)),
    openings: cachedVectors(dataDir, openingsOf(texts).map(questionText)),
    questions: joined(readRealQuestions().map(questionText)),
  }
}

/** The real passages and questions as a corpus of the benchmark. */
export function realCorpus(spec: RealSpec): BenchCorpus {
  const texts = readRealTexts(spec.passages)
  const vectors = realVectors(spec)
  const vectorAt = (values: Float32Array, at: number): Float32Array<ArrayBuffer> =>
    values.slice(at * REAL_DIMENSIONS, (at + 1) * REAL_DIMENSIONS)
  const clusters = clustersOf(vectors.passages, spec.seed)
  const records = recordsOf(texts, clusters)
  const order = records.map((_, at) => at).sort((a, b) => compareRecords(records[a], records[b]))
  const asked = oneVectorPerText()
  const natural = readRealQuestions().map((text, at) => asked({ text, vector: vectorAt(vectors.questions, at) }))
  const nearest = nearestOf(vectors.passages, vectors.questions)
  const positions = texts.map((text, at) => neighbourhood(text, clusters[at] ?? 0))
  const rows = order.flatMap((at, row): BenchPassage[] => {
    const [record, position] = [records[at], positions[at]]
    if (record === undefined || position === undefined) return []
    const vector = (): Float32Array<ArrayBuffer> => vectorAt(vectors.passages, at)
    const { language, jurisdiction } = record.metadata
    const question = (number: number): Query => {
      const invented = inventedQuestion(language, record.text, streamAt(spec.seed, 'queries', row, number))
      return asked({ text: invented || record.citation.label, vector: vector() })
    }
    return [
      { row, language, jurisdiction, subjects: record.subjects, position, record: () => record, vector, question },
    ]
  })
  return {
    parameters: ['real', String(texts.length), String(spec.seed)],
    passages: rows.length,
    dimensions: REAL_DIMENSIONS,
    acts: ACTS,
    rows: () => rows,
    openings: vectors.openings,
    questions({ count, set, wanted = () => true }, sampled) {
      const wantedOnes = natural.filter((_, at) => {
        const position = positions[nearest[at] ?? -1]
        return position !== undefined && wanted(position)
      })
      const kept = sampled.length === 0 ? [] : wantedOnes.slice(0, count)
      return [...kept, ...repeated(sampled, count - kept.length, set)]
    },
  }
}

/**
 * Questions of one text get the vector of the first: the embedding provider of the gateway path knows a question by its
 * text, and passages that repeat one another give the same words.
 */
function oneVectorPerText(): (question: Query) => Query {
  const first = new Map<string, Query>()
  return (question) => {
    const known = first.get(question.text)
    if (known !== undefined) return known
    first.set(question.text, question)
    return question
  }
}

function neighbourhood({ corpus, document }: RealText, topic: number): Neighbourhood {
  return { topic, document: sha256(`${corpus} ${document}`).readUInt32LE() }
}

/** The number of the nearest of some passages. */
function clustersOf(passages: Float32Array<ArrayBuffer>, seed: number): readonly number[] {
  const count = passages.length / REAL_DIMENSIONS
  const random = streamAt(seed, 'space', 2)
  const anchors = new Float32Array(CLUSTERS * REAL_DIMENSIONS)
  for (let at = 0; at < CLUSTERS; at++) {
    const row = Math.floor(random() * count)
    anchors.set(passages.subarray(row * REAL_DIMENSIONS, (row + 1) * REAL_DIMENSIONS), at * REAL_DIMENSIONS)
  }
  return nearestOf(anchors, passages)
}

function nearestOf(rows: Float32Array, asked: Float32Array): readonly number[] {
  return Array.from(exactSearch(rows, asked, REAL_DIMENSIONS, 1, MetricKind.IP, 0).keys, Number)
}

function compareRecords(a: PassageRecord | undefined, b: PassageRecord | undefined): number {
  return a === undefined || b === undefined ? 0 : rowOrder(a, b)
}

function recordsOf(texts: readonly RealText[], clusters: readonly number[]): readonly PassageRecord[] {
  const sizes = new Map<string, number>()
  const keyOf = ({ corpus, document }: RealText): string => `${corpus} ${document}`
  for (const text of texts) sizes.set(keyOf(text), (sizes.get(keyOf(text)) ?? 0) + 1)
  const placed = new Map<string, number>()
  return texts.map((text, at) => {
    const key = keyOf(text)
    const ordinal = placed.get(key) ?? 0
    placed.set(key, ordinal + 1)
    const position = { ordinal, document_passages: sizes.get(key) ?? 1 }
    return recordOf(text, position, facetSubjects(neighbourhood(text, clusters[at] ?? 0), at))
  })
}

function recordOf(text: RealText, position: PassageRecord['position'], subjects: readonly string[]): PassageRecord {
  const { corpus, language, jurisdiction, id, document, title } = text
  const documentId = derivedUuid('bench real document', corpus, document, subjects[0] ?? '')
  const url = `https://rules.example/${corpus}/${documentId}`
  return {
    chunk_id: chunkId([corpus, id, String(position.ordinal)], text.text),
    text: text.text,
    document: {
      id: documentId,
      revision_id: derivedUuid('bench revision', documentId),
      title: document,
      authority: `Authority (${jurisdiction})`,
      canonical_url: url,
      published_at: '2023-11-08T00:00:00.000Z',
      effective_at: '2024-02-01T00:00:00.000Z',
    },
    citation: {
      label: title.slice(0, 200) || id,
      source_anchor: `${url}#${position.ordinal}`,
      source_snapshot_id: SNAPSHOT_ID,
    },
    metadata: { language, jurisdiction, verification_status: 'verified' },
    subjects: [...subjects],
    in_force_from: '2024-02-01',
    in_force_to: null,
    position,
    source_id: `${corpus}/${id}`,
    heading: title,
    references: [],
    provision: `${corpus} ${id} ${position.ordinal}`,
    selector: { type: 'DataPositionSelector', start: 0, end: Buffer.byteLength(text.text) },
  }
}
