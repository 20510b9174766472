import { setImmediate } from 'node:timers/promises'
import { WORD_WEIGHT_MAX, WORD_WEIGHT_MIN, weighingOf, weightedScore } from '#core/domain/word-weights.ts'
import type { TrainingList } from './lists.ts'

/** Penalty on half the squared distance of a weight from 1; see decision 0034. */
const PENALTY = 4
const PASSES = 50
/** A step is a share of the one that the curvature at the start gives. It is halved where the loss would not fall. */
const STEP_FIRST = 0.5
const STEP_MIN = 0.001
const STEP_GROWTH = 1.5
const TEMPERATURE_MIN = 0.003
const TEMPERATURE_MAX = 0.3
const TEMPERATURES = 30
/** Lists after which the event loop gets a turn. */
const LISTS_A_TURN = 250

export interface FitOptions {
  /** Of the words that get a weight. */
  readonly words: number
  /** Weight of the vectors, in [0, 1]. */
  readonly denseWeight: number
  readonly signal: AbortSignal
}

/**
 * Returns weights of words, in [`WORD_WEIGHT_MIN`, `WORD_WEIGHT_MAX`], that rank relevant passages first. They minimise
 * the cross-entropy between the ideal ranking of each list and the softmax of its scores (ListNet: Cao et al. 2007),
 * plus the penalty, by projected gradient descent with a diagonal preconditioner. Scores are weighted sums of words and
 * vectors, divided by the temperature of the lowest cross-entropy before the fit. The loss never rises.
 */
export async function fitWordWeights(lists: readonly TrainingList[], options: FitOptions): Promise<Float64Array> {
  const start = new Float64Array(options.words).fill(1)
  const fit = { ...options, temperature: await bestTemperature(lists, start, options) }
  const curvature = new Float64Array(options.words).fill(PENALTY)
  await forEachList(lists, options.signal, (list) => addCurvature(list, start, fit, curvature))
  let best = await measure(lists, start, fit)
  let step = STEP_FIRST
  for (let pass = 0; pass < PASSES && step >= STEP_MIN; pass++) {
    const { weights, gradient } = best
    const moved = weights.map((weight, word) => weight - (step * (gradient[word] ?? 0)) / (curvature[word] ?? 1))
    const next = await measure(lists, moved.map(bounded), fit)
    const falls = next.loss < best.loss
    if (falls) best = next
    step *= falls ? STEP_GROWTH : 0.5
  }
  return best.weights
}

function bounded(weight: number): number {
  return Math.min(WORD_WEIGHT_MAX, Math.max(WORD_WEIGHT_MIN, weight))
}

async function forEachList(
  lists: readonly TrainingList[],
  signal: AbortSignal,
  visit: (list: TrainingList) => void,
): Promise<void> {
  for (const [at, list] of lists.entries()) {
    if (at % LISTS_A_TURN === 0) {
      await setImmediate()
      signal.throwIfAborted()
    }
    visit(list)
  }
}

interface Fit extends FitOptions {
  readonly temperature: number
}

async function bestTemperature(
  lists: readonly TrainingList[],
  weights: Float64Array,
  { denseWeight, signal }: FitOptions,
): Promise<number> {
  const temperatures = Array.from(
    { length: TEMPERATURES },
    (_, step) => TEMPERATURE_MIN * (TEMPERATURE_MAX / TEMPERATURE_MIN) ** (step / (TEMPERATURES - 1)),
  )
  const losses = new Float64Array(TEMPERATURES)
  await forEachList(lists, signal, (list) => {
    const scores = fused(list, byWordsUnder(list, weights).scores, denseWeight)
    for (const [at, temperature] of temperatures.entries())
      losses[at] = (losses[at] ?? 0) + crossEntropy(list.ideal, softmax(scores, temperature))
  })
  return temperatures[losses.indexOf(Math.min(...losses))] ?? TEMPERATURE_MIN
}

interface Measured {
  readonly weights: Float64Array
  /** Sum over the lists, with the penalty. */
  readonly loss: number
  readonly gradient: Float64Array
}

