import { logistic, modelProbability, type LogisticModel } from '#core/domain/calibration.ts'

const ITERATIONS_MAX = 50
const HALVINGS_MAX = 30
/** Per sample; too small to affect a probability visibly. */
const GRADIENT_TOLERANCE = 1e-12
/**
 * Relative increase of the loss that counts as rounding. Near the minimum the loss is constant in float64 while a step
 * still improves the weights.
 */
const LOSS_ROUNDING = 1e-14
/** Keeps the system solvable where every probability is saturated; negligible against any relevant curvature. */
const CURVATURE_MIN = 1e-12
/** A standard deviation below this share of the absolute mean counts as rounding. */
const RELATIVE_SPREAD_MIN = 1e-12

export interface LabelledSample {
  /** Finite; of the same length in every sample. */
  readonly features: readonly number[]
  readonly sufficient: boolean
}

/**
 * Fits a logistic regression by Newton's method (iteratively reweighted least squares) with step halving. Minimises the
 * summed log loss plus penalty / 2 times the squared length of the coefficients of the standardised features. The
 * intercept is not penalised. The penalty makes the minimum finite and unique for separable, repeated and constant
 * features; a constant feature gets a coefficient of 0. Where all samples are of one kind, the coefficients are 0 and
 * the intercept is the log odds by the rule of succession.
 * @param penalty greater than 0; the inverse of scikit-learn's C.
 * @param mayFall whether the coefficient of each feature may be negative; absent: none may.
 * @throws RangeError without samples, or when a feature is missing or not finite.
 */
export function fitLogisticRegression(
  samples: readonly LabelledSample[],
  penalty: number,
  mayFall: readonly boolean[] = [],
): LogisticModel {
  const { means, scales } = standardisation(samples)
  const sufficient = samples.filter((sample) => sample.sufficient).length
  const flat: LogisticModel = {
    means,
    scales,
    coefficients: means.map(() => 0),
    intercept: Math.log((sufficient + 1) / (samples.length - sufficient + 1)),
  }
  if (sufficient === 0 || sufficient === samples.length) return flat
  const rows = samples.map(({ features }) =>
    Float64Array.from([1, ...features.map((value, at) => (value - (means[at] ?? 0)) / (scales[at] ?? 1))]),
  )
  const labels = Float64Array.from(samples, (sample) => (sample.sufficient ? 1 : 0))
  const least = [-Infinity, ...means.map((_, at) => (mayFall[at] === true ? -Infinity : 0))]
  const [intercept = 0, ...coefficients] = minimise({ rows, labels, penalty, least })
  return { means, scales, coefficients, intercept }
}

export function predict(model: LogisticModel, samples: readonly LabelledSample[]): number[] {
  return samples.map(({ features }) => modelProbability(model, features))
}

function standardisation(samples: readonly LabelledSample[]): { means: number[]; scales: number[] } {
  const [first] = samples
  if (first === undefined) throw new RangeError('nothing to fit on')
  const width = first.features.length
  for (const { features } of samples) {
    if (features.length !== width || !features.every(Number.isFinite))
      throw new RangeError('a feature is missing or not a finite number')
  }
  const means: number[] = []
  const scales: number[] = []
  for (let at = 0; at < width; at++) {
    const values = samples.map(({ features }) => features[at] ?? 0)
    const mean = values.reduce((sum, value) => sum + value / values.length, 0)
    const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2 / values.length, 0))
    means.push(mean)
    scales.push(spread > RELATIVE_SPREAD_MIN * Math.max(1, Math.abs(mean)) ? spread : 1)
  }
  return { means, scales }
}

interface Problem {
  /** Standardised, each led by a 1 for the intercept. */
  readonly rows: readonly Float64Array[]
  readonly labels: Float64Array
  readonly penalty: number
  /** Lower bounds of the weights, at most 0. */
  readonly least: readonly number[]
}

