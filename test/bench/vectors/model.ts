/**
 * How variance falls over the directions of a space, largest first: (i + shift)^-power · exp(-i / scale). It goes on in
 * the same way past the dimensions that it was fitted on, so a wider space is not much harder.
 */
export interface Spectrum {
  readonly shift: number
  readonly power: number
  readonly scale: number
}

/** One level of the hierarchy that a passage's content is a sum of. */
interface Level {
  /** Mean squared length before the content is brought to its length. */
  readonly variance: number
  readonly spectrum: Spectrum
}

const CONTENT: Spectrum = { shift: 12, power: 0.2, scale: 350 }

/**
 * Numbers fitted to 46,999 passages and 504 questions that multilingual-e5-small encoded. Lengths are of vectors whose
 * whole length is 1.
 */
export const MODEL = {
  /** What all passages have in common, what all questions have, and the cosine of the two. */
  passageMean: 0.9,
  questionMean: 0.883,
  meansCosine: 0.97,
  /** Squared length of what a language adds and of what a jurisdiction adds; questions have this share of both. */
  languageVariance: 0.022,
  jurisdictionVariance: 0.01,
  questionOffsetShare: 0.62,
  /** Topics that share an area lie near each other. */
  areas: 25,
  area: { variance: 0.04, spectrum: { shift: 6, power: 0.349, scale: 300 } },
  topic: { variance: 0.05, spectrum: { shift: 10, power: 0.349, scale: 300 } },
  document: { variance: 0.023, spectrum: CONTENT },
  provision: { variance: 0.058, spectrum: CONTENT },
  passage: { variance: 0.107, spectrum: CONTENT },
  /** Standard deviation of the logarithm of what provisions of a document, and passages, spread by. */
  documentSpreadSigma: 0.423,
  passageSpreadSigma: 0.247,
  /** Squared length of the content of a passage without mean and offsets, and how its logarithm of length varies. */
  contentVariance: 0.15,
  contentLengthSigma: 0.05,
  /** Squared distance of a passage that nearly repeats another. */
  copyVariance: 0.004,
  corpus: {
    /** Topics of a corpus of a size, how they grow with it (Heaps' law), and of the largest topic to the smallest. */
    topics: { count: 162, atPassages: 47_000, exponent: 0.6, min: 100, skew: 111 },
    /** Passages of a document: lognormal. */
    documentPassages: 20,
    documentSigma: 1,
    /** Share of the provisions that are on the topic of their document; the others have any. */
    onTopicShare: 0.48,
    /** A passage begins a provision with this probability, and nearly repeats the one before with that one if not. */
    provisionStart: 0.345,
    copyShare: 0.06,
  },
  question: {
    /** Questions on what the corpus does not hold have at most so much of a passage's content. */
    distantShare: 0.117,
    distantContentMax: 0.163,
    /** The others have so much of it, and of what their passage alone says this share. */
    contentMin: 0.158,
    contentMax: 0.95,
    ownShare: 0.2,
    /** Squared length without mean and offset, and the least that belongs to no passage. */
    variance: 0.209,
    noiseVarianceMin: 0.04,
    spectrum: { shift: 1, power: 0.77, scale: 300 },
    /** Share of the questions in another language than their passage. */
    crossLingualShare: 0.097,
  },
} as const satisfies Readonly<Record<string, unknown>> & Readonly<Record<'topic' | 'document', Level>>

/** @returns standard deviations by direction, whose squares sum to `variance`. */
export function deviations(dimensions: number, { variance, spectrum }: Level): Float64Array<ArrayBuffer> {
  const { shift, power, scale } = spectrum
  const weights = Float64Array.from(
    { length: dimensions },
    (_, i) => (i + 0.5 + shift) ** -power * Math.exp(-(i + 0.5) / scale),
  )
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => Math.sqrt((variance * weight) / sum))
}
