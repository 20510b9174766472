import { innerProductAt } from '#core/index/vectors/inner-product.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { EMBEDDING_BOUNDS } from './bounds.ts'
import { EmbeddingError, type Embedder } from './embedder.ts'

/** Texts whose vectors a version keeps: an endpoint may serve another model under the same name. */
export const PROBES = [
  'Within how many days must a breach be reported?',
  'Die Aufsichtsbehörde kann die Erlaubnis widerrufen.',
  'Le responsable du traitement',
] as const

/** Of the largest value of a vector in a signed byte. */
const LARGEST_BYTE = 127

/** Returns the space with the vectors that the embedder gives the probes as queries, one signed byte a dimension. */
export async function withProbes(embedder: Embedder, signal: AbortSignal): Promise<EmbeddingSpace> {
  const { vectors } = await embedder.embed(PROBES, 'query', signal)
  return { ...embedder.space, probes: vectors.map(inBytes) }
}

function inBytes(vector: Float32Array): string {
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  return Buffer.from(Int8Array.from(vector, (value) => Math.round((value / largest) * LARGEST_BYTE)).buffer).toString(
    'base64',
  )
}

/**
 * Compares the vectors that an endpoint gives the probes with those of the version.
 * @throws EmbeddingError where they are of another model: its vectors would compare with no passage of the version.
 */
export function assertProbes({ model, probes = [] }: EmbeddingSpace, vectors: readonly Float32Array[]): void {
  const isSame = probes.every((probe, at) => {
    const bytes = new Int8Array(Uint8Array.from(Buffer.from(probe, 'base64')).buffer)
    return cosine(bytes, vectors[at] ?? new Float32Array()) >= EMBEDDING_BOUNDS.probeCosineMin
  })
  if (isSame) return
  throw new EmbeddingError(
    `the endpoint serves another ${model} than the version was built with: it gives other vectors for the same texts`,
    { permanent: true },
  )
}

/** Of vectors of any length; NaN, which is no cosine of the same model, where their numbers of dimensions differ. */
function cosine(a: Int8Array, b: Float32Array): number {
  if (a.length !== b.length) return Number.NaN
  return innerProductAt(a, 0, b) / Math.sqrt(innerProductAt(a, 0, a) * innerProductAt(b, 0, b))
}
