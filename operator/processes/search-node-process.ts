import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { StoreSettings } from '#core/index/format/store.ts'
import { ownEnvironment, sdkEnvironment } from '#jobs/platform/config.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import { clientCredentials } from '#core/rpc/transport.ts'
import { NO_ENGINE, engineEnvironment, type EngineSettings } from '#core/engine/settings.ts'
import { startListening } from '#operator/processes/listening-process.ts'
import { SEARCH_NODE_OPTIONS } from '#operator/processes/node-options.ts'

const START_TIMEOUT_MS = 30_000
const PLAINTEXT = {
  SEARCH_TLS_CA: undefined,
  SEARCH_TLS_CERT: undefined,
  SEARCH_TLS_KEY: undefined,
  SEARCH_PLAINTEXT: 'refuse',
} as const

const listeningSchema = z.object({ event: z.literal('listening'), port: z.int() })

/**
 * Starts a search node as in production, in its own process on a free port of loopback. It ends when this process ends.
 * @param store the artifact store.
 * @param publicKeysDer the keys that verify manifests. @param engine the cluster of versions that have one.
 * @throws OperatorError when the node does not start.
 */
export async function startNodeProcess(
  { ARTIFACT_STORE: url, ARTIFACT_CACHE: cache, ARTIFACT_CACHE_MAX_MB: megabytes }: StoreSettings,
  publicKeysDer: readonly Buffer[],
  engine: EngineSettings = NO_ENGINE,
) {
  const { said, ended, stop } = await startListening({
    name: 'The search node',
    program: fileURLToPath(new URL('../../search-node/main.ts', import.meta.url)),
    nodeOptions: SEARCH_NODE_OPTIONS,
    environment: {
      ...sdkEnvironment(url, ownEnvironment()),
      ARTIFACT_STORE: url,
      ARTIFACT_CACHE: cache,
      ARTIFACT_CACHE_MAX_MB: megabytes?.toString(),
      MANIFEST_PUBLIC_KEY: publicKeysDer.map((key) => key.toString('base64')).join(','),
      SEARCH_LISTEN: '127.0.0.1:0',
      SEARCH_INTERNAL_LISTEN: '127.0.0.1:0',
      DRAIN_MS: '0',
      ...engineEnvironment(engine),
    },
    startTimeoutMs: START_TIMEOUT_MS,
    listening: listeningSchema,
  })
  const address = `127.0.0.1:${said.port}`
  const client = openSearchNodeClient(address, clientCredentials(address, PLAINTEXT))
  return {
    client,
    /** Aborted when the process ends without `stop`. */
    ended,
    async stop() {
      client.close()
      await stop()
    },
  }
}
