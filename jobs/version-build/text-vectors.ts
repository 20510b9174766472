import { openVectorCache, type CachedVector, type VectorCache } from '#core/db/vector-cache/cache.ts'
import { EmbeddingError, spaceKey, type Embedder, type Embeddings } from '#core/embedding/embedder.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { sha256 } from '#core/platform/digest.ts'
import { batchesOf } from './row-files.ts'

/** How a build uses a remote provider, and where it keeps the vectors for the next build. */
export interface VectorSettings {
  /** Batches that the provider has at once. */
  readonly concurrency: number
  /** Texts of one batch, which is one request unless the provider refuses so many. */
  readonly batchTexts: number
  /** Undefined: vectors are kept for later runs of the same build only. */
  readonly cache: { readonly path: string; readonly bytesMax: number } | undefined
}

export const VECTORS_OF_ONE_BUILD: VectorSettings = {
  concurrency: EMBEDDING_BOUNDS.embedConcurrencyDefault,
  batchTexts: EMBEDDING_BOUNDS.embedRequestTextsDefault,
  cache: undefined,
}

/** Vectors of passages, from the provider or from an earlier time. */
export type TextVectors = ReturnType<typeof createRemoteVectors>

/** @param done passages of the call that have a vector. */
type OnProgress = (step: { readonly done: number; readonly sent: number; readonly tokens: number }) => void

export interface TextVectorsOptions extends VectorSettings {
  readonly embedder: Embedder
  /** File of the build, for what is not kept beyond it. */
  readonly buildFile: string
  readonly signal: AbortSignal
  readonly warn: (sentence: string, cause?: unknown) => void
}

/** Returns the text that is embedded for a passage: title and headings, then its own text. */
function embeddedText({ heading, text }: PassageRecord): string {
  return heading === '' ? text : `${heading}\n${text}`
}

type PassageText = ReturnType<typeof passageTextOf>

function passageTextOf(passage: PassageRecord) {
  const text = embeddedText(passage)
  const digest = sha256(text)
  return { passage, text, digest, key: digest.toString('hex') }
}

/** Opens the vectors of one embedding space. @throws EmbeddingError when the provider fails. */
export async function openTextVectors(options: TextVectorsOptions) {
  const { embedder, cache, buildFile, warn } = options
  const kept = openVectorCache(cache?.path ?? buildFile, {
    space: spaceKey(embedder.space),
    dimensions: embedder.space.dimensions,
    bytesMax: cache?.bytesMax ?? Number.POSITIVE_INFINITY,
    onFault: (cause) => warn('the vector cache cannot be used for the moment', cause),
  })
  try {
    return createRemoteVectors(kept, await probeModel(kept, options), options)
  } catch (error) {
    kept.close()
    throw error
  }
}

function createRemoteVectors(kept: VectorCache, probe: Float32Array<ArrayBuffer>, options: TextVectorsOptions) {
  const { embedder, concurrency, batchTexts, signal } = options
  return {
    /** Tells models of one name apart. */
    probe,
    /** @throws EmbeddingError when the provider serves another model than at first; what it sent is not kept then. */
    async assertUnchanged() {
      if (sameModel(probe, await embedProbe(options))) return
      kept.clear()
      throw new EmbeddingError(`the endpoint began to give other vectors for ${embedder.space.model} during the build`)
    },
    /**
     * @returns `vectors`: one a passage, in order. `overlong`: passages that are probably longer than the model's limit.
     */
    async of(passages: readonly PassageRecord[], onProgress: OnProgress) {
      const texts = passages.map(passageTextOf)
      const found = new Map(kept.read(texts.map(({ digest }) => digest)))
      const missing = [...new Map(texts.filter(({ key }) => !found.has(key)).map((each) => [each.key, each])).values()]
      let done = passages.length - missing.length
      onProgress({ done, sent: 0, tokens: 0 })
      await forEachConcurrently(
        batchesOf(missing, batchTexts),
        concurrency,
        async (batch, _index, either) => {
          const embedded = await embedBatch(embedder, batch, either)
          const entries = batch.map(({ digest }, at) => ({ digest, ...vectorAt(embedded, at, batch) }))
          for (const entry of entries) found.set(entry.digest.toString('hex'), entry)
          kept.write(entries)
          done += batch.length
          onProgress({ done, sent: batch.length, tokens: embedded.tokens ?? 0 })
        },
        signal,
      )
      const all = texts.map(({ key }) => heldIn(found, key))
      return { vectors: all.map(({ vector }) => vector), overlong: all.filter(({ overlong }) => overlong).length }
    },
    close: () => kept.close(),
  }
}

