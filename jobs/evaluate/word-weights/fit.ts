import { BOUNDS } from '#core/platform/bounds.ts'
import type { TrainingList } from './lists.ts'

/** Penalty on half the squared distance of a weight from 1; see decision 0034. */
const PENALTY = 4
const PASSES = 30
/** The step of a pass, as a share of the one that the curvature at the start gives. */
const STEP = 0.5
const TEMPERATURE_MIN = 0.003
const TEMPERATURE_MAX = 0.3
const TEMPERATURES = 30
/** Less of the greatest possible score gives a list no gradient: hardly any word of its question counts. */
const GREATEST_MIN = 0.01

/**
 * Returns weights of words, in [0, `wordWeightMax`], that rank relevant passages first. They minimise the cross-entropy
 * between the ideal ranking of each list and the softmax of its scores (ListNet: Cao et al. 2007), plus the penalty, by
 * projected gradient descent with a diagonal preconditioner. Scores are weighted sums of words and vectors, divided by
 * the temperature of the lowest cross-entropy before the fit.
 * @param count of the words that get a weight. @param denseWeight of the vectors, in [0, 1].
 */
export function fitWordWeights(lists: readonly TrainingList[], count: number, denseWeight: number): Float64Array {
  const weights = new Float64Array(count).fill(1)
  const fit = { denseWeight, temperature: bestTemperature(lists, weights, denseWeight) }
  const curvature = new Float64Array(count).fill(PENALTY)
  for (const list of lists) addCurvature(list, weights, fit, curvature)
  for (let pass = 0; pass < PASSES; pass++) {
    const gradient = weights.map((weight) => PENALTY * (weight - 1))
    for (const list of lists) addGradient(list, weights, fit, gradient)
    for (let word = 0; word < count; word++) {
      const moved = (weights[word] ?? 1) - (STEP * (gradient[word] ?? 0)) / (curvature[word] ?? 1)
      weights[word] = Math.min(BOUNDS.wordWeightMax, Math.max(0, moved))
    }
  }
  return weights
}

interface Fit {
  readonly denseWeight: number
  readonly temperature: number
}

function bestTemperature(lists: readonly TrainingList[], weights: Float64Array, denseWeight: number): number {
  let best = { temperature: TEMPERATURE_MIN, loss: Infinity }
  for (let step = 0; step < TEMPERATURES; step++) {
    const temperature = TEMPERATURE_MIN * (TEMPERATURE_MAX / TEMPERATURE_MIN) ** (step / (TEMPERATURES - 1))
    let loss = 0
    for (const list of lists) {
      const { probabilities } = softmax(list, weights, { denseWeight, temperature })
      for (let at = 0; at < probabilities.length; at++)
        if ((list.ideal[at] ?? 0) > 0)
          loss -= (list.ideal[at] ?? 0) * Math.log(Math.max(Number.MIN_VALUE, probabilities[at] ?? 0))
    }
    if (loss < best.loss) best = { temperature, loss }
  }
  return best.temperature
}

interface Softmax {
  readonly probabilities: Float64Array
  /** Scores by words under the weights. */
  readonly byWords: Float64Array
  /** Greatest possible score by words, before it is scaled to 1. */
  readonly greatest: number
}

/** The scores of a list under the weights; the formula of `weightedScores` of the search node. */
function softmax(list: TrainingList, weights: Float64Array, { denseWeight, temperature }: Fit): Softmax {
  const { words, shares, byWord, byVector } = list
  const gains = Float64Array.from(words, (word) => (weights[word] ?? 1) - 1)
  const greatest = gains.reduce((sum, gain, place) => sum + gain * (shares[place] ?? 0), 1)
  const byWords = list.byWords.map((score, passage) => {
    let weighted = score
    for (let place = 0; place < gains.length; place++)
      weighted += (gains[place] ?? 0) * (byWord[passage * gains.length + place] ?? 0)
    return Math.max(0, weighted) / Math.max(GREATEST_MIN, greatest)
  })
  const exponents = byWords.map(
    (score, passage) => ((1 - denseWeight) * score + denseWeight * (byVector[passage] ?? 0)) / temperature,
  )
  const most = exponents.reduce((max, exponent) => Math.max(max, exponent), -Infinity)
  const powers = exponents.map((exponent) => Math.exp(exponent - most))
  const sum = powers.reduce((total, power) => total + power, 0)
  return { probabilities: powers.map((power) => power / sum), byWords, greatest }
}

/** Adds the gradient of a list's cross-entropy. */
function addGradient(list: TrainingList, weights: Float64Array, fit: Fit, gradient: Float64Array): void {
  const found = softmax(list, weights, fit)
  for (const [place, word] of list.words.entries()) {
    let sum = 0
    for (let passage = 0; passage < list.ideal.length; passage++) {
      const excess = (found.probabilities[passage] ?? 0) - (list.ideal[passage] ?? 0)
      sum += excess * slope(list, found, fit, { passage, place })
    }
    gradient[word] = (gradient[word] ?? 0) + sum
  }
}

/** Adds the variance of each slope under the softmax: the Gauss-Newton curvature of a list's cross-entropy. */
function addCurvature(list: TrainingList, weights: Float64Array, fit: Fit, curvature: Float64Array): void {
  const found = softmax(list, weights, fit)
  for (const [place, word] of list.words.entries()) {
    let [mean, square] = [0, 0]
    for (let passage = 0; passage < list.ideal.length; passage++) {
      const own = slope(list, found, fit, { passage, place })
      mean += (found.probabilities[passage] ?? 0) * own
      square += (found.probabilities[passage] ?? 0) * own * own
    }
    curvature[word] = (curvature[word] ?? 0) + square - mean * mean
  }
}

/** Derivative of a passage's exponent by the weight of a word. */
function slope(
  { words, shares, byWord }: TrainingList,
  { byWords, greatest }: Softmax,
  { denseWeight, temperature }: Fit,
  { passage, place }: { readonly passage: number; readonly place: number },
): number {
  if (greatest < GREATEST_MIN) return 0
  const own = (byWord[passage * words.length + place] ?? 0) - (shares[place] ?? 0) * (byWords[passage] ?? 0)
  return ((1 - denseWeight) * own) / (greatest * temperature)
}
