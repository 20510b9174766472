import { Server, ServerCredentials, status } from '@grpc/grpc-js'
import type { sendUnaryData } from '@grpc/grpc-js'
import { searchNodeService } from '#core/rpc/messages.ts'

export interface FakeNode {
  readonly address: string
  stop(): void
}

type Reply = (reply: sendUnaryData<object>) => void
const unasked: Reply = (reply) => reply({ code: status.UNIMPLEMENTED })

/** A search node whose status always answers and which does with a call to prepare or search what the test says. */
export async function startFakeNode(prepare: Reply, search: Reply = unasked): Promise<FakeNode> {
  const server = new Server()
  server.addService(searchNodeService, {
    Search: (_call: unknown, reply: sendUnaryData<object>) => search(reply),
    ReleaseVersion: (_call: unknown, reply: sendUnaryData<object>) => unasked(reply),
    GetStatus: (_call: unknown, reply: sendUnaryData<object>) => reply(null, { loaded: [] }),
    PrepareVersion: (_call: unknown, reply: sendUnaryData<object>) => prepare(reply),
  })
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  )
  return { address: `127.0.0.1:${port}`, stop: () => server.forceShutdown() }
}
