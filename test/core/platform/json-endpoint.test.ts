import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { requestEmbeddings } from '#core/embedding/requests.ts'
import { askJson } from '#core/platform/json-endpoint.ts'
import { send, startJsonServer } from '#test/support/json-server.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'

const EMBEDDED = { data: [{ index: 0, embedding: [1, 2] }] }

/** What an endpoint does with the requests of a connection, by their number on it. */
type Behaviour = (socket: Socket, nth: number, calls: number) => 'answer' | void

/** An endpoint that answers unless its behaviour does something else. */
async function endpoint(behaviour: Behaviour) {
  const requests = new Map<Socket, number>()
  let calls = 0
  const { baseUrl, stop } = await startJsonServer(({ socket }, response) => {
    const nth = (requests.get(socket) ?? 0) + 1
    requests.set(socket, nth)
    calls++
    if (behaviour(socket, nth, calls) === 'answer') send(response, 200, EMBEDDED)
  })
  onTestFinished(() => stop())
  const address = { name: 'the endpoint', baseUrl, apiKey: undefined }
  const { signal } = new AbortController()
  return {
    calls: () => calls,
    ask: (timeoutMs = CALL_TIMEOUT_MS) => askJson(address, '/rerank', { timeoutMs, replyBytesMax: 1_000, signal }, {}),
    embed: () => requestEmbeddings(address, { model: 'm', input: ['text'] }, CALL_TIMEOUT_MS, signal),
  }
}

const ENDS = ['destroy', 'resetAndDestroy'] as const

test.each(ENDS)('a kept connection that ended before a byte of the reply costs no request: %s', async (end) => {
  const { ask, calls } = await endpoint((socket, nth) => (nth === 1 ? 'answer' : void socket[end]()))
  for (let request = 0; request < 10; request++) expect(await ask()).toEqual(EMBEDDED)
  // Every other one found a kept connection.
  expect(calls()).toBe(15)
})

test('embeddings are sent once: their caller repeats them', async () => {
  const { embed, calls } = await endpoint((socket, nth) => (nth === 1 ? 'answer' : void socket.destroy()))
  await embed()
  await expect(embed()).rejects.toMatchObject({ transient: true })
  expect(calls()).toBe(2)
})

const FAILURE = { transient: true, message: 'the endpoint could not be reached' }

test.each(ENDS)('a new connection that ends is tried once: %s', async (end) => {
  const { ask, calls } = await endpoint((socket) => void socket[end]())
  await expect(ask()).rejects.toMatchObject(FAILURE)
  expect(calls()).toBe(1)
})

test('the second try is the last, within the time of the first', async () => {
  const ending = await endpoint((socket, _, calls) => (calls === 1 ? 'answer' : void socket.destroy()))
  await ending.ask()
  await expect(ending.ask()).rejects.toMatchObject(FAILURE)
  expect(ending.calls()).toBe(3)
  const hanging = await endpoint((socket, nth, calls) => {
    if (nth === 2) socket.destroy()
    return calls === 1 ? 'answer' : undefined
  })
  await hanging.ask()
  await expect(hanging.ask(300)).rejects.toMatchObject({ message: 'the endpoint did not answer within 1 s' })
  expect(hanging.calls()).toBe(3)
})

test.each(['HTTP/1.1 2', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'])(
  'a reply that has begun is not asked for again: %j',
  async (begun) => {
    const { ask, calls } = await endpoint((socket, nth) =>
      nth === 1 ? 'answer' : void socket.write(begun, () => socket.destroy()),
    )
    await ask()
    await expect(ask()).rejects.toMatchObject(FAILURE)
    expect(calls()).toBe(2)
  },
)
