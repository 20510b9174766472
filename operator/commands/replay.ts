import { createSecretKey } from 'node:crypto'
import { queryFingerprint, queryVectorDigest } from '#core/credentials/fingerprint.ts'
import type { RequestRow } from '#core/db/requests.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { ReplayDiffers } from '#operator/command-line/failure.ts'
import { option, text } from '#operator/command-line/inputs.ts'
import { verb } from '#operator/command-line/verbs.ts'
import { requestNamed } from '#operator/commands/requests.ts'
import { RERUN_VARIABLES, deliveredRequest, readQuestion, rerunDeps, runAgain, searchTexts } from './rerun.ts'
import type { RerunDeps, SearchTexts } from './rerun.ts'

export const commands: Commands = [
  verb('replay <id>', 'run a request again and compare the outcome with its record', {
    notes:
      'The query is tested against the fingerprint on record. Version, profile, filters, top_k and day are those of the\n' +
      'record. A search node of its own loads the version, also a retired one; built with --engine opensearch, it is searched\n' +
      'in the cluster at OPENSEARCH_URL. Exit codes: 0 equal, 2 different, with\n' +
      'the field; 1 nothing could be compared.',
    input: {
      id: text,
      queryFile: option('<path>', 'a file with the query exactly as it was sent; the service keeps none', text),
    },
    variables: RERUN_VARIABLES,
    async run({ id, queryFile }, { database, config, show, progress }) {
      const row = await requestNamed(database, id)
      const query = await readQuestion(queryFile)
      progress.update('Searching', 0, 1)
      const replayed = await replayRequest(rerunDeps(database, config), row, query)
      const { difference, compared } = replayed
      show(replayed, difference === null ? `Equal: ${compared.join(', ')}.` : sentenceOf(difference))
      if (difference !== null) throw new ReplayDiffers()
      return undefined
    },
  }),
]

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

/** A field whose value is another one than on record. */
interface Difference {
  readonly field: string
  readonly recorded: unknown
  readonly replayed: unknown
}

const VECTOR = 'query_vector'

/**
 * Runs a delivered request again with the query that its caller gives, on a search node of its own, and compares the
 * outcome with the record.
 * @returns the first difference; null: everything that was compared is as on record.
 * @throws OperatorError where nothing can be compared, or a part of the installation is missing.
 */
async function replayRequest(deps: RerunDeps, row: RequestRow, query: string) {
  const differing = (difference: Difference, compared: readonly string[]) => ({ difference, compared })
  const { outcome, replay, key, version } = await deliveredRequest(deps, row)
  if (!queryFingerprint(key, query).equals(row.fingerprint))
    return differing({ field: 'query', recorded: 'a fingerprint', replayed: 'the fingerprint of another query' }, [])
  const asked = await searchTexts(deps, row, version, query)
  const digests = asked.queries.map((each) => queryFingerprint(key, each).toString('hex'))
  if (digests.join() !== replay.rewriting_digests.join())
    return differing({ field: 'rewriting', recorded: 'other queries', replayed: 'what the rewriter writes now' }, [])
  const digest =
    asked.vector === undefined ? null : queryVectorDigest(createSecretKey(key), asked.vector).toString('hex')
  if (digest !== replay.query_vector_digest)
    return differing({ field: VECTOR, recorded: replay.query_vector_digest, replayed: digest }, [VECTOR])
  const again = await outcomeAgain(deps, row, asked)
  const recorded: Readonly<Record<string, unknown>> = { ...outcome, ...replay }
  const compared = [VECTOR, ...Object.keys(again)]
  for (const [field, replayed] of Object.entries(again))
    if (JSON.stringify(recorded[field]) !== JSON.stringify(replayed))
      return differing({ field, recorded: recorded[field], replayed }, compared)
  return { difference: null, compared }
}

/** The fields of the record that depend on version, filters, day and query. */
async function outcomeAgain(deps: RerunDeps, row: RequestRow, asked: SearchTexts) {
  const { list, served: serving, calibration, signal, decision, observedValue } = await runAgain(deps, row, asked)
  // The last passages may have been dropped for the size of the reply.
  const served = serving.slice(0, Number(row.outcome?.['result_count']))
  return {
    decision,
    signal,
    threshold: calibration.threshold,
    observed_value: observedValue,
    chunk_ids: served.map(({ chunkId }) => chunkId),
    passage_sha256: served.map((passage) => sha256(passage.text).toString('hex')),
    rerank_order: list.order ?? null,
  }
}
