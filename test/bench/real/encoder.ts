import { join } from 'node:path'
import { sha256 } from '#core/platform/digest.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { openVectorCache, type VectorCache } from '#core/db/vector-cache/cache.ts'
import { startOwnEncoder } from '#operator/command-line/own-encoder.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { embedded } from '../embeddings.ts'
import { MODEL_FOLDER } from './texts.ts'

export const REAL_DIMENSIONS = 384
const TEXTS_AT_ONCE = 32

/** The vectors of earlier runs; a text is encoded once. */
function withRealCache<T>(dataDir: string, use: (cache: VectorCache) => T): T {
  const cache = openVectorCache(join(dataDir, 'real-vectors.db'), {
    space: 'multilingual-e5-small',
    dimensions: REAL_DIMENSIONS,
    bytesMax: DATABASE_BOUNDS.vectorCacheBytesMax,
    onFault: (error) => {
      throw error
    },
  })
  using ending = new DisposableStack()
  ending.defer(() => cache.close())
  return use(cache)
}

/** @param texts with the prefix of their role. @returns those of the texts that are in the cache, in order. */
export function cachedVectors(dataDir: string, texts: readonly string[]): readonly Float32Array<ArrayBuffer>[] {
  return withRealCache(dataDir, (cache) =>
    texts.flatMap((text) => {
      const digest = sha256(text)
      return cache.read([digest]).get(digest.toString('hex'))?.vector ?? []
    }),
  )
}

/** Encodes the texts that the cache lacks. */
export async function encodeMissing(dataDir: string, texts: readonly string[], steps: Steps): Promise<void> {
  const missing = withRealCache(dataDir, (cache) =>
    [...new Set(texts)].filter((text) => cache.read([sha256(text)]).size === 0),
  )
  if (missing.length === 0) return
  const { baseUrl, model, stop } = await startOwnEncoder({ model: MODEL_FOLDER })
  steps.onStop(stop)
  for (let first = 0; first < missing.length; first += TEXTS_AT_ONCE) {
    const some = missing.slice(first, first + TEXTS_AT_ONCE)
    const { vectors } = await embedded(baseUrl, model, some)
    const rows = some.flatMap((text, at) => {
      const vector = vectors[at]
      return vector === undefined ? [] : [{ digest: sha256(text), vector, overlong: false }]
    })
    withRealCache(dataDir, (cache) => cache.write(rows))
    if ((first / TEXTS_AT_ONCE) % 20 === 0) steps.note(`${first} of ${missing.length} texts are encoded`)
  }
  await stop()
}
