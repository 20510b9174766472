import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openEngineClient } from '#core/engine/client.ts'
import { searchIndex } from '#core/engine/query.ts'
import { NO_ENGINE, engineFaults, type EngineSettings } from '#core/engine/settings.ts'
import { send } from '#test/support/json-server.ts'
import { makeCertificates } from '#test/support/secrets.ts'
import { folderOfFile } from '#test/support/folder.ts'

const USER = { OPENSEARCH_USER: 'evidence', OPENSEARCH_PASSWORD: 'p:ss wörd' } as const
const AUTHORIZED = `Basic ${Buffer.from(`${USER.OPENSEARCH_USER}:${USER.OPENSEARCH_PASSWORD}`).toString('base64')}`

const folder = folderOfFile()
const servers: Server[] = []
const certificates = makeCertificates(folder, 'localhost')
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }
})

async function listening(server: Server): Promise<number> {
  servers.push(server)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Answers only those who authenticate, as a proxy before a cluster does. */
const guarded: RequestListener = (request, response) =>
  request.headers.authorization === AUTHORIZED
    ? send(response, 200, { cluster: 'reached' })
    : send(response, 401, { error: { type: 'security_exception', reason: 'text of the request' } })

const startTls = (): Promise<number> =>
  listening(createTlsServer({ key: readFileSync(certificates.key), cert: readFileSync(certificates.cert) }, guarded))

const startPlain = (listener: RequestListener): Promise<number> => listening(createHttpServer(listener))

const reply = z.object({ cluster: z.string() })

async function get(settings: Partial<EngineSettings>, timeoutMs = 10_000): Promise<unknown> {
  await using client = await openEngineClient({ ...NO_ENGINE, ...settings })
  return await client.request({ method: 'GET', path: '/', timeoutMs }, reply)
}

test('a cluster is asked over TLS under its own authority, with basic authentication', async () => {
  const url = `https://127.0.0.1:${await startTls()}`
  const settings = { OPENSEARCH_URL: [url], OPENSEARCH_CA: certificates.ca, ...USER }
  expect(await get(settings)).toEqual({ cluster: 'reached' })
  await expect(get({ ...settings, OPENSEARCH_PASSWORD: 'other' })).rejects.toMatchObject({ fault: 'refused' })
  await expect(get({ ...settings, OPENSEARCH_CA: undefined })).rejects.toMatchObject({ fault: 'unavailable' })
})

test('an error names neither what was sent nor what came back', async () => {
  const url = `https://127.0.0.1:${await startTls()}`
  await expect(get({ OPENSEARCH_URL: [url], OPENSEARCH_CA: certificates.ca })).rejects.toThrow(
    /^OpenSearch answered GET \/ with status 401 \(security_exception\)\.$/,
  )
})

test('a request ends in its time although nodes that stand still are tried in turn', async () => {
  const still: RequestListener = () => undefined
  const urls = [await startPlain(still), await startPlain(still)].map((port) => `http://127.0.0.1:${port}`)
  const began = performance.now()
  await expect(get({ OPENSEARCH_URL: urls }, 300)).rejects.toMatchObject({ fault: 'unavailable' })
  expect(performance.now() - began).toBeLessThan(10_000)
})

test('a node that is down or overloaded is passed over for the next', async () => {
  const closed = await startPlain(() => undefined)
  servers.pop()?.close()
  const busy = await startPlain((_request, response) => send(response, 503, {}))
  const well = await startPlain((_request, response) => send(response, 200, { cluster: 'reached' }))
  const urls = [closed, busy, well].map((port) => `http://127.0.0.1:${port}`)
  for (let at = 0; at < 3; at++) expect(await get({ OPENSEARCH_URL: urls })).toEqual({ cluster: 'reached' })
})

const ENGINE = { index: 'evidence-1', shards: 3 }

/** A cluster whose searches get this reply. */
async function searchOf(body: object): Promise<unknown> {
  const port = await startPlain((_request, response) => send(response, 200, body))
  await using client = await openEngineClient({ ...NO_ENGINE, OPENSEARCH_URL: [`http://127.0.0.1:${port}`] })
  return await searchIndex(client, ENGINE, {}, 10_000)
}

const whole = { total: 3, successful: 3, skipped: 0, failed: 0 }
const hits = { hits: [{ _score: 2, fields: { row: [7], digest: ['ab'] } }] }

test('hits count only where every shard answered in time', async () => {
  expect(await searchOf({ timed_out: false, _shards: whole, hits })).toEqual([{ row: 7, digest: 'ab', score: 2 }])
  for (const part of [
    { timed_out: true, _shards: whole },
    { timed_out: false, _shards: { ...whole, successful: 2 } },
    { timed_out: false, _shards: { ...whole, total: 2, successful: 2 } },
    { timed_out: false, _shards: { ...whole, failed: 1 } },
  ])
    await expect(searchOf({ ...part, hits })).rejects.toMatchObject({ fault: 'unavailable' })
})

test('a reply of another form is a failure, not an empty list', async () => {
  await expect(searchOf({ hits: { hits: [] } })).rejects.toMatchObject({ fault: 'unavailable' })
})

test('HTTP, or no user, is refused for every address but loopback, unless it is allowed', () => {
  const remote = { OPENSEARCH_URL: ['https://search.example:9200'], OPENSEARCH_PLAINTEXT: 'refuse' } as const
  expect(engineFaults({ ...remote, ...USER })).toEqual([])
  expect(engineFaults(remote)).toHaveLength(1)
  expect(engineFaults({ ...remote, OPENSEARCH_URL: ['http://search.example:9200'], ...USER })).toHaveLength(1)
  expect(engineFaults({ ...remote, OPENSEARCH_URL: ['http://127.0.0.1:9200', 'http://localhost:9201'] })).toEqual([])
  expect(engineFaults({ ...remote, OPENSEARCH_PLAINTEXT: 'allow' })).toEqual([])
  expect(engineFaults({ ...remote, OPENSEARCH_USER: 'evidence' })).toHaveLength(1)
})
