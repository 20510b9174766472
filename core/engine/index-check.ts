import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import type { EngineDescription } from '#core/index/engine/description.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { ENGINE_BOUNDS } from './bounds.ts'
import { EngineError } from './client.ts'
import type { EngineClient } from './client.ts'
import { shardsSchema, assertWhole } from './replies.ts'

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

/** What a short request tells of an index. */
export interface IndexLook {
  readonly uuid: string
  readonly count: number
  /** See `engineSchema`. */
  readonly operations: number
  /** Segments of the shard that has most; 0: none. */
  readonly segmentsMax: number
}

/**
 * @throws EngineError `missing`: there is no such index. `unavailable`: a primary shard did not answer.
 */
export async function lookAt(client: EngineClient, index: string, shards: number): Promise<IndexLook> {
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
    operations: primaries.reduce((sum, { seq_no }) => sum + seq_no.max_seq_no + 1, 0),
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

const pageSchema = z.object({
  timed_out: z.boolean(),
  _shards: shardsSchema,
  hits: z.object({ hits: z.array(z.object({ _source: z.record(z.string(), z.unknown()) })) }),
})

export interface DigestOptions {
  /** Waits after each page; a check of an index in use gives way to searches. */
  readonly pauseMs?: number
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((rows: number) => void) | undefined
}

/** Returns the digest of an index, from its documents in the order of rows. @throws EngineError */
export async function digestOf(
  client: EngineClient,
  { index, shards, count }: Pick<EngineDescription, 'index' | 'shards' | 'count'>,
  { pauseMs = 0, signal, onProgress }: DigestOptions = {},
): Promise<string> {
  const digest = createDocumentsDigest()
  for (let from = 0; from < count; from += ENGINE_BOUNDS.pageRows) {
    const body = {
      size: ENGINE_BOUNDS.pageRows,
      sort: [{ row: 'asc' }],
      query: { range: { row: { gte: from, lt: from + ENGINE_BOUNDS.pageRows } } },
    }
    const query = { allow_partial_search_results: false }
    signal?.throwIfAborted()
    const page = await client.request({ method: 'POST', path: `/${index}/_search`, query, body }, pageSchema)
    assertWhole(page, shards)
    for (const { _source: source } of page.hits.hits) digest.add(source)
    onProgress?.(Math.min(count, from + ENGINE_BOUNDS.pageRows))
    if (pauseMs > 0) await wait(pauseMs, undefined, signal === undefined ? {} : { signal })
  }
  return digest.hex()
}

export interface DocumentsDigest {
  add(source: object): void
  hex(): string
}

/** SHA-256 over the canonical JSON of each document. */
export function createDocumentsDigest(): DocumentsDigest {
  const hash = createHash('sha256')
  return {
    add: (source) => void hash.update(`${canonicalJson(source)}\n`),
    hex: () => hash.digest('hex'),
  }
}

/**
 * Reads the whole index. @returns as `lookFault` does.
 * @throws EngineError `unavailable` if the cluster does not give every document.
 */
export async function contentFault(
  client: EngineClient,
  described: EngineDescription,
  options: DigestOptions = {},
): Promise<string | undefined> {
  const fault = await lookFault(client, described)
  if (fault !== undefined) return fault
  return (await digestOf(client, described, options)) === described.digest
    ? undefined
    : `The documents of the index ${described.index} are not those of the build: build the version again.`
}
