import { pathToFileURL } from 'node:url'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { createLog } from '#core/platform/log.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { openSearchNodeClients } from '#jobs/search-nodes.ts'
import { startSearchNode } from '#search-node/node.ts'
import { PLAINTEXT } from '#test/support/search-node.ts'

/** A search node as production starts it, on a store of its own. */
export interface AttackedNode {
  readonly root: string
  readonly client: SearchNodeClient
  stop(): Promise<void>
}

export async function startAttackedNode(root: string, publicKeyDer: Buffer): Promise<AttackedNode> {
  const node = await startSearchNode(
    {
      ARTIFACT_STORE: pathToFileURL(root).href,
      MANIFEST_PUBLIC_KEY: [publicKeyDer],
      ...PLAINTEXT,
      LOG_LEVEL: 'silent',
      SEARCH_LISTEN: '127.0.0.1:0',
      SEARCH_THREADS: 1,
      SEARCH_CODES_MB: INDEX_BOUNDS.residentCodesMbDefault,
      DRAIN_MS: 0,
    },
    createLog('test', 'silent'),
  )
  const [client] = openSearchNodeClients([`127.0.0.1:${node.port}`], PLAINTEXT)
  if (client === undefined) throw new Error('no client was opened')
  return {
    root,
    client,
    async stop() {
      client.close()
      await node.stop()
    },
  }
}
