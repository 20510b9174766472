import { innerProductAt } from './inner-product.ts'
import { COMPONENT_STEPS, HEADER_NUMBERS, MEAN_STEPS, paddedComponents, rowsLayout } from './layout.ts'

/**
 * A scalar quantizer: four bits for each component less the mean, with one step for all components. Every query lies
 * along the mean, so the component along it makes most of the error; it has a finer step of its own.
 */
export interface ScalarQuantizer {
  readonly step: number
  /** Value of step 0 along the mean, and the step along it. */
  readonly alongBase: number
  readonly alongStep: number
  /** Standard deviation of the error of a cosine, for a query whose part across the mean has unit length. */
  readonly error: number
  readonly mean: Float64Array
}

/** The header of `vectors.sq4`. */
export function encodeHeader({ step, alongBase, alongStep, error, mean }: ScalarQuantizer): Uint8Array {
  return new Uint8Array(Float64Array.of(step, alongBase, alongStep, error, ...mean).buffer)
}

/** @throws Error if a number of the header is not usable. */
export function decodeHeader(bytes: Uint8Array, dimensions: number): ScalarQuantizer {
  const numbers = new Float64Array(new Uint8Array(bytes.subarray(0, (HEADER_NUMBERS + dimensions) * 8)).buffer)
  const [step = 0, alongBase = 0, alongStep = 0, error = 0] = numbers
  if (!numbers.every(Number.isFinite) || step <= 0 || alongStep <= 0 || error < 0)
    throw new Error('the header of vectors.sq4 holds a number that no build writes')
  return { step, alongBase, alongStep, error, mean: numbers.slice(HEADER_NUMBERS) }
}

/** The direction of the mean; zeros if the mean is zero. */
function directionOf(mean: Float64Array): Float64Array {
  const length = lengthOf(mean)
  return mean.map((value) => (length === 0 ? 0 : value / length))
}

function lengthOf(vector: Float64Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
}

/** Returns a function that quantizes the concatenated vectors of some rows; see `rowsLayout`. */
export function createEncoder(quantizer: ScalarQuantizer): (vectors: Float32Array) => Uint8Array<ArrayBuffer> {
  const { step, alongBase, alongStep, mean } = quantizer
  const direction = directionOf(mean)
  const dimensions = mean.length
  return (vectors) => {
    const rows = vectors.length / dimensions
    const { rowBytes, bytes } = rowsLayout(rows, dimensions)
    const sq4 = new Uint8Array(bytes)
    for (let row = 0; row < rows; row++) {
      const at = row * rowBytes
      let along = 0
      for (let d = 0; d < dimensions; d++) {
        const value = vectors[row * dimensions + d] ?? 0
        along += value * (direction[d] ?? 0)
        const steps = Math.floor((value - (mean[d] ?? 0)) / step) + COMPONENT_STEPS / 2
        const byte = at + byteOf(d)
        sq4[byte] = (sq4[byte] ?? 0) | (clamped(steps, COMPONENT_STEPS - 1) << lowestBitOf(d))
      }
      const steps = clamped(Math.round((along - alongBase) / alongStep), MEAN_STEPS)
      sq4[at + rowBytes - 2] = steps & 255
      sq4[at + rowBytes - 1] = steps >>> 8
    }
    return sq4
  }
}

function clamped(value: number, most: number): number {
  return Math.max(0, Math.min(most, value))
}

/** The byte of an SQ4 vector that holds a component. */
function byteOf(component: number): number {
  return (component >>> 6) * 32 + (component & 31)
}

function lowestBitOf(component: number): number {
  return (component >>> 3) & 4
}

/** A query in the form that the kernel needs. */
export interface QuantizedQuery {
  /** One byte for each component of all blocks, and that of the component along the mean. */
  readonly bytes: Int8Array<ArrayBuffer>
  /** A score is about this number times the difference of the cosines with a row and with the mean, plus the offset. */
  readonly scorePerCosine: number
  readonly offset: number
  /** Standard deviation of the error of a score. */
  readonly error: number
}

/**
 * Returns a function that quantizes a query of unit length. It loops over positions, because callbacks create an object
 * for each value.
 */
