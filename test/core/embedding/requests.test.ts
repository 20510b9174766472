import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { requestEmbeddings, type EmbeddingsReply } from '#core/embedding/requests.ts'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { makeCertificates } from '#test/support/secrets.ts'
import { startJsonServer, type JsonServer } from '#test/support/json-server.ts'

afterEach(() => void vi.unstubAllEnvs())

async function serving(listener: RequestListener): Promise<JsonServer> {
  const server = await startJsonServer(listener)
  onTestFinished(() => server.stop())
  return server
}

/** Sends the text `secret` with the key `k3y`. */
function embedAt(baseUrl: string, timeoutMs = 30_000, { signal } = new AbortController()): Promise<EmbeddingsReply> {
  const endpoint = { name: 'the embedding provider', baseUrl, apiKey: 'k3y' }
  return requestEmbeddings(endpoint, { model: 'm', input: ['secret'] }, timeoutMs, signal)
}

async function answering(
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): Promise<EmbeddingsReply> {
  const { baseUrl } = await serving((_, response) => void response.writeHead(status, headers).end(body))
  return await embedAt(baseUrl)
}

describe('a reply', () => {
  const vector = JSON.stringify({ data: [{ index: 0, embedding: [1, 2] }] })
  const tooLong = ' '.repeat(2 * EMBEDDING_BOUNDS.embedReplyBytesPerTextMax + 1)

  test('is read whatever its media type is', async () => {
    await expect(answering(vector, { 'content-type': 'text/plain' })).resolves.toMatchObject({ tokens: null })
  })

  test.each([
    ['of HTML', '<html>secret</html>', 'is not JSON'],
    ['that is empty', '', 'is not JSON'],
    ['that ends early', '{"data":[', 'is not JSON'],
    ['of an error', '{"error":{"message":"secret"}}', 'has no vectors'],
    ['that is longer than any right one', tooLong, 'is too long'],
  ])('%s is a failure that repeats nothing of it', async (_, body, why) => {
    const message = `the embedding provider sent a reply that ${why}`
    await expect(answering(body)).rejects.toMatchObject({ message, transient: false })
  })

  test('is bounded after decompression', async () => {
    await expect(answering(gzipSync(tooLong), { 'content-encoding': 'gzip' })).rejects.toThrow('is too long')
  })

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('that is compressed with %s is read', async (coding, compressed) => {
    await expect(answering(compressed(vector), { 'content-encoding': coding })).resolves.toMatchObject({
      data: [{ index: 0, embedding: [1, 2] }],
    })
  })

  test('without an end is given up at the bound, and the connection closed', async () => {
    const closed = Promise.withResolvers<boolean>()
    const { baseUrl } = await serving((_, response) => {
      const piece = Buffer.alloc(64 * 1_024, ' ')
      const more = (): void => {
        while (!response.closed && response.write(piece));
      }
      response.on('drain', more).on('close', () => closed.resolve(true))
      more()
    })
    await expect(embedAt(baseUrl)).rejects.toThrow('is too long')
    await expect(closed.promise).resolves.toBe(true)
  })

  test('that drips ends with the time of the attempt', async () => {
    const { baseUrl } = await serving((_, response) => {
      const drip = setInterval(() => response.write(' '), 10)
      response.on('close', () => clearInterval(drip))
    })
    const message = 'the embedding provider did not answer within 1 s'
    await expect(embedAt(baseUrl, 300)).rejects.toMatchObject({ message, transient: true })
  })

  test('whose connection breaks in the middle may be tried again', async () => {
    const { baseUrl } = await serving((_, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{"data":', () => response.destroy())
    })
    await expect(embedAt(baseUrl)).rejects.toMatchObject({ transient: true })
  })

  test.each([-1, 0.5, 'seven', null])('with %s as its tokens reports none', async (prompt_tokens) => {
    const body = JSON.stringify({ ...JSON.parse(vector), usage: { prompt_tokens } })
    await expect(answering(body)).resolves.toMatchObject({ tokens: null })
  })

  test.each([
    [{ prompt_tokens: 1e15, total_tokens: 3 }, 1e15],
    [{ total_tokens: 3 }, 3],
  ])('with %o as its usage reports it', async (usage, tokens) => {
    const body = JSON.stringify({ ...JSON.parse(vector), usage })
    await expect(answering(body)).resolves.toMatchObject({ tokens })
  })
})

test('requests to one endpoint at the same time keep their own bounds, replies and failures', async () => {
  const { baseUrl } = await serving((request, response) => {
    request.on('data', (body) => {
      const text = Number(/"t(\d)/.exec(String(body))?.[1])
      const reply = JSON.stringify({ data: [{ index: 0, embedding: [text, 1] }] })
      setTimeout(() => response.writeHead(text === 3 ? 500 : 200).end(reply), text === 2 ? 2_000 : 50)
    })
  })
  const endpoint = { name: 'it', baseUrl, apiKey: undefined }
  const { signal } = new AbortController()
  const ask = (input: string): Promise<EmbeddingsReply> =>
    requestEmbeddings(endpoint, { model: 'm', input: [input] }, input === 't2' ? 300 : 30_000, signal)
  expect(await Promise.allSettled(['t1', 't2', 't3'].map(ask))).toMatchObject([
    { value: { data: [{ embedding: [1, 1] }] } },
    { reason: { message: 'it did not answer within 1 s' } },
    { reason: { message: 'it answered with status 500' } },
  ])
})

describe('a refusal', () => {
  test('with a long or broken body is told by its status', async () => {
    const message = 'the embedding provider answered with status 500'
    const long = JSON.stringify({ error: { code: 'x', message: 'm'.repeat(PLATFORM_BOUNDS.refusalBytesMax) } })
    await expect(answering(long, {}, 500)).rejects.toMatchObject({ message, transient: true })
    await expect(answering('<html>', {}, 500)).rejects.toMatchObject({ message, transient: true })
  })

  test('with code or type in another form than text is told by its status', async () => {
    const body = JSON.stringify({ error: { code: 429, type: 'too_many' } })
    await expect(answering(body, {}, 429)).rejects.toThrow(/status 429 \(too_many\)$/)
  })
})

test.each([301, 302, 303, 307, 308])('key and texts are not sent where status %i redirects to', async (status) => {
  let reached = 0
  const other = await serving((_, response) => {
    reached++
    response.end('{"data":[]}')
  })
  const { baseUrl } = await serving((_, response) => {
    response.writeHead(status, { location: `${other.baseUrl}/embeddings` }).end()
  })
  const message = `the embedding provider answered with status ${status}`
  await expect(embedAt(baseUrl)).rejects.toMatchObject({ message, transient: false })
  expect(reached).toBe(0)
})

test('requests one after the other use connections again', async () => {
  const ports = new Set<number | undefined>()
  const { baseUrl } = await serving((request, response) => {
    ports.add(request.socket.remotePort)
    response.end('{"data":[]}')
  })
  for (let count = 0; count < 12; count++) await embedAt(baseUrl)
  expect(ports.size).toBeLessThan(6)
})

test('an abort while a reply is read closes its connection', async () => {
  const caller = new AbortController()
  const closed = Promise.withResolvers<boolean>()
  const { baseUrl } = await serving((_, response) => {
    response.on('close', () => closed.resolve(true))
    response.write('{"data":', () => caller.abort())
  })
  await expect(embedAt(baseUrl, 30_000, caller)).rejects.toMatchObject({
    message: 'the request to the embedding provider was aborted',
    transient: false,
  })
  await expect(closed.promise).resolves.toBe(true)
})

test('an endpoint whose certificate is not trusted gets no request', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'endpoint-'))
  const { cert, key } = makeCertificates(folder, 'endpoint')
  let reached = 0
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, () => reached++)
  using ending = new DisposableStack()
  ending.defer(() => rmSync(folder, { recursive: true, force: true }))
  ending.defer(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = z.object({ port: z.number() }).parse(server.address())
  await expect(embedAt(`https://127.0.0.1:${port}/v1`)).rejects.toMatchObject({
    message: 'the embedding provider could not be reached',
    transient: true,
  })
  expect(reached).toBe(0)
})

test('a request holds the key and nothing else of the environment', async () => {
  for (const name of ['OPENAI_ORG_ID', 'OPENAI_PROJECT_ID', 'OPENAI_ADMIN_KEY']) vi.stubEnv(name, 'of-the-environment')
  vi.stubEnv('OPENAI_CUSTOM_HEADERS', 'x-other: of-the-environment')
  let sent = ''
  const { baseUrl } = await serving((request, response) => {
    sent = JSON.stringify([request.url, request.headers])
    response.end('{"data":[]}')
  })
  await embedAt(`${baseUrl}/`)
  expect(sent).toContain('"/v1/embeddings"')
  expect(sent).toContain('Bearer k3y')
  expect(sent).not.toContain('of-the-environment')
})

test('headers of the environment that are not valid are refused without their text', async () => {
  vi.stubEnv('OPENAI_CUSTOM_HEADERS', 'no name: of-the-environment')
  const message = 'OPENAI_CUSTOM_HEADERS holds a header that is not valid: unset it; it is not used.'
  await expect(embedAt('http://127.0.0.1:1')).rejects.toThrow(message)
})
