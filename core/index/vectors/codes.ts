import { innerProductAt } from './inner-product.ts'
import { COMMON_STEPS, COMPONENT_STEPS, HEADER_NUMBERS, planesLayout } from './layout.ts'
import type { CodesLayout } from './layout.ts'

/** How the vectors of one version are coded; see `codesLayout`. */
export interface CodeSpace {
  readonly step: number
  /** Step 0 of the component along the mean, and its step. */
  readonly commonBase: number
  readonly commonStep: number
  /** Standard deviation of the error of a cosine, for a query whose part across the mean has unit length. */
  readonly error: number
  readonly mean: Float64Array
}

/** The header of `vectors.i4`. */
export function encodeHeader({ step, commonBase, commonStep, error, mean }: CodeSpace): Uint8Array {
  return new Uint8Array(Float64Array.of(step, commonBase, commonStep, error, ...mean).buffer)
}

/** @throws Error if a number of the header is not usable. */
export function decodeHeader(bytes: Uint8Array, dimensions: number): CodeSpace {
  const numbers = new Float64Array(new Uint8Array(bytes.subarray(0, (HEADER_NUMBERS + dimensions) * 8)).buffer)
  const [step = 0, commonBase = 0, commonStep = 0, error = 0] = numbers
  if (!numbers.every(Number.isFinite) || step <= 0 || commonStep <= 0 || error < 0)
    throw new Error('the header of vectors.i4 holds a number that no build writes')
  return { step, commonBase, commonStep, error, mean: numbers.slice(HEADER_NUMBERS) }
}

/** The direction of the mean; zeros if the mean is zero. */
function directionOf(mean: Float64Array): Float64Array {
  const length = lengthOf(mean)
  return mean.map((value) => (length === 0 ? 0 : value / length))
}

function lengthOf(vector: Float64Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
}

/**
 * Returns a function that codes the concatenated vectors of some rows. It returns the planes of these rows; see
 * `planesLayout`.
 */
export function createEncoder(space: CodeSpace): (vectors: Float32Array) => Uint8Array<ArrayBuffer> {
  const { step, commonBase, commonStep, mean } = space
  const direction = directionOf(space.mean)
  const dimensions = mean.length
  return (vectors) => {
    const rows = vectors.length / dimensions
    const { high, low, bytes } = planesLayout(rows, dimensions)
    const codes = new Uint8Array(bytes)
    for (let row = 0; row < rows; row++) {
      const [highAt, lowAt] = [row * high.rowBytes, low.offset + row * low.rowBytes]
      let common = 0
      for (let d = 0; d < dimensions; d++) {
        const value = vectors[row * dimensions + d] ?? 0
        common += value * (direction[d] ?? 0)
        const steps = Math.floor((value - (mean[d] ?? 0)) / step) + COMPONENT_STEPS / 2
        const code = Math.max(0, Math.min(COMPONENT_STEPS - 1, steps))
        put(codes, highAt, d, code >>> 2)
        put(codes, lowAt, d, code & 3)
      }
      const steps = Math.max(0, Math.min(COMMON_STEPS, Math.round((common - commonBase) / commonStep)))
      codes[highAt + low.rowBytes] = steps & 255
      codes[highAt + low.rowBytes + 1] = steps >>> 8
    }
    return codes
  }
}

function put(codes: Uint8Array, rowAt: number, component: number, bits: number): void {
  const byte = rowAt + byteOf(component)
  codes[byte] = (codes[byte] ?? 0) | (bits << lowestBitOf(component))
}

/** The byte that holds bits of a component, from the beginning of its row. */
function byteOf(component: number): number {
  return (component >>> 6) * 16 + (component & 15)
}

function lowestBitOf(component: number): number {
  return (component >>> 3) & 6
}

/** A query in the form that the kernel needs. */
export interface CodedQuery {
  /** One byte for each component of all blocks, and that of the component along the mean. */
  readonly bytes: Int8Array<ArrayBuffer>
  /** What the low bits of a code add to a score at most; more of them counts as this. */
  readonly lowMost: number
  /** A score is about this number times the difference of the cosines with a row and with the mean, plus the offset. */
  readonly scorePerCosine: number
  readonly offset: number
  /** Standard deviation of the error of a score. */
  readonly error: number
}

/** The low bits of a component are 0, 1, 2 or 3 about equally often; see decision 0035 for what the limit loses. */
const LOW_MEAN = 1.5
const LOW_DEVIATION = Math.sqrt(1.25)
const LOW_DEVIATIONS = 2.5

/**
 * Returns a function that codes a query of unit length. It loops over positions, because callbacks create an object for
 * each value.
 */
