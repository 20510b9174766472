import { readFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { unwrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import type { Queryable } from '#core/db/pool.ts'
import { readServedVersion, type RequestRow, type ServedVersion } from '#core/db/requests.ts'
import { readWithdrawnAt } from '#core/db/withdrawals.ts'
import { decideOn } from '#core/domain/decision.ts'
import { bearing, decidingCalibration, passagesSearched, rankingOf } from '#core/domain/retrieval-profile.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { FoundPassage, SearchResult } from '#core/domain/search.ts'
import { createEmbedder, type EndpointSettings } from '#core/embedding/providers.ts'
import { withEncoder } from '#core/embedding/settings.ts'
import { engineFaults, engineSettingsOf, type EngineSettings } from '#core/engine/settings.ts'
import { withinFilters } from '#core/index/format/description.ts'
import { createSignedStore, type StoreSettings } from '#core/index/format/store.ts'
import { readSignedManifest } from '#core/index/format/manifest.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { ConfigOf } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createReader, type ReaderSettings } from '#core/reading/reader.ts'
import { passagesToRead, scoredList, type ScoredList } from '#core/reading/scored-list.ts'
import { REWRITING_BOUNDS } from '#core/rewriting/bounds.ts'
import { createRewriter, type RewriterSettings } from '#core/rewriting/rewriter.ts'
import { RPC_BOUNDS } from '#core/rpc/bounds.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { startNodeProcess } from '#operator/processes/search-node-process.ts'

const {
  DATABASE_URL: _url,
  REDIS_URL: _redis,
  KEY_PEPPERS: _peppers,
  OPERATOR_ACTOR: _actor,
  ...others
} = OPERATOR_VARIABLES

/** What a delivered request needs of the environment to be run again. */
export const RERUN_VARIABLES = others

export interface RerunDeps {
  readonly database: Queryable
  readonly serviceSecrets: ServiceSecrets
  /** Endpoints of embedding, rewriting and reading, as the gateways have them. */
  readonly endpoints: EndpointSettings & ReaderSettings & RewriterSettings
  /** A node of its own for a version, with the artifact store of the installation; see `startReplayNode`. */
  readonly startNode: (
    versionId: string,
    manifestDigest: Uint8Array,
  ) => Promise<{ readonly client: SearchNodeClient; stop(): Promise<void> }>
}

export function rerunDeps(database: Queryable, config: ConfigOf<typeof RERUN_VARIABLES>): RerunDeps {
  return {
    database,
    serviceSecrets: config.SERVICE_SECRET,
    endpoints: withEncoder(config),
    startNode: (version, digest) => startReplayNode(config, version, digest),
  }
}

const QUESTION_BYTES_MAX = 65_536

/** @param path `-`: standard input. One line break at the end belongs to the file, not to the question. */
export async function readQuestion(path: string): Promise<string> {
  const reading = path === '-' ? textOf(process.stdin) : readFile(path, 'utf8')
  const question = await reading.catch((cause: unknown) => {
    throw new OperatorError(`The file of the query cannot be read: see that ${path} exists.`, { cause })
  })
  if (Buffer.byteLength(question) > QUESTION_BYTES_MAX)
    throw new OperatorError('No query is so long: give the file of the query alone.')
  return question.replace(/\r?\n$/, '')
}

/** @throws OperatorError where the request cannot be run again. */
export async function deliveredRequest({ database, serviceSecrets }: RerunDeps, row: RequestRow) {
  const { outcome, replay } = row
  if (row.state !== 'delivered' || outcome === null || replay === null)
    throw new OperatorError(
      'The request delivered nothing, so there is no outcome to compare: see "operator requests show" for what ' +
        'became of it.',
    )
  if (row.fingerprint_key === null)
    throw new OperatorError(
      `The fingerprint key of epoch ${row.fingerprint_epoch} of "${row.organization}" was erased: no query can be ` +
        'tested against this request any more.',
    )
  const owner = { organizationId: row.organization_id, epoch: row.fingerprint_epoch }
  const key = unwrapFingerprintKey(row.fingerprint_key, owner, serviceSecrets)
  return { outcome, replay, key, version: await readServedVersion(database, row.version_id) }
}

/** What is searched for a question. */
export type SearchTexts = Awaited<ReturnType<typeof searchTexts>>

/** @returns `queries`: what the rewriter writes now, empty where the request had no rewriting. */
export async function searchTexts({ endpoints }: RerunDeps, row: RequestRow, version: ServedVersion, query: string) {
  const queries = row.outcome?.['rewriter'] === 'rewritten' ? await rewritten(endpoints, row, version, query) : []
  if (version.embedding === null) return { query, version, queries, vector: undefined }
  const embedder = createEmbedder(version.embedding, endpoints)
  const { vectors } = await embedder.embed([queries[0] ?? query], 'query', deadline())
  return { query, version, queries, vector: vectors[0] }
}

const deadline = (): AbortSignal => AbortSignal.timeout(PLATFORM_BOUNDS.hardDeadlineMs)

/** What the rewriter writes now for the question under the filters of the request. */
async function rewritten(
  endpoints: RewriterSettings,
  { filters }: RequestRow,
  { profile: { rewriter } }: ServedVersion,
  query: string,
): Promise<readonly string[]> {
  if (rewriter === null) return []
  const knowledgeBase = withinFilters(rewriter.description, filters.request)
  const timeoutMs = REWRITING_BOUNDS.rewriterTimeoutMaxMs
  return (await createRewriter(rewriter, endpoints).rewrite(query, knowledgeBase, timeoutMs, deadline())).queries
}

/** One request that was run again, with what decided it. */
export type Rerun = Awaited<ReturnType<typeof runAgain>>

/**
 * @param apart also searches by words alone and by the vector alone.
 * @returns `list`: what was found, as a reader left it; `served`: what an answer serves of it, the passages that bear on
 *   the question by themselves; `alone`: the searches apart, undefined for a version without vectors.
 */
export async function runAgain(deps: RerunDeps, row: RequestRow, asked: SearchTexts, apart = false) {
  const { profile } = asked.version
  const topK = Number(row.outcome?.['top_k'])
  const { found, alone } = await searched(deps, row, asked, passagesSearched(profile, topK), apart)
  const wasRead = row.outcome?.['reader'] === 'read' || (row.replay?.rerank_order ?? null) !== null
  const list: ScoredList = wasRead
    ? await readAgain(deps.endpoints, profile, asked.query, found.passages, topK)
    : { passages: found.passages.slice(0, topK) }
  const { calibration, signal } = decidingCalibration(profile, {
    rewritten: asked.queries.length > 0,
    read: list.read !== undefined,
  })
  const decided = decideOn(calibration, { ...found, ...list })
  const served = decided.decision === 'answer' ? bearing(profile, list.passages) : []
  return { ...decided, found, list, served, alone, calibration, signal }
}

/** Searches the version on a node of its own. */
async function searched(
  { startNode, database }: RerunDeps,
  row: RequestRow,
  { query, queries, vector, version: { manifest_digest: manifestDigest, profile } }: SearchTexts,
  limit: number,
  apart: boolean,
) {
  const versionId = row.version_id
  const node = await startNode(versionId, manifestDigest)
  try {
    await node.client.prepareVersion({ versionId, manifestDigest, verify: false }, RPC_BOUNDS.prepareTimeoutMs)
    const whole = {
      versionId,
      vector,
      text: query,
      rewritten: queries,
      limit,
      filters: row.filters.request,
      entitled: row.filters.entitlement,
      withdrawn: await readWithdrawnAt(database, versionId, row.admitted_at),
      ranking: rankingOf(profile, row.in_force_on),
    }
    const search = (change: object): Promise<SearchResult> =>
      node.client.search({ ...whole, ...change }, PLATFORM_BOUNDS.hardDeadlineMs)
    const found = await search({})
    if (!apart || vector === undefined) return { found, alone: undefined }
    return {
      found,
      alone: { words: await search({ vector: undefined }), vector: await search({ text: '', rewritten: [] }) },
    }
  } catch (cause) {
    throw new OperatorError(
      `The version ${versionId} could not be searched on a node of its own: see that ARTIFACT_STORE still has it, that ` +
        'MANIFEST_PUBLIC_KEY verifies it and, where it has an engine, that its cluster answers and has its index.',
      { cause },
    )
  } finally {
    await node.stop()
  }
}

interface ReplayNodeSettings extends EngineSettings, StoreSettings {
  readonly MANIFEST_PUBLIC_KEY: readonly Buffer[]
}

/**
 * Starts a search node for one version, with the cluster of a version that has an engine.
 * @throws OperatorError where the cluster is needed and not configured, or configured with a conflict.
 */
export async function startReplayNode(settings: ReplayNodeSettings, versionId: string, manifestDigest: Uint8Array) {
  const store = createSignedStore(settings)
  const folder = await store.fetchManifest(store.artifactFolder(versionId))
  const engine = await readSignedManifest(folder, store.publicKeysDer, manifestDigest).then(
    ({ manifest }) => manifest.engine,
    // The node says why it cannot load the version.
    () => undefined,
  )
  if (engine !== undefined && settings.OPENSEARCH_URL === undefined)
    throw new OperatorError(
      `The version ${versionId} is searched in an OpenSearch cluster: set OPENSEARCH_URL, as search nodes have it.`,
    )
  const [fault] = engineFaults(settings)
  if (fault !== undefined) throw new OperatorError(fault)
  return await startNodeProcess(settings, settings.MANIFEST_PUBLIC_KEY, engineSettingsOf(settings))
}

async function readAgain(
  endpoints: ReaderSettings,
  { reader }: ProfileParameters,
  query: string,
  found: readonly FoundPassage[],
  topK: number,
): Promise<ScoredList> {
  if (reader === null) return { passages: found.slice(0, topK) }
  const passages = passagesToRead(reader, found)
  const { scores } =
    passages.length === 0 ? { scores: [] } : await createReader(reader, endpoints).read(query, passages, deadline())
  return scoredList(reader, found, scores, topK)
}
