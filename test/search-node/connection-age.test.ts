import { setTimeout as sleep } from 'node:timers/promises'
import { ServerCredentials, credentials } from '@grpc/grpc-js'
import { afterAll, expect, test, vi } from 'vitest'
import { createLog } from '#core/platform/log.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import { createNodeMetrics } from '#search-node/metrics.ts'
import { SearchPool } from '#search-node/threads/pool.ts'
import type * as serverModule from '#search-node/server.ts'
import { Versions } from '#search-node/versions.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'

// Connections and requests that live a moment instead of a minute; how long loading may take stays as it is.
vi.mock('#core/rpc/bounds.ts', async (original) => {
  const { RPC_BOUNDS } = await original<{ readonly RPC_BOUNDS: object }>()
  return { RPC_BOUNDS: { ...RPC_BOUNDS, grpcConnectionAgeMs: 200 } }
})
vi.mock('#core/platform/bounds.ts', async (original) => {
  const { PLATFORM_BOUNDS } = await original<{ readonly PLATFORM_BOUNDS: object }>()
  return { PLATFORM_BOUNDS: { ...PLATFORM_BOUNDS, hardDeadlineMs: 200 } }
})

/** A copy of the module with these bounds: files of this process that come later use the one that they share. */
const SERVER: string = '#search-node/server.ts?short-lived-connections'
const LOADING_MS = 1_000

const versions = new Versions({
  artifactFolder: () => '',
  async verify() {
    await sleep(LOADING_MS)
    throw new Error('enough')
  },
  openEverywhere: () => Promise.resolve(),
  closeEverywhere: () => Promise.resolve(),
  onState: () => undefined,
  onDamaged: () => undefined,
})
const { createServer } = (await import(SERVER)) as typeof serverModule
const pool = new SearchPool({ threads: 1, queueMax: 1 })
const server = createServer({ pool, versions, metrics: createNodeMetrics(), log: createLog('test', 'silent') })
const port = await server.listen('127.0.0.1:0', ServerCredentials.createInsecure())
const client = openSearchNodeClient(`127.0.0.1:${port}`, credentials.createInsecure())
afterAll(async () => {
  client.close()
  await server.close(1_000)
  await pool.end()
})

test('a version that takes long to load is loaded although its connection grows old meanwhile', async () => {
  const prepared = client.prepareVersion(
    { versionId: '00000000-0000-4000-8000-000000000001', manifestDigest: Buffer.alloc(32) },
    CALL_TIMEOUT_MS,
  )
  // The node's own answer, not the end of the connection.
  await expect(prepared).rejects.toMatchObject({ details: 'The search node failed; ask another node.' })
})
