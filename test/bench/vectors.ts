/**
 * Vectors as texts have them: they fill few of the dimensions (intrinsic dimension of text embeddings: tens), gather
 * around topics of very different sizes, and have a little of every other direction.
 */
export interface Space {
  /** A vector near a topic, of any length; the same state of `random` gives the same vector. */
  draw(topic: number, random: () => number): Float32Array<ArrayBuffer>
}

const LATENT_DIMENSIONS = 40
const TOPICS = 400
/**
 * Length of what all texts have in common: with it the cosine of two texts on different topics is about 0.4, as
 * embedding models have it, and rarely negative.
 */
const COMMON_LENGTH = 6
/** Spread within a topic, relative to the spread of the topics. */
const WITHIN_TOPIC = 0.6
/** Length of the part that is in no latent direction, relative to the rest. */
const OWN_DIRECTION = 0.25

export function openSpace(dimensions: number, random: () => number): Space {
  const basis = Array.from({ length: LATENT_DIMENSIONS }, () =>
    gaussians(dimensions, random).map((value) => value / Math.sqrt(dimensions)),
  )
  const topics = Array.from({ length: TOPICS }, () =>
    gaussians(LATENT_DIMENSIONS, random).map((value, at) => (at === 0 ? value + COMMON_LENGTH : value)),
  )
  return {
    draw(topic, next) {
      const centre = topics[topic] ?? []
      const latent = gaussians(LATENT_DIMENSIONS, next).map((value, at) => (centre[at] ?? 0) + value * WITHIN_TOPIC)
      const own = (Math.hypot(...latent) * OWN_DIRECTION) / Math.sqrt(dimensions)
      const vector = gaussians(dimensions, next).map((value) => value * own)
      for (let l = 0; l < LATENT_DIMENSIONS; l++) {
        const weight = latent[l] ?? 0
        const direction = basis[l] ?? vector
        for (let d = 0; d < dimensions; d++) vector[d] = (vector[d] ?? 0) + weight * (direction[d] ?? 0)
      }
      return vector
    },
  }
}

/**
 * Sizes fall from the largest topic to the smallest about a hundredfold.
 * @param share uniform in [0, 1). @param among one topic in every `of`, beginning with `at`.
 */
export function drawTopic(share: number, among?: { readonly of: number; readonly at: number }): number {
  const topic = Math.floor((100 ** share - 1) * ((TOPICS - 1) / 99))
  return among === undefined ? topic : Math.min(TOPICS - 1, topic - (topic % among.of) + among.at)
}

/** Standard normal by Box and Muller. */
function gaussians(count: number, random: () => number): Float32Array<ArrayBuffer> {
  const values = new Float32Array(count)
  for (let at = 0; at < count; at += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - random()))
    const angle = 2 * Math.PI * random()
    values[at] = radius * Math.cos(angle)
    if (at + 1 < count) values[at + 1] = radius * Math.sin(angle)
  }
  return values
}