async function embedBatch(embedder: Embedder, batch: readonly PassageText[], signal: AbortSignal): Promise<Embeddings> {
  const texts = batch.map(({ text }) => text)
  return await embedder.embed(texts, 'passage', signal).catch((error: unknown) => {
    throw passageFault(error, batch)
  })
}

/** The provider reports how many texts of a request were too long; the longest ones are taken for them. */
function vectorAt({ vectors, overlong }: Embeddings, at: number, batch: readonly PassageText[]): CachedVector {
  const vector = vectors[at]
  if (vector === undefined) throw new TypeError('the embedder returned fewer vectors than texts')
  const bytes = batch.map(({ text }) => Buffer.byteLength(text))
  const longer = bytes.filter((each) => each > (bytes[at] ?? 0)).length
  return { vector, overlong: longer < overlong }
}

function heldIn(found: ReadonlyMap<string, CachedVector>, key: string): CachedVector {
  const held = found.get(key)
  if (held === undefined) throw new TypeError('a passage has no vector')
  return held
}

/** A text whose vector tells whether the endpoint still serves the model of the vectors that are kept. */
const PROBE = 'same model?'

/**
 * An endpoint may serve another model under the same name; vectors of both in one index would not compare.
 * @returns the vector of the probe. The vectors that are kept are of its model.
 */
async function probeModel(kept: VectorCache, options: TextVectorsOptions): Promise<Float32Array<ArrayBuffer>> {
  const { model } = options.embedder.space
  const digest = sha256(PROBE)
  const vector = await embedProbe(options)
  // Read last: another build may have begun to keep vectors meanwhile.
  const before = kept.read([digest]).get(digest.toString('hex'))
  if (before !== undefined && sameModel(before.vector, vector)) return vector
  if (before !== undefined)
    options.warn(`the endpoint gives other vectors for ${model} than before, so every passage is sent again`)
  kept.clear()
  kept.write([{ digest, vector, overlong: false }])
  return vector
}

async function embedProbe({ embedder, signal }: TextVectorsOptions): Promise<Float32Array<ArrayBuffer>> {
  const [vector] = (await embedder.embed([PROBE], 'passage', signal)).vectors
  if (vector === undefined) throw new TypeError('the embedder returned fewer vectors than texts')
  return vector
}

/** Whether two vectors of one text are of one model, whose replies may differ by rounding. */
export function sameModel(a: Float32Array, b: Float32Array): boolean {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0) >= BUILD_BOUNDS.sameModelCosineMin
}

/** Characters of a title or id that a message holds. */
const NAMED_CHARACTERS = 120

interface Sent {
  readonly passage: Pick<PassageRecord, 'source_id' | 'document'>
}

/** Returns the error of an embedder with the names of the passages that it is about, never with their text. */
function passageFault(error: unknown, batch: readonly Sent[]): unknown {
  if (!(error instanceof EmbeddingError)) return error
  const { first, count } = error.texts ?? { first: 0, count: batch.length }
  const [from, to] = [batch[first], batch[first + count - 1]]
  if (from === undefined || to === undefined) return error
  const which =
    count === 1 ? `passage ${nameOf(from)}` : `one of ${count} passages, from ${nameOf(from)} to ${nameOf(to)},`
  return new EmbeddingError(`${which} could not be embedded: ${error.message}`, { permanent: error.permanent })
}

function nameOf({ passage: { source_id: id, document } }: Sent): string {
  return `${shortened(id)} of "${shortened(document.title)}"`
}

function shortened(text: string): string {
  return text.length <= NAMED_CHARACTERS ? text : `${text.slice(0, NAMED_CHARACTERS)}…`
}
