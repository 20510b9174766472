import { Server, ServerCredentials, status } from '@grpc/grpc-js'
import type { sendUnaryData } from '@grpc/grpc-js'
import { searchNodeService } from '#core/rpc/messages.ts'

export interface FakeNode {
  readonly address: string
  stop(): void
}

/** A search node whose status always answers and which does with a call to prepare what the test says. */
export async function startFakeNode(prepare: (reply: sendUnaryData<object>) => void): Promise<FakeNode> {
  const server = new Server()
  const unasked = (_call: unknown, reply: sendUnaryData<object>): void => reply({ code: status.UNIMPLEMENTED })
  server.addService(searchNodeService, {
    Search: unasked,
    ReleaseVersion: unasked,
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
