import { derivedUuid } from '#core/platform/ids.ts'
import { streamAt } from './stream.ts'
import { MODEL } from './vectors/model.ts'
import type { CorpusPosition } from './vectors/space.ts'

/** Shares of the documents. English in the EU is 22 %; English on one subject of 3.6 % is 1.8 %. In code unit order. */
export const LANGUAGES = { de: 0.3, en: 0.5, fr: 0.2 } as const
export const JURISDICTIONS = { CH: 0.18, EU: 0.44, UK: 0.26, US: 0.12 } as const
export const SUBJECTS = {
  accounting: 0.11,
  audit: 0.09,
  'capital-markets': 0.1,
  complaints: 0.08,
  conduct: 0.12,
  crypto: 0.036,
  custody: 0.084,
  'data-protection': 0.1,
  'financial-crime': 0.1,
  governance: 0.07,
  insurance: 0.06,
  outsourcing: 0.05,
} as const
const SUBJECT_COUNT = Object.keys(SUBJECTS).length

const PASSAGES_MAX = 2_000
/**
 * Share of documents whose topic belongs to their subject; the rest have any topic. Filters and neighbourhoods are then
 * neither independent nor identical.
 */
const OWN_SUBJECT_SHARE = 0.5
/** A document by its numbers. */
export interface DocumentTraits {
  readonly number: number
  readonly id: string
  /** Positions in `LANGUAGES`, `JURISDICTIONS` and `SUBJECTS`. */
  readonly language: number
  readonly jurisdiction: number
  readonly subject: number
  /** Of most of its provisions. */
  readonly topic: number
  readonly passages: number
}

function topicCount(passages: number): number {
  const { count, atPassages, exponent, min } = MODEL.corpus.topics
  return Math.max(min, Math.round(count * (passages / atPassages) ** exponent))
}

/** The documents of a corpus, of which a few bytes are kept, and the number of topics. */
export function documentTable({ passages, seed }: { readonly passages: number; readonly seed: number }): {
  readonly topics: number
  inRowOrder(): Generator<DocumentTraits>
} {
  const topics = topicCount(passages)
  const sizes: number[] = []
  for (let left = passages; left > 0; left -= sizes.at(-1) ?? left)
    sizes.push(Math.min(left, traits(seed, sizes.length, topics).passages))
  const order = inRowOrder(seed, sizes.length, topics)
  return {
    topics,
    *inRowOrder() {
      for (const number of order)
        yield { ...traits(seed, number, topics), id: documentId(seed, number), passages: sizes[number] ?? 0 }
    },
  }
}

/** The positions of a document's passages, in order. */
export function* positionsOf(
  { number, language, jurisdiction, topic: ownTopic, passages }: DocumentTraits,
  seed: number,
  topics: number,
): Generator<CorpusPosition> {
  const random = streamAt(seed, 'provisions', number)
  let [provision, topic] = [0, ownTopic]
  for (let ordinal = 0; ordinal < passages; ordinal++) {
    const starts = ordinal === 0 || random() < MODEL.corpus.provisionStart
    if (starts) {
      provision = ordinal
      topic = random() < MODEL.corpus.onTopicShare ? ownTopic : drawTopic(topics, random())
    }
    const isCopy = !starts && random() < MODEL.corpus.copyShare
    yield { language, jurisdiction, topic, document: number, provision, ordinal, isCopy }
  }
}

/**
 * Numbers of documents ordered as `rowOrder` orders their passages: by language, jurisdiction, subject, and id. An id
 * is compared by its first 32 bits, and whole where these are equal.
 */
function inRowOrder(seed: number, count: number, topics: number): Uint32Array<ArrayBuffer> {
  const keys = Float64Array.from({ length: count }, (_, number) => {
    const { language, jurisdiction, subject } = traits(seed, number, topics)
    const group = (language * Object.keys(JURISDICTIONS).length + jurisdiction) * SUBJECT_COUNT + subject
    return group * 2 ** 32 + Number.parseInt(documentId(seed, number).slice(0, 8), 16)
  })
  return Uint32Array.from({ length: count }, (_, number) => number).sort(
    (a, b) => (keys[a] ?? 0) - (keys[b] ?? 0) || (documentId(seed, a) < documentId(seed, b) ? -1 : 1),
  )
}

function documentId(seed: number, number: number): string {
  return derivedUuid('bench document', String(seed), String(number))
}

function traits(seed: number, number: number, topics: number): Omit<DocumentTraits, 'id'> {
  const random = streamAt(seed, 'documents', number)
  const subject = drawn(SUBJECTS, random())
  const among = random() < OWN_SUBJECT_SHARE ? { of: SUBJECT_COUNT, at: subject } : undefined
  const topic = drawTopic(topics, random(), among)
  const [language, jurisdiction] = [drawn(LANGUAGES, random()), drawn(JURISDICTIONS, random())]
  const { documentPassages, documentSigma } = MODEL.corpus
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const size = Math.round(documentPassages * Math.exp(documentSigma * normal - documentSigma ** 2 / 2))
  return { number, language, jurisdiction, subject, topic, passages: Math.min(PASSAGES_MAX, Math.max(1, size)) }
}

/** @returns the position among the keys. */
export function drawn(shares: Readonly<Record<string, number>>, at: number): number {
  let below = 0
  for (const [position, share] of Object.values(shares).entries()) {
    below += share
    if (at < below) return position
  }
  return Object.keys(shares).length - 1
}

/**
 * Sizes fall from the largest topic to the smallest `skew`-fold.
 * @param share uniform in [0, 1). @param among one topic in every `of`, beginning with `at`.
 */
function drawTopic(topics: number, share: number, among?: { readonly of: number; readonly at: number }): number {
  const { skew } = MODEL.corpus.topics
  const topic = Math.floor((skew ** share - 1) * ((topics - 1) / (skew - 1)))
  return among === undefined ? topic : Math.min(topics - 1, topic - (topic % among.of) + among.at)
}