function minimise(problem: Problem): number[] {
  let weights = problem.least.map(() => 0)
  let loss = lossOf(problem, weights)
  for (let iteration = 0; iteration < ITERATIONS_MAX; iteration++) {
    const { gradient, curvature } = derivatives(problem, weights)
    // A weight at its bound that would fall below it has no part in the step (projected Newton; Bertsekas 1982).
    const held = weights.map((weight, at) => weight === problem.least[at] && (gradient[at] ?? 0) > 0)
    for (const [row, line] of curvature.entries()) {
      if (held[row] === true) gradient[row] = 0
      for (let column = 0; column < row; column++) if (held[row] === true || held[column] === true) line[column] = 0
    }
    if (gradient.every((slope) => Math.abs(slope) <= GRADIENT_TOLERANCE * problem.rows.length)) break
    const step = solveSymmetric(curvature, gradient)
    const next = descend(problem, weights, step, loss)
    if (next === undefined) break
    ;({ weights, loss } = next)
  }
  return weights
}

/**
 * Takes the longest of the halved steps that does not raise the loss. Returns undefined when every step raises it,
 * which means that float64 precision is exhausted.
 */
function descend(problem: Problem, weights: readonly number[], step: readonly number[], loss: number) {
  for (let [halving, length] = [0, 1]; halving < HALVINGS_MAX; halving++, length /= 2) {
    const tried = weights.map((weight, at) => Math.max(problem.least[at] ?? 0, weight - length * (step[at] ?? 0)))
    const reached = lossOf(problem, tried)
    if (reached <= loss * (1 + LOSS_ROUNDING)) return { weights: tried, loss: reached }
  }
  return undefined
}

function lossOf({ rows, labels, penalty }: Problem, weights: readonly number[]): number {
  let loss = 0
  for (const [at, row] of rows.entries()) {
    const logit = product(row, weights)
    // log(1 + e^z) - y z, without overflow.
    loss += Math.max(logit, 0) + Math.log1p(Math.exp(-Math.abs(logit))) - (labels[at] ?? 0) * logit
  }
  for (const weight of weights.slice(1)) loss += (penalty / 2) * weight * weight
  return loss
}

function derivatives({ rows, labels, penalty }: Problem, weights: readonly number[]) {
  const gradient = weights.map((weight, at) => (at === 0 ? 0 : penalty * weight))
  const curvature = weights.map((_, row) =>
    weights.map((__, column) => (row === column ? (row === 0 ? CURVATURE_MIN : penalty) : 0)),
  )
  for (const [at, row] of rows.entries()) {
    const predicted = logistic(product(row, weights))
    const variance = predicted * (1 - predicted)
    const error = predicted - (labels[at] ?? 0)
    for (let i = 0; i < row.length; i++) {
      const value = row[i] ?? 0
      gradient[i] = (gradient[i] ?? 0) + error * value
      const line = curvature[i] ?? []
      for (let j = 0; j <= i; j++) line[j] = (line[j] ?? 0) + variance * value * (row[j] ?? 0)
    }
  }
  return { gradient, curvature }
}

function product(row: Float64Array, weights: readonly number[]): number {
  let sum = 0
  for (let at = 0; at < row.length; at++) sum += (weights[at] ?? 0) * (row[at] ?? 0)
  return sum
}

/** Solves A x = b by Cholesky decomposition; only the lower half of the positive definite A is read. */
function solveSymmetric(a: readonly (readonly number[])[], b: readonly number[]): number[] {
  const lower: number[][] = []
  const forward: number[] = []
  for (const [i, line] of a.entries()) {
    const own: number[] = []
    for (let j = 0; j <= i; j++) {
      const other = j === i ? own : (lower[j] ?? [])
      let rest = line[j] ?? 0
      for (let k = 0; k < j; k++) rest -= (own[k] ?? 0) * (other[k] ?? 0)
      own.push(j === i ? Math.sqrt(Math.max(rest, CURVATURE_MIN)) : rest / (other[j] ?? 1))
    }
    lower.push(own)
    let rest = b[i] ?? 0
    for (let k = 0; k < i; k++) rest -= (own[k] ?? 0) * (forward[k] ?? 0)
    forward.push(rest / (own[i] ?? 1))
  }
  const solution = forward.slice()
  for (let i = solution.length - 1; i >= 0; i--) {
    let rest = solution[i] ?? 0
    for (let k = i + 1; k < solution.length; k++) rest -= (lower[k]?.[i] ?? 0) * (solution[k] ?? 0)
    solution[i] = rest / (lower[i]?.[i] ?? 1)
  }
  return solution
}
