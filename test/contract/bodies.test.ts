import { request, type IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { ANSWERED_QUERY, KNOWLEDGE_BASE, type Caller } from '#test/support/caller.ts'
import { readRaw, sendRaw, type Answer } from '#test/support/http.ts'
import { baseUrl, createCaller } from './service.ts'

const BODY_BYTES_MAX = 16_384
const REQUEST = { query: ANSWERED_QUERY, knowledge_base: KNOWLEDGE_BASE }
const JSON_TEXT = JSON.stringify(REQUEST)

let caller: Caller
beforeAll(async () => {
  caller = await createCaller()
})

function expectRefused(answer: Answer, status: number, path: string): void {
  expect([answer.status, answer.error().error.code, answer.error().error.details?.[0]?.path]).toEqual([
    status,
    'INVALID_REQUEST',
    path,
  ])
}

describe('Limits: request body of at most 16,384 bytes', () => {
  test('16,384 declared bytes are accepted, 16,385 are 413', async () => {
    expect((await caller.send(JSON_TEXT.padEnd(BODY_BYTES_MAX))).status).toBe(200)
    expectRefused(await caller.send(JSON_TEXT.padEnd(BODY_BYTES_MAX + 1)), 413, '(body)')
  })

  test('16,384 streamed bytes are accepted, 16,385 are 413', async () => {
    const inPieces = (text: string): string[] => text.match(/[^]{1,1000}/g) ?? []
    expect((await caller.send(undefined, { chunks: inPieces(JSON_TEXT.padEnd(BODY_BYTES_MAX)) })).status).toBe(200)
    expectRefused(
      await caller.send(undefined, { chunks: inPieces(JSON_TEXT.padEnd(BODY_BYTES_MAX + 1)) }),
      413,
      '(body)',
    )
  })

  test('bytes count, not characters', async () => {
    const bodyOf = (euros: number): string => JSON.stringify({ ...REQUEST, query: '€'.repeat(euros) })
    // Too many characters for a query, but few enough bytes: refused for what the query is, not for the size of the
    // body.
    const fitting = Math.floor((BODY_BYTES_MAX - Buffer.byteLength(bodyOf(0))) / 3)
    expectRefused(await caller.send(bodyOf(fitting)), 400, '/query')
    expect(bodyOf(fitting + 1).length).toBeLessThan(BODY_BYTES_MAX)
    expectRefused(await caller.send(bodyOf(fitting + 1)), 413, '(body)')
  })

  test('a body that is declared too large is refused without waiting for it', async () => {
    const head =
      `POST /v1/retrieve HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${caller.key}\r\nContent-Type: ` +
      `application/json\r\nContent-Length: 1000000000\r\n\r\n`
    const reply = readRaw(await sendRaw(baseUrl, head))
    expect([reply.status, reply.faults]).toEqual([413, []])
  })

  test('without a good key the body is not even looked at', async () => {
    const head =
      'POST /v1/retrieve HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n'
    const reply = readRaw(await sendRaw(baseUrl, head))
    expect([reply.status, reply.faults]).toEqual([401, []])
  })

  test('a body that stops arriving is given up on, in the words of the catalogue', async () => {
    const head =
      `POST /v1/retrieve HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${caller.key}\r\nContent-Type: ` +
      `application/json\r\nContent-Length: 100\r\n\r\n{"query"`
    const reply = readRaw(await sendRaw(baseUrl, head))
    expect([reply.status, reply.faults]).toEqual([400, []])
    expect(reply.headers.get('connection')).toBe('close')
  })
})

describe('Bodies: 400 INVALID_REQUEST for malformed JSON', () => {
  test.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['half an object', '{"query":'],
    ['more than one value', `${JSON_TEXT}${JSON_TEXT}`],
    ['single quotes', "{'query':'a'}"],
    ['a trailing comma', '{"query":"a",}'],
    ['a comment', `${JSON_TEXT}// why`],
    ['NaN', '{"query":NaN}'],
    ['a raw line end in a string', '{"query":"a\nb"}'],
    ['an unknown escape', String.raw`{"query":"\x41"}`],
    ['a form', 'query=capital'],
    ['nesting without end', '['.repeat(16_000)],
    ['deep nesting', `${'['.repeat(8_000)}${']'.repeat(8_000)}`],
  ])('%s', async (_, body) => {
    expectRefused(await caller.send(body), 400, '(body)')
  })

  test.each(['null', 'true', '7', '"capital"', '[]', '[{}]'])('JSON that is not an object: %s', async (body) => {
    expectRefused(await caller.send(body), 400, '(body)')
  })

  test('no body at all', async () => {
    expectRefused(await caller.send(undefined), 400, '(body)')
  })

  test.each([
    ['a stray byte', Buffer.from([0xff])],
    ['a sequence cut short', Buffer.from([0xe2, 0x82])],
    ['an overlong form', Buffer.from([0xc0, 0xaf])],
    ['an encoded surrogate', Buffer.from([0xed, 0xa0, 0x80])],
    ['beyond U+10FFFF', Buffer.from([0xf4, 0x90, 0x80, 0x80])],
  ])('bytes that are not UTF-8: %s', async (_, bytes) => {
    const [before = '', after = ''] = JSON_TEXT.split('days')
    expectRefused(await caller.send(Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)])), 400, '(body)')
  })

  test.each([
    ['UTF-8', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON_TEXT)])],
    ['UTF-16', Buffer.from(`\ufeff${JSON_TEXT}`, 'utf16le')],
  ])('a byte order mark of %s', async (_, bytes) => {
    expectRefused(await caller.send(bytes), 400, '(body)')
  })
})

describe('Headers: Content-Type is application/json', () => {
  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json; charset=utf-8; profile="a;b"',
  ])('accepted: %s', async (type) => {
    expect((await caller.send(JSON_TEXT, { headers: { 'content-type': type } })).status).toBe(200)
  })

  test.each([
    undefined,
    '',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'application/vnd.api+json',
    'application/jsonp',
    'application/json, text/plain',
    'application/json; charset=iso-8859-1',
    'application/json; x=y; charset=latin1',
  ])('refused: %s', async (type) => {
    expectRefused(await caller.send(JSON_TEXT, { headers: { 'content-type': type } }), 400, 'Content-Type')
  })
})

describe('Headers: no Content-Encoding', () => {
  test.each(['gzip', 'br', 'identity', ''])('refused: "%s"', async (encoding) => {
    const body = encoding === 'gzip' ? gzipSync(JSON_TEXT) : JSON_TEXT
    expectRefused(await caller.send(body, { headers: { 'content-encoding': encoding } }), 400, 'Content-Encoding')
  })
})

test('a body that takes longer than 5 s is refused, and the reply says so', async () => {
  const sending = request(new URL('/v1/retrieve', baseUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.key}`, 'content-type': 'application/json', 'content-length': 99 },
  })
  sending.write('{')
  const reply = await new Promise<IncomingMessage>((resolve) => sending.once('response', resolve))
  expect([reply.statusCode, await textOf(reply)]).toEqual([400, expect.stringContaining('must arrive within 5 s')])
  sending.destroy()
})
