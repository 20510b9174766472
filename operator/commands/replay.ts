import { readFile } from 'node:fs/promises'
import { withEncoder } from '#core/embedding/settings.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { requestNamed } from '#operator/commands/requests.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { ReplayDiffers } from '#operator/command-line/failure.ts'
import { option, text } from '#operator/command-line/inputs.ts'
import { verb } from '#operator/command-line/verbs.ts'
import { createSecretKey } from 'node:crypto'
import { queryFingerprint, queryVectorDigest, unwrapFingerprintKey } from '#core/credentials/fingerprint.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import type { Queryable } from '#core/db/pool.ts'
import { readServedVersion, type RequestRow, type ServedVersion } from '#core/db/requests.ts'
import { readWithdrawnAt } from '#core/db/withdrawals.ts'
import { createEmbedder, type EndpointSettings } from '#core/embedding/providers.ts'
import { decideOn } from '#core/domain/decision.ts'
import { EVIDENCE_SIGNAL, READ_EVIDENCE_SIGNAL, passagesSearched, rankingOf } from '#core/domain/retrieval-profile.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { FoundPassage, SearchResult } from '#core/domain/search.ts'
import { sha256 } from '#core/platform/digest.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { engineFaults, engineSettingsOf, type EngineSettings } from '#core/engine/settings.ts'
import { createSignedStore } from '#core/index/format/store.ts'
import { readSignedManifest } from '#core/index/format/verify.ts'
import { startNodeProcess, type NodeProcess } from '#operator/processes/search-node-process.ts'
import { createReader, type ReaderSettings } from '#core/reading/reader.ts'
import { passagesToRead, scoredList, type ScoredList } from '#core/reading/scored-list.ts'
import { RPC_BOUNDS } from '#core/rpc/bounds.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'

const {
  DATABASE_URL: _url,
  REDIS_URL: _redis,
  KEY_PEPPERS: _peppers,
  OPERATOR_ACTOR: _actor,
  ...variables
} = OPERATOR_VARIABLES

export const commands: Commands = [
  verb('replay <id>', 'run a request again and compare the outcome with its record', {
    notes:
      'The query is tested against the fingerprint on record. Version, profile, filters, top_k and day are those of the\n' +
      'record. A search node of its own loads the version, also a retired one; built with --engine opensearch, it is searched\n' +
      'in the cluster at OPENSEARCH_URL. Exit codes: 0 equal, 2 different, with\n' +
      'the field; 1 nothing could be compared.',
    examples: ['replay req_8a4d5e0b-2f6c-4c0e-9d55-6a1f3f0c7e21 --query-file query.txt'],
    input: {
      id: text,
      queryFile: option('<path>', 'a file with the query exactly as it was sent; the service keeps none', text),
    },
    variables,
    async run({ id, queryFile }, { database, config, show, progress }) {
      const row = await requestNamed(database, id)
      const query = await readQuery(queryFile)
      progress.update('Searching', 0, 1)
      const deps = {
        database,
        serviceSecrets: config.SERVICE_SECRET,
        endpoints: withEncoder(config),
        startNode: (version: string, digest: Uint8Array) => startReplayNode(config, version, digest),
      }
      const replayed = await replayRequest(deps, row, query)
      const { difference, compared } = replayed
      show(replayed, difference === null ? `Equal: ${compared.join(', ')}.` : sentenceOf(difference))
      if (difference !== null) throw new ReplayDiffers()
      return undefined
    },
  }),
]

const QUERY_BYTES_MAX = 65_536

/** One line break at the end belongs to the file, not to the query. */
async function readQuery(path: string): Promise<string> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new OperatorError(`The file of the query cannot be read: see that ${path} exists.`, { cause })
  })
  if (bytes.length > QUERY_BYTES_MAX) throw new OperatorError('No query is so long: give the file of the query alone.')
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}

function sentenceOf({ field, recorded, replayed }: Difference): string {
  switch (field) {
    case 'query':
      return 'Different: query. Its fingerprint is not the one on record, so this is another query.'
    case 'query_vector':
      return 'Different: query_vector. The embedding provider gives another vector for the query than it did then.'
    default:
      return `Different: ${field}. On record: ${JSON.stringify(recorded)}; now: ${JSON.stringify(replayed)}.`
  }
}

interface ReplayDeps {
  readonly database: Queryable
  readonly serviceSecrets: ServiceSecrets
  /** Endpoints of embedding and reading, as the gateways have them. */
  readonly endpoints: EndpointSettings & ReaderSettings
  /** A node of its own for a version, with the artifact store of the installation; see `startReplayNode`. */
  readonly startNode: (
    versionId: string,
    manifestDigest: Uint8Array,
  ) => Promise<{ readonly client: SearchNodeClient; stop(): Promise<void> }>
}

/** A field whose value is another one than on record. */
interface Difference {
  readonly field: string
  readonly recorded: unknown
  readonly replayed: unknown
}

interface Replayed {
  /** The first difference; null: everything is as on record. */
  readonly difference: Difference | null
  /** Fields that were compared. */
  readonly compared: readonly string[]
}

const NOT_DELIVERED =
  'The request delivered nothing, so there is no outcome to compare: see "operator requests show" for what became of it.'
const VECTOR = 'query_vector'

/**
 * Runs a delivered request again with the query that its caller gives, on a search node of its own, and compares the
 * outcome with the record.
 * @throws OperatorError where nothing can be compared, or a part of the installation is missing.
 */
