import { PLAINTEXT, startNodeInProcess, openSearchNodeClients } from '#test/support/search-node.ts'

/** A search node as production starts it, on a store of its own. */
export type AttackedNode = Awaited<ReturnType<typeof startAttackedNode>>

export async function startAttackedNode(root: string, publicKeyDer: Buffer) {
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
