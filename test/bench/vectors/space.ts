import { randomOrder } from '#core/platform/seeded-random.ts'
import { fillGaussian, gaussian, streamAt } from '../stream.ts'
import { MODEL, deviations } from './model.ts'

/** Where a passage stands in the corpus; equal positions have equal vectors. */
export interface CorpusPosition {
  /** Numbers of its language, jurisdiction, topic and document. */
  readonly language: number
  readonly jurisdiction: number
  readonly topic: number
  readonly document: number
  /** Ordinal of the first passage of its provision, and its own, in the document. */
  readonly provision: number
  readonly ordinal: number
  /** It nearly repeats the passage before. */
  readonly isCopy: boolean
}

interface SpaceOptions {
  readonly dimensions: number
  readonly seed: number
  readonly topics: number
  /** Share of the passages in each language and in each jurisdiction. */
  readonly languages: readonly number[]
  readonly jurisdictions: readonly number[]
}

interface Content {
  /** What the passage shares with its provision, document and topic, and what it alone says. */
  readonly shared: Float32Array
  readonly own: Float32Array
}

/** Vectors as a sentence encoder makes them of passages and of questions. All have unit length and own their buffer. */
export function openSpace(options: SpaceOptions) {
  const { dimensions, seed } = options
  const random = streamAt(seed, 'space', 0)
  const rotate = createRotation(dimensions, random)
  const [passageMean, questionMean] = means(dimensions, random)
  const offsetOf = createOffsets(options, random)
  const contentOf = createContents(options, random)
  const copyDeviations = deviations(dimensions, { ...MODEL.passage, variance: MODEL.copyVariance })
  const noise = createDraw(deviations(dimensions, { variance: 1, spectrum: MODEL.question.spectrum }))
  const copyNoise = createDraw(copyDeviations)
  const finished = (vector: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> => {
    rotate(vector)
    return scaled(vector, 1 / length(vector))
  }
  return {
    passage(position: CorpusPosition) {
      const { shared, own } = contentOf(repeated(position))
      const vector = passageMean.slice()
      addScaled(vector, offsetOf(position.language, position.jurisdiction), 1)
      addScaled(vector, shared, 1)
      addScaled(vector, own, 1)
      if (position.isCopy)
        addScaled(vector, copyNoise(streamAt(seed, 'passage vectors', position.document, ~position.ordinal)), 1)
      return finished(vector)
    },
    /** That the passage at a position answers, more or less. The same number gives the same question. */
    question(position: CorpusPosition, number: number) {
      const next = streamAt(seed, 'queries', number, 1)
      const { question } = MODEL
      const share =
        next() < question.distantShare
          ? question.distantContentMax * next()
          : question.contentMin + (question.contentMax - question.contentMin) * next()
      const crosses = next() < question.crossLingualShare
      const language = crosses ? Math.floor(next() * options.languages.length) : position.language
      const { shared, own } = contentOf(repeated(position))
      const content = new Float32Array(dimensions)
      addScaled(content, shared, share)
      addScaled(content, own, share * question.ownShare)
      const left = Math.max(question.noiseVarianceMin, question.variance - length(content) ** 2)
      const vector = questionMean.slice()
      addScaled(vector, offsetOf(language, position.jurisdiction), MODEL.questionOffsetShare)
      addScaled(vector, content, 1)
      addScaled(vector, noise(next), Math.sqrt(left))
      return finished(vector)
    },
  }
}

/** Layers beyond log2 of the dimensions, so that pairs meet by more than one way. */
const FURTHER_LAYERS = 2

/**
 * A random rotation in place, so that no direction of the content is a coordinate: layers of plane rotations over random
 * pairs, which cost dimensions × log(dimensions) instead of dimensions².
 */
function createRotation(dimensions: number, random: () => number): (vector: Float32Array) => void {
  const layers = Array.from({ length: Math.ceil(Math.log2(dimensions)) + FURTHER_LAYERS }, () => {
    const pairs = randomOrder(dimensions, random)
    const angles = Array.from({ length: dimensions >> 1 }, () => 2 * Math.PI * random())
    return { pairs, cosines: Float64Array.from(angles, Math.cos), sines: Float64Array.from(angles, Math.sin) }
  })
  return (vector) => {
    for (const { pairs, cosines, sines } of layers) {
      for (let at = 0; at < cosines.length; at++) {
        const [one = 0, other = 0] = [pairs[2 * at], pairs[2 * at + 1]]
        const [x = 0, y = 0] = [vector[one], vector[other]]
        const [cosine = 0, sine = 0] = [cosines[at], sines[at]]
        vector[one] = cosine * x - sine * y
        vector[other] = sine * x + cosine * y
      }
    }
  }
}

/** The position whose content a passage has. */
function repeated(position: CorpusPosition): CorpusPosition {
  return position.isCopy ? { ...position, ordinal: position.ordinal - 1 } : position
}

function means(
  dimensions: number,
  random: () => number,
): readonly [Float32Array<ArrayBuffer>, Float32Array<ArrayBuffer>] {
  const passage = direction(dimensions, random)
  const other = direction(dimensions, random)
  addScaled(other, passage, -dot(other, passage))
  scaled(other, 1 / length(other))
  const question = passage.map((value) => value * MODEL.questionMean * MODEL.meansCosine)
  addScaled(question, other, MODEL.questionMean * Math.sqrt(1 - MODEL.meansCosine ** 2))
  return [scaled(passage, MODEL.passageMean), question]
}

/** What language and jurisdiction add: nothing over all passages. */
function createOffsets(
  { dimensions, languages, jurisdictions }: SpaceOptions,
  random: () => number,
): (language: number, jurisdiction: number) => Float32Array {
  const byLanguage = centred(dimensions, languages, MODEL.languageVariance, random)
  const byJurisdiction = centred(dimensions, jurisdictions, MODEL.jurisdictionVariance, random)
  const sums = byLanguage.map((language) =>
    byJurisdiction.map((jurisdiction) => language.map((value, at) => value + (jurisdiction[at] ?? 0))),
  )
  const none = new Float32Array(dimensions)
  return (language, jurisdiction) => sums[language]?.[jurisdiction] ?? none
}

function centred(
  dimensions: number,
  shares: readonly number[],
  variance: number,
  random: () => number,
): readonly Float32Array<ArrayBuffer>[] {
  const vectors = shares.map(() => direction(dimensions, random))
  const mean = new Float32Array(dimensions)
  for (const [at, vector] of vectors.entries()) addScaled(mean, vector, shares[at] ?? 0)
  for (const vector of vectors) addScaled(vector, mean, -1)
  const squares = vectors.reduce((sum, vector, at) => sum + (shares[at] ?? 0) * length(vector) ** 2, 0)
  return vectors.map((vector) => scaled(vector, Math.sqrt(variance / squares)))
}

/** Content by position. Rows are drawn in order, so the last document and the last provision are kept. */
function createContents(
  { dimensions, seed, topics }: SpaceOptions,
  random: () => number,
): (position: CorpusPosition) => Content {
  const topicVectors = drawTopics(dimensions, topics, random)
  const documentDraw = createDraw(deviations(dimensions, MODEL.document))
  const provisionDraw = createDraw(deviations(dimensions, MODEL.provision))
  const passageDraw = createDraw(deviations(dimensions, MODEL.passage))
  const shared = new Float32Array(dimensions)
  const documentVector = new Float32Array(dimensions)
  const above = new Float32Array(dimensions)
  let spread = 1
  let [lastDocument, lastProvision, lastTopic] = [-1, -1, -1]
  function openProvision({ document, provision, topic }: CorpusPosition): void {
    if (document === lastDocument && provision === lastProvision && topic === lastTopic) return
    if (document !== lastDocument) {
      const next = streamAt(seed, 'document vectors', document)
      spread = spreadBy(MODEL.documentSpreadSigma, next)
      documentVector.set(documentDraw(next))
    }
    above.set(topicVectors.subarray(topic * dimensions, (topic + 1) * dimensions))
    addScaled(above, documentVector, 1)
    addScaled(above, provisionDraw(streamAt(seed, 'provision vectors', document, provision)), spread)
    ;[lastDocument, lastProvision, lastTopic] = [document, provision, topic]
  }
  return (position) => {
    openProvision(position)
    const next = streamAt(seed, 'passage vectors', position.document, position.ordinal)
    const own = passageDraw(next)
    scaled(own, spread * spreadBy(MODEL.passageSpreadSigma, next))
    shared.set(above)
    const wanted = Math.sqrt(MODEL.contentVariance) * Math.exp(MODEL.contentLengthSigma * gaussian(next))
    const factor = wanted / sumLength(shared, own)
    return { shared: scaled(shared, factor), own: scaled(own, factor) }
  }
}

/** Lognormal with a mean square of 1. */
function spreadBy(sigma: number, random: () => number): number {
  return Math.exp(sigma * gaussian(random) - sigma * sigma)
}

function drawTopics(dimensions: number, topics: number, random: () => number): Float32Array<ArrayBuffer> {
  const areaDraw = createDraw(deviations(dimensions, MODEL.area))
  const areas = Array.from({ length: MODEL.areas }, () => areaDraw(random).slice())
  const topicDraw = createDraw(deviations(dimensions, MODEL.topic))
  const vectors = new Float32Array(topics * dimensions)
  for (let topic = 0; topic < topics; topic++) {
    const vector = vectors.subarray(topic * dimensions, (topic + 1) * dimensions)
    vector.set(topicDraw(random))
    const area = areas[topic % areas.length]
    if (area !== undefined) addScaled(vector, area, 1)
  }
  return vectors
}

/** @returns a function whose result is overwritten by its next call. */
function createDraw(sigmas: Float64Array): (random: () => number) => Float32Array<ArrayBuffer> {
  const values = new Float32Array(sigmas.length)
  return (random) => {
    fillGaussian(values, random)
    for (let at = 0; at < values.length; at++) values[at] = (values[at] ?? 0) * (sigmas[at] ?? 0)
    return values
  }
}

function direction(dimensions: number, random: () => number): Float32Array<ArrayBuffer> {
  const vector = new Float32Array(dimensions)
  fillGaussian(vector, random)
  return scaled(vector, 1 / length(vector))
}

function addScaled(into: Float32Array, vector: Float32Array, factor: number): void {
  for (let at = 0; at < into.length; at++) into[at] = (into[at] ?? 0) + factor * (vector[at] ?? 0)
}

/** In place. */
function scaled<T extends Float32Array>(vector: T, factor: number): T {
  for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] ?? 0) * factor
  return vector
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0)
  return sum
}

function length(vector: Float32Array): number {
  return Math.sqrt(dot(vector, vector))
}

function sumLength(a: Float32Array, b: Float32Array): number {
  let squares = 0
  for (let at = 0; at < a.length; at++) squares += ((a[at] ?? 0) + (b[at] ?? 0)) ** 2
  return Math.sqrt(squares)
}