async function replayRequest(deps: ReplayDeps, row: RequestRow, query: string): Promise<Replayed> {
  const { outcome, replay } = row
  if (row.state !== 'delivered' || outcome === null || replay === null) throw new OperatorError(NOT_DELIVERED)
  if (row.fingerprint_key === null)
    throw new OperatorError(
      `The fingerprint key of epoch ${row.fingerprint_epoch} of "${row.organization}" was erased: no query can be ` +
        'tested against this request any more.',
    )
  const owner = { organizationId: row.organization_id, epoch: row.fingerprint_epoch }
  const key = unwrapFingerprintKey(row.fingerprint_key, owner, deps.serviceSecrets)
  if (!queryFingerprint(key, query).equals(row.fingerprint))
    return differing({ field: 'query', recorded: 'a fingerprint', replayed: 'the fingerprint of another query' }, [])
  const version = await readServedVersion(deps.database, row.version_id)
  const vector = await embedded(deps, version, query, replay.query_characters)
  const digest = vector === undefined ? null : queryVectorDigest(createSecretKey(key), vector).toString('hex')
  if (digest !== replay.query_vector_digest)
    return differing({ field: VECTOR, recorded: replay.query_vector_digest, replayed: digest }, [VECTOR])
  const again = await runAgain(deps, row, version, query, vector)
  const recorded: Readonly<Record<string, unknown>> = { ...outcome, ...replay }
  const compared = [VECTOR, ...Object.keys(again)]
  for (const [field, replayed] of Object.entries(again))
    if (JSON.stringify(recorded[field]) !== JSON.stringify(replayed))
      return differing({ field, recorded: recorded[field], replayed }, compared)
  return { difference: null, compared }
}

function differing(difference: Difference, compared: readonly string[]): Replayed {
  return { difference, compared }
}

async function embedded(
  { endpoints }: ReplayDeps,
  { embedding }: ServedVersion,
  query: string,
  characters: number | null,
): Promise<Float32Array | undefined> {
  if (embedding === null) return undefined
  const embeddedText = characters === null ? query : [...query].slice(0, characters).join('')
  const { vectors } = await createEmbedder(embedding, endpoints).embed([embeddedText], 'query', deadline())
  return vectors[0]
}

const deadline = (): AbortSignal => AbortSignal.timeout(PLATFORM_BOUNDS.hardDeadlineMs)

/** The fields of the record that depend on version, filters, day and query. */
async function runAgain(
  deps: ReplayDeps,
  row: RequestRow,
  version: ServedVersion,
  query: string,
  vector: Float32Array | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  const { profile } = version
  const topK = Number(row.outcome?.['top_k'])
  const found = await searched(deps, row, version, { query, vector, topK })
  const wasRead = row.outcome?.['reader'] === 'read' || row.replay?.rerank_order !== null
  const { passages, order, read }: ScoredList = wasRead
    ? await readAgain(deps, profile, query, found.passages, topK)
    : { passages: found.passages.slice(0, topK) }
  const calibration = (read && profile.reader?.calibration) ?? profile.calibration
  const { decision, observedValue } = decideOn(calibration, { ...found, passages, read })
  // The last passages may have been dropped for the size of the reply.
  const served = decision === 'answer' ? passages.slice(0, Number(row.outcome?.['result_count'])) : []
  return {
    decision,
    signal: read === undefined ? EVIDENCE_SIGNAL : READ_EVIDENCE_SIGNAL,
    threshold: calibration.threshold,
    observed_value: observedValue,
    chunk_ids: served.map(({ chunkId }) => chunkId),
    passage_sha256: served.map((passage) => sha256(passage.text).toString('hex')),
    rerank_order: order ?? null,
  }
}

async function searched(
  { startNode, database }: ReplayDeps,
  row: RequestRow,
  { manifest_digest: manifestDigest, profile }: ServedVersion,
  { query, vector, topK }: { query: string; vector: Float32Array | undefined; topK: number },
): Promise<SearchResult> {
  const versionId = row.version_id
  const node = await startNode(versionId, manifestDigest)
  try {
    await node.client.prepareVersion({ versionId, manifestDigest, verify: false }, RPC_BOUNDS.prepareTimeoutMs)
    return await node.client.search(
      {
        versionId,
        vector,
        text: query,
        limit: passagesSearched(profile, topK),
        filters: row.filters.request,
        entitled: row.filters.entitlement,
        withdrawn: await readWithdrawnAt(database, versionId, row.admitted_at),
        ranking: rankingOf(profile, row.in_force_on),
      },
      PLATFORM_BOUNDS.hardDeadlineMs,
    )
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

interface ReplayNodeSettings extends EngineSettings {
  readonly ARTIFACT_STORE: string
  readonly MANIFEST_PUBLIC_KEY: readonly Buffer[]
}

/**
 * Starts a search node for one version, with the cluster of a version that has an engine.
 * @throws OperatorError where the cluster is needed and not configured, or configured with a conflict.
 */
export async function startReplayNode(
  settings: ReplayNodeSettings,
  versionId: string,
  manifestDigest: Uint8Array,
): Promise<NodeProcess> {
  const { artifactFolder, publicKeysDer } = createSignedStore(settings)
  const engine = await readSignedManifest(artifactFolder(versionId), publicKeysDer, manifestDigest).then(
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
  return await startNodeProcess(settings.ARTIFACT_STORE, settings.MANIFEST_PUBLIC_KEY, engineSettingsOf(settings))
}

async function readAgain(
  { endpoints }: ReplayDeps,
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
