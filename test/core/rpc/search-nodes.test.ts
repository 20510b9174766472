import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { promises as dns } from 'node:dns'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { status, type sendUnaryData } from '@grpc/grpc-js'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createLog } from '#core/platform/log.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import type * as searchNodes from '#core/rpc/search-nodes.ts'
import { clientCredentials } from '#core/rpc/transport.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { PLAINTEXT, startFakeNode } from '#test/support/search-node.ts'
import { CALL_TIMEOUT_MS, until } from '#test/support/until.ts'

// The least time between two looks is a moment instead of seconds; times to live are as the name server says.
vi.mock('#core/rpc/bounds.ts', async (original) => {
  const { RPC_BOUNDS } = await original<{ readonly RPC_BOUNDS: object }>()
  return { RPC_BOUNDS: { ...RPC_BOUNDS, nodesReadEveryMs: 20, nodesReadMaxMs: 2_000 } }
})
/** A copy of the module with these bounds: files of this process that come later use the one that they share. */
const MODULE: string = '#core/rpc/search-nodes.ts?short-periods'
const { openSearchNodes } = (await import(MODULE)) as typeof searchNodes

const lines: string[] = []
const log = createLog('test', 'warn', (line) => lines.push(line))
const folder = folderOfFile()
const file = join(folder, 'nodes')
const NAME = 'nodes.evidence.example'
const TYPES = { A: 1, AAAA: 28 }

/** Addresses of the name by type of record; the name server does not answer while it is undefined. */
let records: { readonly A: readonly string[]; readonly AAAA: readonly string[] } | undefined
let ttlSeconds: number
let asked: number
let resolver: dns.Resolver
const server = createSocket('udp4', (query, from) => {
  const questionEnds = query.indexOf(0, 12) + 5
  const type = query.readUInt16BE(questionEnds - 4)
  if (records === undefined) return
  asked++
  const found = type === TYPES.A ? records.A.map((ip) => Buffer.from(ip.split('.').map(Number))) : []
  if (type === TYPES.AAAA && records.AAAA.length > 0) found.push(Buffer.concat([Buffer.alloc(15), Buffer.of(1)]))
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(0x8180, 2)
  header.writeUInt16BE(found.length, 6)
  header.writeUInt16BE(0, 10)
  const answers = found.map((data) => {
    const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, ttlSeconds, 0, data.length])
    return Buffer.concat([head, data])
  })
  server.send(Buffer.concat([header, query.subarray(12, questionEnds), ...answers]), from.port)
})

let nodes: searchNodes.SearchNodes<string> | undefined
const closed: string[] = []
beforeAll(async () => {
  await once(server.bind(0, '127.0.0.1'), 'listening')
})
afterAll(() => server.close())
beforeEach(() => {
  closed.splice(0)
  ttlSeconds = 0
  asked = 0
  resolver = new dns.Resolver({ timeout: 100, tries: 1 })
  resolver.setServers([`127.0.0.1:${server.address().port}`])
})
afterEach(() => nodes?.close())

const open = (value: string): Promise<searchNodes.SearchNodes<string>> =>
  openSearchNodes(value, { open: (address) => address, close: (address) => closed.push(address), log, resolver })

const untilNodes = (expected: readonly string[]): Promise<true> =>
  until(`the nodes are ${expected.join()}`, () => nodes?.nodes.toSorted().join() === expected.join())

test('a name stands for each of its addresses, as the name server lists them after the time to live', async () => {
  records = { A: ['127.0.0.1', '127.0.0.2'], AAAA: ['::1'] }
  nodes = await open(`${NAME}:7070,127.0.0.9:7071`)
  expect(nodes.nodes).toEqual([`${NAME}/127.0.0.1:7070`, `${NAME}/127.0.0.2:7070`, '127.0.0.9:7071'])
  records = { A: ['127.0.0.2', '127.0.0.3'], AAAA: [] }
  await untilNodes(['127.0.0.9:7071', `${NAME}/127.0.0.2:7070`, `${NAME}/127.0.0.3:7070`])
  expect(closed).toEqual([`${NAME}/127.0.0.1:7070`])
  records = { A: [], AAAA: ['::1'] }
  await untilNodes(['127.0.0.9:7071', `${NAME}/[::1]:7070`])
})

