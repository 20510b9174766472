import { rowOrder } from '#core/index/format/row-checks.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { sha256 } from '#core/platform/digest.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { openingOf } from '#jobs/version-build/artifact.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { ACTS, benchRecord, withSample } from '../corpus.ts'
import { SUBJECTS, drawn } from '../documents.ts'
import { repeated, type BenchCorpus, type BenchPassage, type Query } from '../source.ts'
import { streamAt } from '../stream.ts'
import { inventedQuestion } from '../text.ts'
import { REAL_DIMENSIONS, cachedVectors, encodeMissing } from './encoder.ts'
import { readRealQuestions, readRealTexts, type RealText } from './texts.ts'

/** Passages and questions that a real encoder encoded; as many passages as there are, up to `passages`. */
export interface RealSpec {
  readonly passages: number
  readonly seed: number
  readonly dataDir: string
}

type Vector = Float32Array<ArrayBuffer>

const SUBJECT_NAMES = Object.keys(SUBJECTS)

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
  const passages = placedIn(texts).map(({ text, key, ordinal, count }, at) => {
    const { corpus, language, jurisdiction, id, document, title } = text
    // The sources have no subjects: a document has one, and a share of all passages the one of the sample.
    const subject = SUBJECT_NAMES[drawn(SUBJECTS, streamAt(0, 'documents', sha256(key).readUInt32LE())())] ?? ''
    const subjects = withSample(subject, streamAt(0, 'texts', at)())
    const documentId = derivedUuid('bench real document', corpus, document, subject)
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
    return { record, vector, language, jurisdiction, subjects }
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
  const fieldQuestions = readRealQuestions().map((text, at) =>
    asked({ text, vector: Float32Array.from(questions[at] ?? []) }),
  )
  return {
    parameters: ['real', '3', String(texts.length), String(seed)],
    passages: rows.length,
    dimensions: REAL_DIMENSIONS,
    acts: ACTS,
    rows: () => rows,
    openings: read(openingsOf(texts).map(questionText)),
    questions({ count, set }, sampled) {
      const kept = fieldQuestions.slice(0, count)
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
