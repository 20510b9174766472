import { createHash, randomInt } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import type { EngineDescription, UnsignedArtifact } from '#core/index/engine/description.ts'
import { openRowFile, type RowFile } from '#core/index/vectors/row-file.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { ENGINE_BOUNDS } from './bounds.ts'
import { EngineError, type EngineClient, shardsSchema, assertWhole } from './client.ts'
import { exactQuery } from './query.ts'

const statsSchema = z.object({
  _shards: shardsSchema.omit({ skipped: true }),
  indices: z.record(
    z.string(),
    z.object({
      uuid: z.string(),
      primaries: z.object({ docs: z.object({ count: z.int(), deleted: z.int() }) }),
      shards: z.record(
        z.string(),
        z.array(
          z.object({
            routing: z.object({ primary: z.boolean() }),
            seq_no: z.object({ max_seq_no: z.int() }),
            segments: z.object({ count: z.int() }).optional(),
          }),
        ),
      ),
    }),
  ),
})

/** @throws EngineError `missing`: there is no such index. `unavailable`: a primary shard did not answer. */
export async function lookAt(client: EngineClient, index: string, shards: number) {
  const path = `/${index}/_stats/docs,segments`
  const reply = await client.request({ method: 'GET', path, query: { level: 'shards' } }, statsSchema)
  const stats = reply.indices[index]
  const primaries = Object.values(stats?.shards ?? {}).flatMap((copies) =>
    copies.filter(({ routing }) => routing.primary),
  )
  if (stats === undefined || primaries.length !== shards)
    throw new EngineError('unavailable', `Not every primary shard of the index ${index} answers.`)
  return {
    uuid: stats.uuid,
    count: stats.primaries.docs.count,
    /** See `engineSchema`. */
    operations: primaries.reduce((sum, { seq_no }) => sum + seq_no.max_seq_no + 1, 0),
    /** Segments of the shard that has most; 0: none. */
    segmentsMax: Math.max(...primaries.map(({ segments }) => segments?.count ?? 0)),
  }
}

/**
 * Returns the first difference between an index and what the manifest says of it as one sentence; undefined: none.
 * @throws EngineError `unavailable` if the cluster does not tell.
 */
export async function lookFault(client: EngineClient, described: EngineDescription): Promise<string | undefined> {
  const { index, uuid, shards, count, operations } = described
  const build = 'build the version again.'
  try {
    const found = await lookAt(client, index, shards)
    if (found.uuid !== uuid) return `The index ${index} was replaced by another one: ${build}`
    if (found.operations !== operations) return `The index ${index} was written to after the build: ${build}`
    if (found.count !== count) return `The index ${index} holds ${found.count} passages instead of ${count}: ${build}`
    return undefined
  } catch (error) {
    if (error instanceof EngineError && error.fault === 'missing') return `The index ${index} is missing: ${build}`
    throw error
  }
}

const sourceSchema = z.looseObject({ row: z.int().nonnegative() })

const pageSchema = z.object({
  timed_out: z.boolean(),
  _shards: shardsSchema,
  hits: z.object({ hits: z.array(z.object({ _score: z.number().nullable(), _source: sourceSchema })) }),
})

/** Of the artifact whose vectors those of its index must equal. Dimensions of undefined: a version without vectors. */
type SignedFolder = Pick<UnsignedArtifact, 'folder' | 'dimensions'>