test('within its time to live a name is not asked for again', async () => {
  ttlSeconds = 1
  records = { A: ['127.0.0.1'], AAAA: [] }
  const beganMs = performance.now()
  nodes = await open(`${NAME}:7070`)
  records = { A: ['127.0.0.2'], AAAA: [] }
  await untilNodes([`${NAME}/127.0.0.2:7070`])
  expect(performance.now() - beganMs).toBeGreaterThan(990)
  // Without a time to live it is some fifty times; a slow machine may send one again.
  expect(asked).toBeLessThan(8)
})

test('while the name server says nothing, or lists nothing, the nodes stay', async () => {
  records = { A: ['127.0.0.1'], AAAA: [] }
  nodes = await open(`${NAME}:7070`)
  records = undefined
  const lookups = vi.spyOn(dns, 'lookup')
  await until('the name was looked up in vain', () => lookups.mock.settledResults.length >= 1)
  records = { A: [], AAAA: [] }
  const since = lookups.mock.settledResults.length
  await until('it was again', () => lookups.mock.settledResults.length > since + 1)
  lookups.mockRestore()
  expect(nodes.nodes).toEqual([`${NAME}/127.0.0.1:7070`])
  records = { A: ['127.0.0.2'], AAAA: [] }
  await untilNodes([`${NAME}/127.0.0.2:7070`])
})

test('a name that only the system knows is found too', async () => {
  records = { A: [], AAAA: [] }
  nodes = await open('localhost:7070')
  expect(nodes.nodes).toEqual([expect.stringMatching(/^localhost\/(127\.0\.0\.1|\[::1\]):7070$/)])
})

test('a file is read again when it changes; one that is empty, broken or gone changes nothing', async () => {
  writeFileSync(file, '127.0.0.1:1\n\n127.0.0.1:2\n')
  nodes = await open(`file:${file}`)
  expect(nodes.nodes).toEqual(['127.0.0.1:1', '127.0.0.1:2'])
  writeFileSync(file, '127.0.0.1:2\n127.0.0.1:3')
  await untilNodes(['127.0.0.1:2', '127.0.0.1:3'])
  expect(closed).toEqual(['127.0.0.1:1'])
  for (const broken of ['', '127.0.0.1', '127.0.0.1:99999\n']) {
    const since = lines.length
    writeFileSync(file, broken)
    await until('it was read', () => lines.slice(since).some((line) => line.includes('search nodes not read')))
    expect(nodes.nodes).toEqual(['127.0.0.1:2', '127.0.0.1:3'])
  }
  writeFileSync(file, '127.0.0.1:4\n')
  await untilNodes(['127.0.0.1:4'])
})

test('a node that may not be asked is passed over', async () => {
  writeFileSync(file, '10.0.0.1:1\n127.0.0.1:1\n')
  const opened = await openSearchNodes(`file:${file}`, {
    open: (address) => openSearchNodeClient(address, clientCredentials(address, PLAINTEXT)),
    close: (client) => client.close(),
    log,
  })
  expect(opened.nodes.map(({ address }) => address)).toEqual(['127.0.0.1:1'])
  opened.close()
})

test('a client that is closed ends the call in flight first, and still answers whoever holds it', async () => {
  const arrived = Promise.withResolvers<sendUnaryData<object>>()
  const node = await startFakeNode((reply) => arrived.resolve(reply))
  const client = openSearchNodeClient(node.address, clientCredentials(node.address, PLAINTEXT))
  const calling = client.prepareVersion({ versionId: 'v', manifestDigest: Buffer.alloc(32) }, CALL_TIMEOUT_MS)
  const reply = await arrived.promise
  client.close()
  reply({ code: status.DATA_LOSS, details: 'the answer' })
  await expect(calling).rejects.toMatchObject({ details: 'the answer' })
  expect((await client.status(CALL_TIMEOUT_MS)).loaded).toEqual([])
  node.stop()
  await expect(client.status(CALL_TIMEOUT_MS)).rejects.toMatchObject({ code: status.UNAVAILABLE })
})
