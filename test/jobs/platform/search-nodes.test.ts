import { credentials, status } from '@grpc/grpc-js'
import { afterEach, expect, test } from 'vitest'
import { openSearchNodeClient, type SearchNodeClient } from '#core/rpc/search-client.ts'
import { prepareOnLiveNodes } from '#jobs/platform/search-nodes.ts'
import { startFakeNode } from '#test/support/search-node.ts'

const VERSION = { versionId: '00000000-0000-4000-8000-000000000001', manifestDigest: Buffer.alloc(32) }
const closings: (() => void)[] = []

afterEach(() => {
  for (const close of closings.splice(0)) close()
})

/** A node whose calls to prepare break off so many times before one loads. */
async function nodeThatBreaksOff(times: number): Promise<SearchNodeClient> {
  let left = times
  const node = await startFakeNode((reply) =>
    left-- > 0 ? reply({ code: status.UNAVAILABLE, details: 'Connection dropped' }) : reply(null, { passages: 1 }),
  )
  const client = openSearchNodeClient(node.address, credentials.createInsecure())
  closings.push(() => client.close(), node.stop)
  return client
}

test('a live node whose connection breaks while it loads is asked again and counts as loaded', async () => {
  const node = await nodeThatBreaksOff(2)
  expect(await prepareOnLiveNodes([node], VERSION)).toEqual({ loaded: [node], unreachable: [], failed: [] })
})

test('a node that answers but never loads has failed: it is not passed over as if it were away', async () => {
  const node = await nodeThatBreaksOff(Infinity)
  expect(await prepareOnLiveNodes([node], VERSION)).toEqual({
    loaded: [],
    unreachable: [],
    failed: [{ address: node.address, reason: 'UNAVAILABLE: Connection dropped' }],
  })
})

test('a node whose status does not answer is away', async () => {
  const node = openSearchNodeClient('127.0.0.1:9', credentials.createInsecure())
  closings.push(() => node.close())
  expect(await prepareOnLiveNodes([node], VERSION)).toEqual({ loaded: [], unreachable: ['127.0.0.1:9'], failed: [] })
})
