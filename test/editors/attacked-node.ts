import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { PLAINTEXT, startNodeInProcess, openSearchNodeClients } from '#test/support/search-node.ts'

/** A search node as production starts it, on a store of its own. */
export interface AttackedNode {
  readonly root: string
  readonly client: SearchNodeClient
  stop(): Promise<void>
}

export async function startAttackedNode(root: string, publicKeyDer: Buffer): Promise<AttackedNode> {
  const node = await startNodeInProcess(root, publicKeyDer)
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
