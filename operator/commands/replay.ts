import { readFile } from 'node:fs/promises'
import { withEncoder } from '#core/embedding/settings.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { replayRequest, startReplayNode } from '#operator/actions/replay.ts'
import type { Difference } from '#operator/actions/replay.ts'
import { requestNamed } from '#operator/actions/requests.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { ReplayDiffers } from '#operator/command-line/failure.ts'
import { option, text } from '#operator/command-line/inputs.ts'
import { verb } from '#operator/command-line/verbs.ts'

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
      const row = await requestNamed(database, { id })
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
