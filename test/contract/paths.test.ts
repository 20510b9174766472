import { beforeAll, describe, expect, test } from 'vitest'
import { ANSWERED_QUERY, KNOWLEDGE_BASE, type Caller } from '#test/support/caller.ts'
import { readRaw, sendRaw } from '#test/support/http.ts'
import { baseUrl, createCaller, internalUrl } from './service.ts'

const BODY = JSON.stringify({ query: ANSWERED_QUERY, knowledge_base: KNOWLEDGE_BASE })
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`

let caller: Caller
beforeAll(async () => {
  caller = await createCaller()
})

async function raw(...bytes: readonly string[]): Promise<ReturnType<typeof readRaw>> {
  return readRaw(await sendRaw(baseUrl, bytes.join('')))
}

/** A connection that is kept open would be waited for: each of these asks for its end. */
function head(line: string, ...headers: readonly string[]): string {
  return [
    line,
    'Host: a',
    ...(headers.some((header) => header.startsWith('Connection')) ? [] : ['Connection: close']),
    `Authorization: Bearer ${caller.key}`,
    'Content-Type: application/json',
    ...headers,
    '',
    '',
  ].join('\r\n')
}

describe('Unknown path: 404 with INVALID_REQUEST and a sentence that says so', () => {
  test.each([
    '/',
    '/v1',
    '/v1/',
    '/v1/retrieve/',
    '//v1/retrieve',
    '/v1//retrieve',
    '/V1/retrieve',
    '/v1/Retrieve',
    '/v1/retrieve/x',
    '/v2/retrieve',
    '/v1/retrieve;a=b',
    '/v1/../v1/retrieve/..',
    '/robots.txt',
    '/%',
    '/%ff',
    `/${'a'.repeat(8_000)}`,
  ])('POST %s', async (path) => {
    const answer = await caller.ask({}, { path })
    expect([answer.status, answer.error().error.code]).toEqual([404, 'INVALID_REQUEST'])
    expect(answer.error().error.message).toMatch(/^There is no such path; .*POST \/v1\/retrieve/)
  })

  test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'LOCK', 'QUERY', 'M-SEARCH'])(
    '%s /v1/retrieve is 405, and Allow says POST',
    async (method) => {
      const answer = await caller.send(undefined, { method })
      expect([answer.status, answer.error().error.code, answer.headers.get('allow')]).toEqual([
        405,
        'INVALID_REQUEST',
        'POST',
      ])
    },
  )

  test('HEAD /v1/retrieve, without a body', async () => {
    const answer = await caller.send(undefined, { method: 'HEAD' })
    expect([answer.status, answer.bytes.length, answer.headers.get('cache-control')]).toEqual([405, 0, 'no-store'])
  })

  test('OPTIONS *', async () => {
    expect(await raw(head('OPTIONS * HTTP/1.1'))).toMatchObject({ status: 404, faults: [] })
  })

  test('CONNECT', async () => {
    expect(await raw('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n')).toMatchObject({
      status: 404,
      faults: [],
    })
  })

  test('comes without looking at the key', async () => {
    expect((await caller.ask({}, { path: '/v1', key: undefined })).status).toBe(404)
  })

  test('a query string does not make another path', async () => {
    expect((await caller.ask({}, { path: '/v1/retrieve?trace=1' })).status).toBe(200)
  })
})

describe('Keys are used from servers: what only a browser sends is refused', () => {
  test.each([
    ['Origin', { origin: 'https://app.example' }],
    ['Origin', { origin: 'null' }],
    ['Sec-Fetch-Site', { 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin' }],
    ['Sec-Fetch-Mode', { 'sec-fetch-mode': 'no-cors' }],
  ])('with 400 and a sentence: %s', async (path, headers) => {
    const answer = await caller.ask({}, { headers })
    expect([answer.status, answer.error().error.details?.[0]?.path]).toEqual([400, path])
    expect(answer.error().error.details?.[0]?.message).toContain('keys are used only from servers')
  })

  test('the fetch of Node is served, which sends Sec-Fetch-Mode: cors by itself', async () => {
    const headers = { authorization: `Bearer ${caller.key}`, 'content-type': 'application/json' }
    const reply = await fetch(`${baseUrl}/v1/retrieve`, { method: 'POST', headers, body: BODY })
    expect(reply.status).toBe(200)
    expect((await caller.ask({}, { headers: { 'sec-fetch-mode': 'cors' } })).status).toBe(200)
  })
})

describe('The document of the operation is public', () => {
  test('GET and HEAD /openapi.json, with no key', async () => {
    const reply = await fetch(`${baseUrl}/openapi.json`)
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect(await reply.json()).toMatchObject({ openapi: '3.1.0' })
    expect((await fetch(`${baseUrl}/openapi.json`, { method: 'HEAD' })).status).toBe(200)
  })

  test('other methods are 405, and the internal port does not have it', async () => {
    const answer = await caller.ask({}, { path: '/openapi.json' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect((await fetch(`${internalUrl}/openapi.json`)).status).toBe(404)
  })
})

describe('Health and metrics live on a separate internal port', () => {
  test.each(['/livez', '/readyz', '/metrics'])('%s is on the internal port and not on the public one', async (path) => {
    expect((await fetch(`${internalUrl}${path}`)).status).toBe(200)
    expect((await caller.send(undefined, { method: 'GET', path })).status).toBe(404)
  })

  test('the operation is not on the internal port', async () => {
    const response = await fetch(`${internalUrl}/v1/retrieve`, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.key}`, 'content-type': 'application/json' },
      body: BODY,
    })
    expect(response.status).toBe(404)
  })
})

