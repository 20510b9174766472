import type { PassageRecord } from '#core/index/passages/record.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { ACTS, benchRecord, withSample, type PassageTraits } from './corpus.ts'
import { JURISDICTIONS, LANGUAGES, SUBJECTS, documentTable, positionsOf, type DocumentTraits } from './documents.ts'
import { streamAt } from './stream.ts'
import { inventedQuestion, inventedText } from './text.ts'
import { openSpace, type CorpusPosition } from './vectors/space.ts'

/** A question and its vector, which the provider returns for its text. */
export interface Query {
  readonly text: string
  /** Of unit length, in a buffer of its own. */
  readonly vector: Float32Array<ArrayBuffer>
}

export interface BenchPassage extends PassageTraits {
  readonly row: number
  /** Makes the text, which takes longer than all the rest. */
  record(): PassageRecord
  vector(): Float32Array<ArrayBuffer>
  /** A question on it; another number gives another one. */
  question(number: number): Query
}

/** A set of questions: another number gives other ones. */
export interface QuerySet {
  readonly count: number
  readonly set: number
}

/** What a benchmark searches, and what it asks. */
export interface BenchCorpus {
  /** Equal for equal passages, vectors and questions only. */
  readonly parameters: readonly string[]
  readonly passages: number
  readonly dimensions: number
  readonly acts: readonly ActEntry[]
  /** In row order, made one by one. */
  rows(): Iterable<BenchPassage>
  /** Queries that measure the artifact, as a build makes them of openings; invented ones are drawn instead. */
  readonly openings?: readonly Float32Array[]
  /** @param sampled passages drawn at random. */
  questions(of: QuerySet, sampled: readonly BenchPassage[]): readonly Query[]
}

/** Questions of one set are numbered from a multiple of this. */
const QUERIES_MAX = 100_000

const LANGUAGE_NAMES = Object.keys(LANGUAGES)
const JURISDICTION_NAMES = Object.keys(JURISDICTIONS)
const SUBJECT_NAMES = Object.keys(SUBJECTS)

/** A corpus of any size with generated texts and vectors. It is a function of the seed. */
export function inventedCorpus(
  { passages, seed }: { readonly passages: number; readonly seed: number },
  dimensions: number,
): BenchCorpus {
  const documents = documentTable({ passages, seed })
  const languages = Object.values(LANGUAGES)
  const jurisdictions = Object.values(JURISDICTIONS)
  const space = openSpace({ dimensions, seed, topics: documents.topics, languages, jurisdictions })
  function passageAt(document: DocumentTraits, position: CorpusPosition, row: number): BenchPassage {
    const { id, number } = document
    const { topic, ordinal } = position
    const language = LANGUAGE_NAMES[document.language] ?? ''
    const jurisdiction = JURISDICTION_NAMES[document.jurisdiction] ?? ''
    const subject = SUBJECT_NAMES[document.subject] ?? ''
    const subjects = withSample(subject, streamAt(seed, 'texts', row)())
    const about = subject.replaceAll('-', ' ')
    const title = `Regulation ${number} on ${about}`
    const traits = {
      document: { id, title, authority: `Authority for ${about} (${jurisdiction})`, passages: document.passages },
      ordinal,
      language,
      jurisdiction,
      subjects,
      url: `https://rules.example/${jurisdiction.toLowerCase()}/${language}/regulation-${number}`,
      label: `Article ${ordinal + 1} (${number}/2023)`,
      heading: title,
      sourceId: `regulation-${number}`,
      references: [`${ACTS[number % ACTS.length]?.id ?? ''}#${number}/${ordinal + 1}`],
    }
    const text = (): string => inventedText(language, topic, streamAt(seed, 'texts', row, 1))
    const record = (): PassageRecord => benchRecord(text(), traits)
    const vector = (): Query['vector'] => space.passage(position)
    const question = (n: number): Query => ({
      text: inventedQuestion(language, text(), streamAt(seed, 'queries', row, n)),
      vector: space.question(position, n),
    })
    return { row, language, jurisdiction, subjects, record, vector, question }
  }
  return {
    parameters: ['invented', String(passages), String(dimensions), String(seed)],
    passages,
    dimensions,
    acts: ACTS,
    *rows() {
      let row = 0
      for (const document of documents.inRowOrder())
        for (const position of positionsOf(document, seed, documents.topics)) yield passageAt(document, position, row++)
    },
    questions: ({ count, set }, sampled) => repeated(sampled, count, set),
  }
}

/** Questions on passages, several on each where there are fewer. */
export function repeated(sampled: readonly BenchPassage[], count: number, set: number): readonly Query[] {
  return Array.from({ length: sampled.length === 0 ? 0 : count }, (_, at) => at).flatMap((at) => {
    const question = sampled[at % sampled.length]?.question(set * QUERIES_MAX + at)
    return question === undefined ? [] : [question]
  })
}

/** Questions on passages that are drawn at random, in one pass over the corpus (Vitter's algorithm R). */
export function askedOf(corpus: BenchCorpus, seed: number, set: QuerySet): readonly Query[] {
  const random = streamAt(seed, 'queries', set.set)
  const sampled: BenchPassage[] = []
  let seen = 0
  for (const passage of corpus.rows()) {
    const at = seen < set.count ? seen : Math.floor(random() * (seen + 1))
    if (at < set.count) sampled[at] = passage
    seen++
  }
  return corpus.questions(set, sampled)
}
