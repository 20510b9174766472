import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'

/** A server on a free port of loopback, for endpoints that tests play. */
export type JsonServer = Awaited<ReturnType<typeof startJsonServer>>

export async function startJsonServer(listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    /** Also cuts the connections that are open. */
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** @throws SyntaxError when the body is not JSON. */
export async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array))
  const value: unknown = JSON.parse(Buffer.concat(chunks).toString())
  return value
}