describe('Request line and headers are sane: whatever is sent, the reply is of the catalogue', () => {
  test.each([
    ['noise', 'hello\r\n\r\n'],
    ['TLS on a plain port', '\u0016\u0003\u0001\u0002\u0000\u0001'],
    ['an unknown version', 'POST /v1/retrieve HTTP/9.9\r\nHost: a\r\n\r\n'],
    ['HTTP/2 by prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown method', 'BREW /v1/retrieve HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a header without a name', 'POST /v1/retrieve HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n'],
    ['a header name with a space', 'POST /v1/retrieve HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n'],
    ['two lengths', 'POST /v1/retrieve HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}'],
    ['a length that is no number', 'POST /v1/retrieve HTTP/1.1\r\nHost: a\r\nContent-Length: two\r\n\r\n{}'],
    ['a negative length', 'POST /v1/retrieve HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n{}'],
    [
      'length and chunks',
      'POST /v1/retrieve HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['an unknown transfer encoding', 'POST /v1/retrieve HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n{}'],
    ['a header section that is too large', `POST /v1/retrieve HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['a request target that is too large', `POST /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ])('%s', async (_, bytes) => {
    const reply = await raw(bytes)
    expect(reply.faults).toEqual([])
    expect(reply.status).toBe(400)
    expect(reply.headers.get('connection')).toBe('close')
  })

  test.each([
    ['HTTP/2.0 in the request line', 'HTTP/2.0', `Content-Length: ${BODY.length}`, BODY],
    ['a coding before chunked', 'HTTP/1.1', 'Transfer-Encoding: identity, chunked', CHUNKED],
    ['chunks in HTTP/1.0', 'HTTP/1.0', 'Transfer-Encoding: chunked', CHUNKED],
  ])('%s, which a proxy may read otherwise; without it the request is served', async (_, version, line, body) => {
    const sent = (of: string, coding: string): Promise<string> =>
      sendRaw(baseUrl, `${head(`POST /v1/retrieve ${of}`, coding)}${body}`)
    expect(await sent(version, line)).toMatch(/^HTTP\/1\.1 400 /)
    expect(await sent('HTTP/1.1', line.replace('identity, ', ''))).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('no Host header', async () => {
    expect(await raw('POST /v1/retrieve HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatchObject({
      status: 400,
      faults: [],
    })
  })

  test('a request line of before HTTP/1.0, which has no headers and so no key', async () => {
    expect(await raw('POST /v1/retrieve\r\n\r\n')).toMatchObject({ status: 401, faults: [] })
  })

  test.each([
    ['Host', 'Host: a'],
    ['Content-Type', 'Content-Type: application/json'],
    ['Idempotency-Key', 'Idempotency-Key: of-visible-characters'],
  ])('two headers %s, which a proxy may read otherwise', async (name, line) => {
    const sent = (...lines: readonly string[]): Promise<string> =>
      sendRaw(baseUrl, `${head('POST /v1/retrieve HTTP/1.1', ...lines, `Content-Length: ${BODY.length}`)}${BODY}`)
    expect(await sent(line, line)).toMatch(
      new RegExp(`^HTTP/1.1 400 [^]*"path":"${name}","message":"must be sent once"`),
    )
    expect(await sent()).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('an expectation that cannot be met', async () => {
    expect(
      await raw(head('POST /v1/retrieve HTTP/1.1', 'Expect: tea', `Content-Length: ${BODY.length}`), BODY),
    ).toMatchObject({ status: 400, faults: [] })
  })

  test('a chunk whose size is no number, in the body of a good request', async () => {
    expect(await raw(head('POST /v1/retrieve HTTP/1.1', 'Transfer-Encoding: chunked'), 'zz\r\n{}\r\n')).toMatchObject({
      status: 400,
      faults: [],
    })
  })

  test('Expect: 100-continue is met, then answered', async () => {
    const received = await sendRaw(
      baseUrl,
      `${head('POST /v1/retrieve HTTP/1.1', 'Expect: 100-continue', `Content-Length: ${BODY.length}`)}${BODY}`,
    )
    expect(received.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('an upgrade to another protocol is not taken up: the request is answered', async () => {
    expect(
      await raw(
        head(
          'POST /v1/retrieve HTTP/1.1',
          'Upgrade: websocket',
          'Connection: Upgrade, close',
          `Content-Length: ${BODY.length}`,
        ),
        BODY,
      ),
    ).toMatchObject({ faults: [] })
  })

  test('requests one after the other on one connection are each answered', async () => {
    const [open, last] = ['Connection: keep-alive', 'Connection: close'].map(
      (connection) => `${head('POST /v1/retrieve HTTP/1.1', connection, `Content-Length: ${BODY.length}`)}${BODY}`,
    )
    const received = await sendRaw(baseUrl, `${open}${open}${last}`)
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3)
  })
})