export function createQueryCoder(space: CodeSpace): (query: Float32Array) => CodedQuery {
  const { step, commonBase, commonStep, mean } = space
  const direction = directionOf(space.mean)
  const meanLength = lengthOf(mean)
  const length = planesLayout(0, mean.length).low.rowBytes * 4 + 1
  const across = new Float64Array(direction.length)
  return (query) => {
    let along = 0
    for (let d = 0; d < across.length; d++) along += (direction[d] ?? 0) * (query[d] ?? 0)
    const common = (along * commonStep) / step
    let largest = Math.abs(common)
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
    let byteSquares = 0
    for (let d = 0; d < across.length; d++) {
      const value = Math.round((across[d] ?? 0) * scale)
      bytes[d] = value
      sum += value
      byteSquares += value * value
    }
    bytes[length - 1] = Math.round(common * scale)
    return {
      bytes,
      lowMost: Math.ceil(sum * LOW_MEAN + Math.sqrt(byteSquares) * LOW_DEVIATION * LOW_DEVIATIONS),
      scorePerCosine: scale / step,
      offset: sum * ((COMPONENT_STEPS - 1) / 2) + (along * (meanLength - commonBase) * scale) / step,
      error: (space.error * Math.sqrt(squares) * scale) / step,
    }
  }
}

/** The score of one code without the kernel: its definition. */
export function scoreOfCode(
  { bytes, lowMost }: Pick<CodedQuery, 'bytes' | 'lowMost'>,
  codes: Uint8Array,
  { high, low }: Pick<CodesLayout, 'high' | 'low'>,
  row: number,
): number {
  const [highAt, lowAt] = [high.offset + row * high.rowBytes, low.offset + row * low.rowBytes]
  const common = (codes[highAt + low.rowBytes] ?? 0) + 256 * (codes[highAt + low.rowBytes + 1] ?? 0)
  let ofHigh = common * (bytes[bytes.length - 1] ?? 0)
  let ofLow = 0
  for (let at = 0; at < bytes.length - 1; at++) {
    const [byte, bit] = [byteOf(at), lowestBitOf(at)]
    ofHigh += (bytes[at] ?? 0) * (((codes[highAt + byte] ?? 0) >>> bit) & 3) * 4
    ofLow += (bytes[at] ?? 0) * (((codes[lowAt + byte] ?? 0) >>> bit) & 3)
  }
  return ofHigh + Math.min(ofLow, lowMost)
}

/** Steps that are tried, in standard deviations of a component. Rare words make components far larger than most. */
const STEPS_TRIED = [0.3, 0.36, 0.45, 0.6, 0.8, 1.2] as const
/** Rows of the sample that are compared with all of it. */
const COMPARED = 16
/** The step of vectors that are all equal. */
const STEP_MIN = 1e-6

/**
 * Chooses how the vectors of a version are coded.
 * @param mean of all vectors. @param deviation mean standard deviation of their components. @param sample of them.
 */
export function fitCodes(mean: Float64Array, deviation: number, sample: readonly Float32Array[]): CodeSpace {
  const direction = directionOf(mean)
  const commons = sample.map((vector) => direction.reduce((sum, value, d) => sum + value * (vector[d] ?? 0), 0))
  const least = commons.reduce((a, b) => Math.min(a, b), Infinity)
  const most = commons.reduce((a, b) => Math.max(a, b), -Infinity)
  const beyond = Math.max(STEP_MIN, (most - least) / 4)
  const commonBase = least - beyond
  const commonStep = (most + beyond - commonBase) / COMMON_STEPS
  const fitted = STEPS_TRIED.map((tried) => {
    const space = { step: Math.max(STEP_MIN, tried * deviation), commonBase, commonStep, error: 0, mean }
    return { ...space, error: errorOf(space, sample) }
  })
  return fitted.reduce((best, space) => (space.error < best.error ? space : best))
}

/** Measures the error of cosines between rows of the sample, without a limit of what low bits add. */
function errorOf(space: CodeSpace, sample: readonly Float32Array[]): number {
  const planes = planesLayout(1, space.mean.length)
  const encode = createEncoder(space)
  const codes = sample.map((vector) => encode(vector))
  const codeQuery = createQueryCoder({ ...space, error: 1 })
  const every = Math.max(1, Math.floor(sample.length / COMPARED))
  let [squares, count] = [0, 0]
  for (let at = 0; at < sample.length; at += every) {
    const query = sample[at] ?? new Float32Array()
    const coded = { ...codeQuery(query), lowMost: Infinity }
    const errors = codes.map(
      (code, row) =>
        scoreOfCode(coded, code, planes, 0) / coded.scorePerCosine - innerProductAt(sample[row] ?? query, 0, query),
    )
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length
    const length = coded.error / coded.scorePerCosine
    for (const error of errors) squares += length === 0 ? 0 : ((error - mean) / length) ** 2
    count += errors.length
  }
  return count === 0 ? 0 : Math.sqrt(squares / count)
}