export interface ReadOptions {
  /** Waits after each page; a check of an index in use gives way to searches. */
  readonly pauseMs?: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Reads every document of an index in the order of rows. The index does not give vectors back, so it is asked for
 * their inner products with a random vector: equal products are equal vectors, but for rounding. @throws EngineError
 * @returns the `digest` of `createDocumentsDigest`, and a row whose vector is not that of the artifact.
 */
export async function readIndex(
  client: EngineClient,
  described: Pick<EngineDescription, 'index' | 'shards' | 'count'>,
  { folder, dimensions }: SignedFolder,
  options: ReadOptions = {},
) {
  const digest = createDocumentsDigest()
  const probe = dimensions === undefined ? undefined : randomUnit(dimensions)
  const signed = dimensions === undefined ? undefined : openRowFile(join(folder, 'vectors.f32'), dimensions)
  let alteredRow: number | undefined
  using ending = new DisposableStack()
  ending.defer(() => signed?.close())
  for await (const hits of pagesOf(client, described, probe, options)) {
    for (const { _source: source } of hits) digest.add(source)
    if (signed !== undefined && probe !== undefined) alteredRow ??= alteredIn(hits, signed, probe)
  }
  return { digest: digest.hex(), alteredRow }
}

/** The cluster reads a page while the one before it is compared. */
async function* pagesOf(
  client: EngineClient,
  { index, shards, count }: Pick<EngineDescription, 'index' | 'shards' | 'count'>,
  probe: Float32Array | undefined,
  { pauseMs = 0, signal }: ReadOptions,
): AsyncGenerator<readonly Hit[]> {
  const pageAt = async (from: number): Promise<readonly Hit[]> => {
    const query = { allow_partial_search_results: false }
    const body = pageBody(from, Math.min(count, from + ENGINE_BOUNDS.pageRows), probe)
    const page = await client.request({ method: 'POST', path: `/${index}/_search`, query, body }, pageSchema)
    assertWhole(page, shards)
    return page.hits.hits
  }
  let next = pageAt(0)
  for (let from = 0; from < count; from += ENGINE_BOUNDS.pageRows) {
    signal?.throwIfAborted()
    const hits = await next
    const following = from + ENGINE_BOUNDS.pageRows
    if (following < count) {
      if (pauseMs > 0) await wait(pauseMs, undefined, signal === undefined ? {} : { signal })
      next = pageAt(following)
      next.catch(() => undefined)
    }
    yield hits
  }
}

type Hit = z.infer<typeof pageSchema>['hits']['hits'][number]

function pageBody(from: number, to: number, probe: Float32Array | undefined): object {
  const page = { range: { row: { gte: from, lt: to } } }
  return {
    size: ENGINE_BOUNDS.pageRows,
    sort: [{ row: 'asc' }],
    track_scores: true,
    query: probe === undefined ? page : exactQuery(page, probe),
  }
}

/** Sums of single precision differ by less. */
const ROUNDING = 1e-5

function alteredIn(hits: readonly Hit[], signed: RowFile, probe: Float32Array): number | undefined {
  const rows = Uint32Array.from(hits, ({ _source: { row } }) => row)
  const cosines = signed.cosines(rows, probe)
  const at = hits.findIndex(({ _score }, number) => {
    const score = _score ?? Infinity
    // The k-NN plugin makes a positive score of an inner product.
    const product = score >= 1 ? score - 1 : 1 - 1 / score
    return !(Math.abs(product - (cosines[number] ?? 0)) <= ROUNDING)
  })
  return at === -1 ? undefined : rows[at]
}

function randomUnit(dimensions: number): Float32Array {
  const values = Float32Array.from({ length: dimensions }, () => randomInt(-1_000_000, 1_000_001))
  const length = Math.hypot(...values)
  return values.map((value) => value / length)
}

/** SHA-256 over the canonical JSON of each document. */
export function createDocumentsDigest() {
  const hash = createHash('sha256')
  return { add: (source: object) => void hash.update(`${canonicalJson(source)}\n`), hex: () => hash.digest('hex') }
}

/**
 * Reads the whole index, and compares its vectors with those of the signed artifact. @returns as `lookFault` does.
 * @throws EngineError `unavailable` if the cluster does not give every document.
 */
export async function contentFault(
  client: EngineClient,
  described: EngineDescription,
  signed: SignedFolder,
  options: ReadOptions = {},
): Promise<string | undefined> {
  const fault = await lookFault(client, described)
  if (fault !== undefined) return fault
  const { digest, alteredRow } = await readIndex(client, described, signed, options)
  const build = 'build the version again.'
  if (digest !== described.digest)
    return `The documents of the index ${described.index} are not those of the build: ${build}`
  return alteredRow === undefined
    ? undefined
    : `The vector of row ${alteredRow} in the index ${described.index} is not that of the build: ${build}`
}
