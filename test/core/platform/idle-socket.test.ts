import { createServer, type AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { postJson } from '#core/platform/json-endpoint.ts'

/** Answers so many requests of each connection, then ends it at the next one without a byte. */
let answersPerConnection = 1
let requests = 0
const server = createServer((socket) => {
  let answered = 0
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => {
    if (!chunk.toString().endsWith('{}')) return
    requests++
    if (answered++ >= answersPerConnection) socket.end()
    else socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
  })
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
afterAll(() => new Promise((resolve) => server.close(resolve)))

function ask(): Promise<unknown> {
  const { port } = server.address() as AddressInfo
  const address = { name: 'the re-ranker', baseUrl: `http://127.0.0.1:${port}`, apiKey: undefined }
  return postJson(
    address,
    '/rerank',
    {},
    { timeoutMs: 60_000, replyBytesMax: 100, signal: new AbortController().signal },
  )
}

test('a request whose reused connection ended before a byte came is sent once more; on a new connection it is not', async () => {
  for (let n = 0; n < 5; n++) {
    expect(await ask()).toEqual({})
    // The connection becomes idle some turns after its reply.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  // Of each connection, the second request is the one that was lost.
  expect(requests).toBe(9)
  answersPerConnection = 0
  requests = 0
  await expect(ask()).rejects.toThrow('could not be reached')
  // The last connection had served before; the one after it had not.
  expect(requests).toBe(2)
})
