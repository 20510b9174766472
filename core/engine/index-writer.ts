import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { ArtifactError } from '#core/index/artifact-error.ts'
import type { EngineDescription, UnsignedArtifact } from '#core/index/engine/description.ts'
import { ENGINE_BOUNDS } from './bounds.ts'
import { EngineError, type EngineClient, anyReply } from './client.ts'
import { indexBody, sourceOf, vectorValues, type EngineRow } from './documents.ts'
import { createDocumentsDigest, lookAt, readIndex } from './index-check.ts'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openForwardReader } from '#core/index/lexical/forward-reader.ts'
import { impactsOf } from '#core/index/lexical/impact.ts'
import { lexicalSchema } from '#core/index/lexical/layout.ts'
import { PASSAGE_DIGEST_BYTES } from '#core/index/passages/layout.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import { readRowTable } from '#core/index/passages/row-table.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { openRowFile } from '#core/index/vectors/row-file.ts'

export interface IndexInput extends UnsignedArtifact {
  readonly versionId: string
  readonly rows: AsyncIterable<EngineRow>
  /** One for each `rowsPerShard` passages if absent. */
  readonly shards?: number | undefined
  readonly onProgress?: ((done: number, total: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Every attempt of a build has an index of its own, so a killed one cannot write into that of the next. */
function indexNameOf(versionId: string): string {
  return `${indexPrefixOf(versionId)}${randomBytes(6).toString('hex')}`
}

const PREFIX = 'evidence-'
const NAME = /^evidence-([0-9a-f-]{36})-[0-9a-f]{12}$/

function indexPrefixOf(versionId: string): string {
  return `${PREFIX}${versionId}-`
}

/**
 * Loads the passages of a version into a new index and freezes it: strict mapping without replicas, load, refresh, one
 * segment, count and digest compared, then replicas, green, and a write block. One segment before the replicas makes
 * all copies order alike. An index that fails is removed.
 * @throws EngineError, or ArtifactError if the index does not hold what was sent.
 */
export async function writeIndex(client: EngineClient, input: IndexInput): Promise<EngineDescription> {
  const index = indexNameOf(input.versionId)
  const shards = input.shards ?? Math.ceil(input.passages / ENGINE_BOUNDS.rowsPerShard)
  await client.request({ method: 'PUT', path: `/${index}`, body: indexBody(shards, input.dimensions) }, anyReply)
  try {
    const digest = await load(client, index, input)
    await refresh(client, index)
    await mergeSegments(client, index, shards, input.signal)
    await assertHolds(client, { index, shards, digest }, input)
    await raiseReplicas(client, index, input.signal)
    await client.request({ method: 'PUT', path: `/${index}/_settings`, body: { 'index.blocks.write': true } }, anyReply)
    const { uuid, count, operations } = await lookAt(client, index, shards)
    return { name: 'opensearch', index, uuid, shards, count, operations, digest }
  } catch (error) {
    await removeIndex(client, index).catch(() => undefined)
    throw error
  }
}

/** Sends the rows, a few batches at a time. @returns the digest of what was sent. */
async function load(client: EngineClient, index: string, { rows, passages, onProgress, signal }: IndexInput) {
  const digest = createDocumentsDigest()
  const failed = new AbortController()
  const either = AbortSignal.any([failed.signal, ...(signal === undefined ? [] : [signal])])
  const sending = new Set<Promise<void>>()
  let lines: string[] = []
  let done = 0
  async function send(): Promise<void> {
    const count = lines.length / 2
    const sent = sendBulk(client, index, `${lines.join('\n')}\n`, either).then(() => {
      sending.delete(sent)
      onProgress?.((done += count), passages)
    })
    sending.add(sent)
    sent.catch(() => undefined)
    lines = []
    if (sending.size >= ENGINE_BOUNDS.bulksAtOnce) await Promise.race(sending)
  }
  try {
    for await (const row of rows) {
      signal?.throwIfAborted()
      const source = sourceOf(row)
      digest.add(source)
      const vector = row.vector === undefined ? {} : { vector: vectorValues(row.vector) }
      lines.push(`{"index":{"_id":"${row.row}"}}`, JSON.stringify({ ...source, ...vector }))
      if (lines.length === 2 * ENGINE_BOUNDS.bulkRowsMax) await send()
    }
    if (lines.length > 0) await send()
    await Promise.all(sending)
  } finally {
    // A batch that arrives after the index was removed would create it anew.
    failed.abort()
    await Promise.allSettled(sending)
  }
  return digest.hex()
}

const bulkSchema = z.object({
  errors: z.boolean(),
  items: z.array(z.object({ index: z.object({ status: z.int(), error: z.object({ type: z.string() }).optional() }) })),
})

/** Repeats a batch that the cluster had no room for. A document keeps its id, so none is loaded twice. */
async function sendBulk(client: EngineClient, index: string, lines: string, signal: AbortSignal): Promise<void> {
  const request = { method: 'POST', path: `/${index}/_bulk`, lines, timeoutMs: ENGINE_BOUNDS.bulkTimeoutMs } as const
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    try {
      const { errors, items } = await client.request(request, bulkSchema)
      if (!errors) return
      const refused = items.find(({ index: { status } }) => status >= 400 && status !== 429 && status !== 503)
      if (refused !== undefined)
        throw new ArtifactError(`OpenSearch refused a passage (${refused.index.error?.type ?? refused.index.status}).`)
      throw new EngineError('unavailable', 'OpenSearch has no room for more passages now.')
    } catch (error) {
      const again = error instanceof EngineError && error.fault === 'unavailable'
      if (!again || attempt === ENGINE_BOUNDS.bulkAttemptsMax) throw error
      await wait(ENGINE_BOUNDS.bulkRetryMs)
    }
  }
}

/** A merge takes longer than any request may, so the cluster does it as a task of its own. */
async function mergeSegments(client: EngineClient, index: string, shards: number, signal: AbortSignal | undefined) {
  const query = { max_num_segments: 1, wait_for_completion: false }
  await client.request({ method: 'POST', path: `/${index}/_forcemerge`, query }, anyReply)
  await untilTrue(`the merge of ${index}`, signal, async () => {
    // The segments that were merged stay in use until a refresh.
    await refresh(client, index)
    return (await lookAt(client, index, shards)).segmentsMax <= 1
  })
}

async function refresh(client: EngineClient, index: string): Promise<void> {
  const timeoutMs = ENGINE_BOUNDS.bulkTimeoutMs
  await client.request({ method: 'POST', path: `/${index}/_refresh`, timeoutMs }, anyReply)
}

async function assertHolds(
  client: EngineClient,
  { index, shards, digest }: Pick<EngineDescription, 'index' | 'shards' | 'digest'>,
  { passages: count, signal, ...artifact }: IndexInput,
): Promise<void> {
  const look = await lookAt(client, index, shards)
  const held = await readIndex(client, { index, shards, count }, artifact, { signal })
  if (look.count !== count || held.digest !== digest || held.alteredRow !== undefined)
    throw new ArtifactError('OpenSearch does not hold the passages that were sent; build the version again.')
}

const healthSchema = z.object({ status: z.enum(['green', 'yellow', 'red']), number_of_data_nodes: z.int() })

/** A cluster of several data nodes gets one replica, so that any one node may be lost. */
async function raiseReplicas(client: EngineClient, index: string, signal: AbortSignal | undefined): Promise<void> {
  const path = `/_cluster/health/${index}`
  const { number_of_data_nodes: nodes } = await client.request({ method: 'GET', path }, healthSchema)
  const body = { index: { number_of_replicas: nodes > 1 ? 1 : 0 } }
  await client.request({ method: 'PUT', path: `/${index}/_settings`, body }, anyReply)
  await untilTrue(`the replicas of ${index}`, signal, async () => {
    const { status } = await client.request({ method: 'GET', path }, healthSchema)
    return status === 'green'
  })
}

/** A cluster that does not answer for a while is asked again. */
async function untilTrue(what: string, signal: AbortSignal | undefined, look: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + ENGINE_BOUNDS.stageTimeoutMs
  while (Date.now() < endMs) {
    signal?.throwIfAborted()
    const isTrue = await look().catch((error: unknown) => {
      if (error instanceof EngineError && error.fault === 'unavailable') return false
      throw error
    })
    if (isTrue) return
    await wait(ENGINE_BOUNDS.pollEveryMs)
  }
  throw new EngineError('unavailable', `OpenSearch did not end ${what} in time.`)
}

async function removeIndex(client: EngineClient, index: string): Promise<void> {
  await client.request({ method: 'DELETE', path: `/${index}` }, anyReply).catch((error: unknown) => {
    if (!(error instanceof EngineError) || error.fault !== 'missing') throw error
  })
}

const indexListSchema = z.array(z.object({ index: z.string() }))

/** The indexes whose names `indexNameOf` gives. @param prefix of the names. */
async function indexesNamed(client: EngineClient, prefix: string): Promise<readonly string[]> {
  const request = { method: 'GET', path: `/_cat/indices/${prefix}*`, query: { format: 'json', h: 'index' } } as const
  return (await client.request(request, indexListSchema))
    .map(({ index }) => index)
    .filter((index) => NAME.test(index) && index.startsWith(prefix))
}

/** The versions that have an index in the cluster, complete or not. */
export async function heldVersions(client: EngineClient): Promise<ReadonlySet<string>> {
  return new Set((await indexesNamed(client, PREFIX)).map((index) => NAME.exec(index)?.[1] ?? ''))
}

/** Removes the indexes of a version except one. @returns their number. */
export async function removeIndexes(client: EngineClient, versionId: string, kept?: string): Promise<number> {
  const removed = (await indexesNamed(client, indexPrefixOf(versionId))).filter((index) => index !== kept)
  for (const index of removed) await removeIndex(client, index)
  return removed.length
}

/** Reads what an index holds of every row from the files of an artifact, in row order. */
export async function* engineRows({ folder, passages, dimensions }: UnsignedArtifact): AsyncGenerator<EngineRow> {
  const parts = createResidentParts()
  const lexical = lexicalSchema.parse(JSON.parse(await readFile(join(folder, 'lexical.json'), 'utf8')))
  const digests = await readFile(join(folder, 'passages.sha256'))
  const { chunkRanks } = readRowTable(folder, passages, parts)
  using opened = new DisposableStack()
  const forward = opened.adopt(openForwardReader(folder, passages, parts), (reader) => reader.close())
  const vectors =
    dimensions === undefined
      ? undefined
      : opened.adopt(openRowFile(join(folder, 'vectors.f32'), dimensions), (file) => file.close())
  let row = 0
  for await (const record of passagesIn(join(folder, 'passages.jsonl'))) {
    const tokens = forward.read(row, row)
    const headingTerms = tokens.textStart(row) - tokens.start(row)
    yield {
      row,
      record,
      digest: digests.toString('hex', row * PASSAGE_DIGEST_BYTES, (row + 1) * PASSAGE_DIGEST_BYTES),
      rank: chunkRanks[row] ?? 0,
      impacts: impactsOf(tokens.words(row), headingTerms, lexical),
      vector: vectors?.read(row),
    }
    row += 1
  }
}
