import { MetricKind, exactSearch } from 'usearch'
import { rowOrder } from '#core/index/format/row-checks.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { sha256 } from '#core/platform/digest.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { openingOf } from '#jobs/version-build/artifact.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { ACTS, benchRecord, facetSubjects } from '../corpus.ts'
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

type Vector = Float32Array<ArrayBuffer>

/** Clusters by which filters keep or exclude a neighbourhood: nearest of so many passages. */
const CLUSTERS = 200

const passageText = ({ title, text }: RealText): string => `passage: ${title}\n${text}`
const questionText = (question: string): string => `query: ${question}`

/** Encodes what earlier runs did not. */
export async function prepareRealVectors({ passages, dataDir }: RealSpec, steps: Steps): Promise<void> {
  const texts = readRealTexts(passages)
  const asked = [...readRealQuestions(), ...openingsOf(texts)].map(questionText)
  await encodeMissing(dataDir, [...texts.map(passageText), ...asked], steps)
}

/** As a build takes them, so that searches go as far as those of a built version. */
function openingsOf(texts: readonly RealText[]): readonly string[] {
  const step = Math.max(1, texts.length / BUILD_BOUNDS.cosineQueries)
  const count = Math.ceil(texts.length / step)
  return Array.from({ length: count }, (_, at) => openingOf(texts[Math.ceil(at * step)]?.text ?? ''))
}

/** The real passages and questions as a corpus of the benchmark. @throws Error unless `prepareRealVectors` has run. */
export function realCorpus({ passages: most, dataDir, seed }: RealSpec): BenchCorpus {
  const read = (texts: readonly string[]): readonly Vector[] => {
    const vectors = cachedVectors(dataDir, texts)
    if (vectors.length !== texts.length) throw new Error('A real vector is missing: start again to encode it.')
    return vectors
  }
  const texts = readRealTexts(most)
  const vectors = read(texts.map(passageText))
  const asked = oneVectorPerText()
  const questions = read(readRealQuestions().map(questionText))
  const random = streamAt(seed, 'space', 2)
  const anchors = Array.from({ length: CLUSTERS }, () => vectors[Math.floor(random() * vectors.length)] ?? [])
  const topics = nearestOf(anchors, vectors)
  const placed = placedIn(texts).map(({ key, ...place }, at) => ({
    ...place,
    position: { topic: topics[at] ?? 0, document: sha256(key).readUInt32LE() },
  }))
  const passages = placed.map(({ text, ordinal, count, position }, at) => {
    const { corpus, language, jurisdiction, id, document, title } = text
    const subjects = facetSubjects(position, at)
    const documentId = derivedUuid('bench real document', corpus, document, subjects[0] ?? '')
    const record = benchRecord(text.text, {
      document: { id: documentId, title: document, authority: `Authority (${jurisdiction})`, passages: count },
      ordinal,
      language,
      jurisdiction,
      subjects,
      url: `https://rules.example/${corpus}/${documentId}`,
      label: title.slice(0, 200) || id,
      heading: title,
      sourceId: `${corpus}/${id}`,
      references: [],
    })
    const vector = (): Vector => Float32Array.from(vectors[at] ?? [])
    return { record, position, vector, language, jurisdiction, subjects }
  })
  const rows = passages
    .toSorted((a, b) => rowOrder(a.record, b.record))
    .map(({ record, ...passage }, row): BenchPassage => {
      const question = (number: number): Query => {
        const words = inventedQuestion(passage.language, record.text, streamAt(seed, 'queries', row, number))
        return asked({ text: words || record.citation.label, vector: passage.vector() })
      }
      return { ...passage, row, record: () => record, question }
    })
  const nearest = nearestOf(vectors, questions)
  const fieldQuestions = readRealQuestions().map((text, at) => ({
    ...asked({ text, vector: Float32Array.from(questions[at] ?? []) }),
    position: placed[nearest[at] ?? 0]?.position,
  }))
  return {
    parameters: ['real', '2', String(texts.length), String(seed)],
    passages: rows.length,
    dimensions: REAL_DIMENSIONS,
    acts: ACTS,
    rows: () => rows,
    openings: read(openingsOf(texts).map(questionText)),
    questions({ count, set, wanted = () => true }, sampled) {
      const wantedOnes = fieldQuestions.filter(({ position }) => position !== undefined && wanted(position))
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
    const known = first.get(question.text) ?? question
    first.set(question.text, known)
    return known
  }
}

/** For each of the asked vectors the number of the nearest. */
function nearestOf(vectors: readonly ArrayLike<number>[], asked: readonly ArrayLike<number>[]): readonly number[] {
  const joined = (list: readonly ArrayLike<number>[]): Float32Array => {
    const values = new Float32Array(list.length * REAL_DIMENSIONS)
    for (const [at, vector] of list.entries()) values.set(vector, at * REAL_DIMENSIONS)
    return values
  }
  const { keys } = exactSearch(joined(vectors), joined(asked), REAL_DIMENSIONS, 1, MetricKind.IP, 0)
  return Array.from(keys, Number)
}

/** Each text with a key of its document, its ordinal there, and the number of passages of the document. */
function placedIn(texts: readonly RealText[]) {
  const keyOf = ({ corpus, document }: RealText): string => `${corpus} ${document}`
  const counts = new Map<string, number>()
  const placed = texts.map((text) => {
    const [key, ordinal] = [keyOf(text), counts.get(keyOf(text)) ?? 0]
    counts.set(key, ordinal + 1)
    return { text, key, ordinal }
  })
  return placed.map((one) => ({ ...one, count: counts.get(one.key) ?? 1 }))
}