async function measure(lists: readonly TrainingList[], weights: Float64Array, fit: Fit): Promise<Measured> {
  const gradient = weights.map((weight) => PENALTY * (weight - 1))
  let loss = (PENALTY / 2) * weights.reduce((sum, weight) => sum + (weight - 1) ** 2, 0)
  await forEachList(lists, fit.signal, (list) => {
    loss += addGradient(list, weights, fit, gradient)
  })
  return { weights, loss, gradient }
}

interface ByWords {
  readonly scores: Float64Array
  /** The greatest possible score before it is scaled to 1. */
  readonly greatest: number
}

function byWordsUnder({ words, shares, byWord, byWords }: TrainingList, weights: Float64Array): ByWords {
  const weighing = weighingOf(
    Float64Array.from(words, (word) => weights[word] ?? 1),
    shares,
  )
  const scores = new Float64Array(byWords.length)
  for (let passage = 0; passage < scores.length; passage++)
    scores[passage] = weightedScore(weighing, byWords[passage] ?? 0, byWord, passage * words.length)
  return { scores, greatest: weighing.greatest }
}

function fused({ byVector }: TrainingList, byWords: Float64Array, denseWeight: number): Float64Array {
  const sums = new Float64Array(byWords.length)
  for (let passage = 0; passage < sums.length; passage++)
    sums[passage] = (1 - denseWeight) * (byWords[passage] ?? 0) + denseWeight * (byVector[passage] ?? 0)
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

function crossEntropy(ideal: Float64Array, probabilities: Float64Array): number {
  let sum = 0
  for (let at = 0; at < ideal.length; at++) {
    const wanted = ideal[at] ?? 0
    if (wanted > 0) sum -= wanted * Math.log(Math.max(Number.MIN_VALUE, probabilities[at] ?? 0))
  }
  return sum
}

/** A list under some weights. */
interface State {
  readonly byWords: Float64Array
  readonly probabilities: Float64Array
  /** What a score by words counts in the exponent of the softmax, before it is scaled. */
  readonly factor: number
}

function stateOf(list: TrainingList, weights: Float64Array, { denseWeight, temperature }: Fit): State {
  const { scores, greatest } = byWordsUnder(list, weights)
  return {
    byWords: scores,
    probabilities: softmax(fused(list, scores, denseWeight), temperature),
    factor: (1 - denseWeight) / (greatest * temperature),
  }
}

/** Adds the gradient of a list's cross-entropy. @returns the cross-entropy. */
function addGradient(list: TrainingList, weights: Float64Array, fit: Fit, gradient: Float64Array): number {
  const { words, shares, byWord, ideal } = list
  const { byWords, probabilities, factor } = stateOf(list, weights, fit)
  const own = new Float64Array(words.length)
  let ofGreatest = 0
  let at = 0
  for (let passage = 0; passage < ideal.length; passage++) {
    const excess = factor * ((probabilities[passage] ?? 0) - (ideal[passage] ?? 0))
    ofGreatest += excess * (byWords[passage] ?? 0)
    for (let place = 0; place < own.length; place++) own[place] = (own[place] ?? 0) + excess * (byWord[at++] ?? 0)
  }
  for (const [place, word] of words.entries())
    gradient[word] = (gradient[word] ?? 0) + (own[place] ?? 0) - (shares[place] ?? 0) * ofGreatest
  return crossEntropy(ideal, probabilities)
}

/** Adds the Gauss-Newton curvature of a list's cross-entropy: the variance of each slope under the softmax. */
function addCurvature(list: TrainingList, weights: Float64Array, fit: Fit, curvature: Float64Array): void {
  const { words, shares, byWord, ideal } = list
  const { byWords, probabilities, factor } = stateOf(list, weights, fit)
  for (const [place, word] of words.entries()) {
    let [mean, square] = [0, 0]
    for (let passage = 0; passage < ideal.length; passage++) {
      const added = byWord[passage * words.length + place] ?? 0
      const slope = factor * (added - (shares[place] ?? 0) * (byWords[passage] ?? 0))
      mean += (probabilities[passage] ?? 0) * slope
      square += (probabilities[passage] ?? 0) * slope * slope
    }
    curvature[word] = (curvature[word] ?? 0) + square - mean * mean
  }
}
