import { setImmediate } from 'node:timers/promises'
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
 * the temperature of the lowest cross-entropy before the fit. The event loop gets a turn after each pass.
 * @param count of the words that get a weight. @param denseWeight of the vectors, in [0, 1].
 */
export async function fitWordWeights(
  lists: readonly TrainingList[],
  count: number,
  denseWeight: number,
  signal: AbortSignal,
): Promise<Float64Array> {
  const weights = new Float64Array(count).fill(1)
  const fit = { denseWeight, temperature: bestTemperature(lists, weights, denseWeight) }
  const curvature = new Float64Array(count).fill(PENALTY)
  for (const list of lists) addCurvature(list, weights, fit, curvature)
  for (let pass = 0; pass < PASSES; pass++) {
    await setImmediate()
    signal.throwIfAborted()
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
  const scored = lists.map((list) => ({
    ideal: list.ideal,
    scores: fused(list, byWordsUnder(list, weights), denseWeight),
  }))
  let best = { temperature: TEMPERATURE_MIN, loss: Infinity }
  for (let step = 0; step < TEMPERATURES; step++) {
    const temperature = TEMPERATURE_MIN * (TEMPERATURE_MAX / TEMPERATURE_MIN) ** (step / (TEMPERATURES - 1))
    const loss = scored.reduce((sum, { scores, ideal }) => sum + crossEntropy(ideal, softmax(scores, temperature)), 0)
    if (loss < best.loss) best = { temperature, loss }
  }
  return best.temperature
}

function crossEntropy(ideal: Float64Array, probabilities: Float64Array): number {
  return probabilities.reduce((sum, probability, at) => {
    const wanted = ideal[at] ?? 0
    return wanted === 0 ? sum : sum - wanted * Math.log(Math.max(Number.MIN_VALUE, probability))
  }, 0)
}

interface ByWords {
  readonly scores: Float64Array
  /** Greatest possible score, before it is scaled to 1. */
  readonly greatest: number
}

/** The scores by words under the weights; the formula of `weightedScores` of the search node. */
function byWordsUnder({ words, shares, byWord, byWords }: TrainingList, weights: Float64Array): ByWords {
  const gains = Float64Array.from(words, (word) => (weights[word] ?? 1) - 1)
  const greatest = gains.reduce((sum, gain, place) => sum + gain * (shares[place] ?? 0), 1)
  const scores = new Float64Array(byWords.length)
  let at = 0
  for (let passage = 0; passage < scores.length; passage++) {
    let weighted = byWords[passage] ?? 0
    for (let place = 0; place < gains.length; place++) weighted += (gains[place] ?? 0) * (byWord[at++] ?? 0)
    scores[passage] = Math.max(0, weighted) / Math.max(GREATEST_MIN, greatest)
  }
  return { scores, greatest }
}

function fused({ byVector }: TrainingList, { scores }: ByWords, denseWeight: number): Float64Array {
  const sums = new Float64Array(scores.length)
  for (let passage = 0; passage < sums.length; passage++)
    sums[passage] = (1 - denseWeight) * (scores[passage] ?? 0) + denseWeight * (byVector[passage] ?? 0)
  return sums
}

function softmax(scores: Float64Array, temperature: number): Float64Array {
  let most = -Infinity
  for (let at = 0; at < scores.length; at++) most = Math.max(most, scores[at] ?? 0)
  const powers = new Float64Array(scores.length)
  let sum = 0
  for (let at = 0; at < scores.length; at++) sum += powers[at] = Math.exp(((scores[at] ?? 0) - most) / temperature)
  for (let at = 0; at < scores.length; at++) powers[at] = (powers[at] ?? 0) / sum
  return powers
}

/** A list under some weights. */
interface State {
  readonly byWords: ByWords
  readonly probabilities: Float64Array
  /** What a score by words counts in the exponent of the softmax, by its unscaled unit. */
  readonly factor: number
}

function stateOf(list: TrainingList, weights: Float64Array, { denseWeight, temperature }: Fit): State {
  const byWords = byWordsUnder(list, weights)
  return {
    byWords,
    probabilities: softmax(fused(list, byWords, denseWeight), temperature),
    factor: byWords.greatest < GREATEST_MIN ? 0 : (1 - denseWeight) / (byWords.greatest * temperature),
  }
}

/** Adds the gradient of a list's cross-entropy. */
function addGradient(list: TrainingList, weights: Float64Array, fit: Fit, gradient: Float64Array): void {
  const { words, shares, byWord, ideal } = list
  const { byWords, probabilities, factor } = stateOf(list, weights, fit)
  const own = new Float64Array(words.length)
  let ofGreatest = 0
  let at = 0
  for (let passage = 0; passage < ideal.length; passage++) {
    const excess = factor * ((probabilities[passage] ?? 0) - (ideal[passage] ?? 0))
    ofGreatest += excess * (byWords.scores[passage] ?? 0)
    for (let place = 0; place < own.length; place++) own[place] = (own[place] ?? 0) + excess * (byWord[at++] ?? 0)
  }
  for (const [place, word] of words.entries())
    gradient[word] = (gradient[word] ?? 0) + (own[place] ?? 0) - (shares[place] ?? 0) * ofGreatest
}

/** Adds the Gauss-Newton curvature of a list's cross-entropy: the variance of each slope under the softmax. */
function addCurvature(list: TrainingList, weights: Float64Array, fit: Fit, curvature: Float64Array): void {
  const { words, shares, byWord, ideal } = list
  const { byWords, probabilities, factor } = stateOf(list, weights, fit)
  for (const [place, word] of words.entries()) {
    let [mean, square] = [0, 0]
    for (let passage = 0; passage < ideal.length; passage++) {
      const added = byWord[passage * words.length + place] ?? 0
      const slope = factor * (added - (shares[place] ?? 0) * (byWords.scores[passage] ?? 0))
      mean += (probabilities[passage] ?? 0) * slope
      square += (probabilities[passage] ?? 0) * slope * slope
    }
    curvature[word] = (curvature[word] ?? 0) + square - mean * mean
  }
}
