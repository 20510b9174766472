/**
 * Returns vectors as int8, each scaled so that its largest component is ±127. The cosine of two of them is the cosine
 * of the originals up to rounding, at any scale.
 * @param vectors concatenated, finite, none of length 0.
 */
export function quantize(vectors: Float32Array, dimensions: number): Int8Array<ArrayBuffer> {
  const quantized = new Int8Array(vectors.length)
  for (let at = 0; at < vectors.length; at += dimensions) {
    let largest = 0
    for (let d = at; d < at + dimensions; d++) largest = Math.max(largest, Math.abs(vectors[d] ?? 0))
    const scale = 127 / largest
    for (let d = at; d < at + dimensions; d++) quantized[d] = Math.round((vectors[d] ?? 0) * scale)
  }
  return quantized
}

/**
 * Returns all vectors as int8 in one scale, so that inner products with them are comparable.
 * @returns `scale`: the factor of every component.
 */
export function quantizeTogether(vectors: Float64Array | Float32Array): {
  readonly quantized: Int8Array<ArrayBuffer>
  readonly scale: number
} {
  let largest = 0
  for (const value of vectors) largest = Math.max(largest, Math.abs(value))
  const scale = largest === 0 ? 1 : 127 / largest
  const quantized = new Int8Array(vectors.length)
  for (const [at, value] of vectors.entries()) quantized[at] = Math.round(value * scale)
  return { quantized, scale }
}