export function createQueryQuantizer(quantizer: ScalarQuantizer): (query: Float32Array) => QuantizedQuery {
  const { step, alongBase, alongStep, mean } = quantizer
  const direction = directionOf(mean)
  const meanLength = lengthOf(mean)
  const length = paddedComponents(mean.length) + 1
  const across = new Float64Array(direction.length)
  return (query) => {
    let along = 0
    for (let d = 0; d < across.length; d++) along += (direction[d] ?? 0) * (query[d] ?? 0)
    const alongSteps = (along * alongStep) / step
    let largest = Math.abs(alongSteps)
    let squares = 0
    for (let d = 0; d < across.length; d++) {
      const value = (query[d] ?? 0) - along * (direction[d] ?? 0)
      across[d] = value
      squares += value * value
      largest = Math.max(largest, Math.abs(value))
    }
    const scale = largest === 0 ? 1 : 127 / largest
    const bytes = new Int8Array(length)
    let sum = 0
    for (let d = 0; d < across.length; d++) {
      const value = Math.round((across[d] ?? 0) * scale)
      bytes[d] = value
      sum += value
    }
    bytes[length - 1] = Math.round(alongSteps * scale)
    return {
      bytes,
      scorePerCosine: scale / step,
      offset: sum * ((COMPONENT_STEPS - 1) / 2) + (along * (meanLength - alongBase) * scale) / step,
      error: (quantizer.error * Math.sqrt(squares) * scale) / step,
    }
  }
}

/** The score of the SQ4 vector that begins at `at`, without the kernel: its definition. */
export function sq4Score({ bytes }: Pick<QuantizedQuery, 'bytes'>, sq4: Uint8Array, at: number): number {
  const components = bytes.length - 1
  const end = at + components / 2
  let score = (bytes[components] ?? 0) * ((sq4[end] ?? 0) + 256 * (sq4[end + 1] ?? 0))
  for (let d = 0; d < components; d++) score += (bytes[d] ?? 0) * (((sq4[at + byteOf(d)] ?? 0) >>> lowestBitOf(d)) & 15)
  return score
}

/** Steps that are tried, in standard deviations of a component. Rare words make components far larger than most. */
const STEPS_TRIED = [0.3, 0.36, 0.45, 0.6, 0.8, 1.2] as const
/** Rows of the sample that are compared with all of it. */
const COMPARED = 16
/** The step of vectors that are all equal. */
const STEP_MIN = 1e-6

/**
 * Fits the quantizer of a version.
 * @param mean of all vectors. @param deviation mean standard deviation of their components. @param sample of them.
 */
export function fitQuantizer(mean: Float64Array, deviation: number, sample: readonly Float32Array[]): ScalarQuantizer {
  const direction = directionOf(mean)
  const alongs = sample.map((vector) => direction.reduce((sum, value, d) => sum + value * (vector[d] ?? 0), 0))
  const least = alongs.reduce((a, b) => Math.min(a, b), Infinity)
  const most = alongs.reduce((a, b) => Math.max(a, b), -Infinity)
  const beyond = Math.max(STEP_MIN, (most - least) / 4)
  const alongBase = least - beyond
  const alongStep = (most + beyond - alongBase) / MEAN_STEPS
  const fitted = STEPS_TRIED.map((tried) => {
    const quantizer = { step: Math.max(STEP_MIN, tried * deviation), alongBase, alongStep, error: 0, mean }
    return { ...quantizer, error: errorOf(quantizer, sample) }
  })
  return fitted.reduce((best, quantizer) => (quantizer.error < best.error ? quantizer : best))
}

function errorOf(quantizer: ScalarQuantizer, sample: readonly Float32Array[]): number {
  const encode = createEncoder(quantizer)
  const sq4 = sample.map((vector) => encode(vector))
  const quantizeQuery = createQueryQuantizer({ ...quantizer, error: 1 })
  const every = Math.max(1, Math.floor(sample.length / COMPARED))
  let [squares, count] = [0, 0]
  for (let at = 0; at < sample.length; at += every) {
    const query = sample[at] ?? new Float32Array()
    const quantized = quantizeQuery(query)
    const errors = sq4.map(
      (each, row) =>
        sq4Score(quantized, each, 0) / quantized.scorePerCosine - innerProductAt(sample[row] ?? query, 0, query),
    )
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length
    const length = quantized.error / quantized.scorePerCosine
    for (const error of errors) squares += length === 0 ? 0 : ((error - mean) / length) ** 2
    count += errors.length
  }
  return count === 0 ? 0 : Math.sqrt(squares / count)
}
