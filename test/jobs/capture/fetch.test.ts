import { readFile, readdir } from 'node:fs/promises'
import type { IncomingMessage, RequestListener } from 'node:http'
import { afterAll, expect, test } from 'vitest'
import { sha256 } from '#core/platform/digest.ts'
import { isPublic, fetchInto, type Fetched } from '#jobs/capture/fetch.ts'
import { startJsonServer } from '#test/support/json-server.ts'
import { storeIn } from '#test/support/artifact.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()
let answer: RequestListener
const seen: IncomingMessage[] = []
const server = await startJsonServer((request, response) => {
  seen.push(request)
  answer(request, response)
})
afterAll(() => server.stop())

const BYTES = Buffer.from('<act>\u00A7 1</act>\n')

async function fetched(
  answerWith: RequestListener,
  input: Partial<Parameters<typeof fetchInto>[1]> = {},
): Promise<Fetched> {
  answer = answerWith
  const store = storeIn(folder)
  return await fetchInto(store, {
    url: `${server.baseUrl}/act.xml`,
    hosts: new Set(['127.0.0.1']),
    isPrivate: true,
    hostPauseMs: 1,
    ...input,
  })
}

test('keeps the exact bytes under their SHA-256, with the address that answered and the headers that matter', async () => {
  const found = await fetched((request, response) => {
    if (request.url === '/v1/act.xml') response.writeHead(302, { location: '/v1/new.xml' }).end()
    else
      response
        .writeHead(200, {
          etag: '"a"',
          'last-modified': 'Mon, 02 Mar 2026 10:00:00 GMT',
          'content-encoding': 'Identity',
          'x-other': '1',
        })
        .end(BYTES)
  })
  const sha256Hex = sha256(BYTES).toString('hex')
  expect(found).toMatchObject({
    kind: 'body',
    sha256: sha256Hex,
    bytes: BYTES.length,
    finalUrl: `${server.baseUrl}/new.xml`,
  })
  expect(found).toMatchObject({ headers: { etag: '"a"', 'last-modified': 'Mon, 02 Mar 2026 10:00:00 GMT' } })
  expect(found).not.toMatchObject({ headers: { 'x-other': '1' } })
  const file = storeIn(folder).snapshotFile(sha256Hex)
  expect(await readFile(file)).toEqual(BYTES)
})

test('asks for a change by the headers of the last answer, and takes 304 for unchanged', async () => {
  const known = { etag: '"a"', 'last-modified': 'Mon, 02 Mar 2026 10:00:00 GMT' }
  expect(await fetched((_, response) => response.writeHead(304).end(), { known })).toEqual({ kind: 'unchanged' })
  expect(seen.at(-1)?.headers).toMatchObject({
    'if-none-match': '"a"',
    'if-modified-since': 'Mon, 02 Mar 2026 10:00:00 GMT',
    'accept-encoding': 'identity',
  })
})

test.each([
  ['a status', (_: unknown, response: Response) => response.writeHead(503).end('busy'), /answered with status 503/],
  ['an empty answer', (_: unknown, response: Response) => response.writeHead(200).end(), /empty file/],
  [
    'an answer that breaks off',
    (_: unknown, response: Response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half')
      setImmediate(() => response.destroy())
    },
    /broke off after/,
  ],
  [
    'an encoding that was not asked for',
    (_: unknown, response: Response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(BYTES),
    /encoding that was not asked for/,
  ],
  [
    'a switch of protocols',
    (_: unknown, response: Response) => response.writeHead(101, { upgrade: 'x', connection: 'upgrade' }).end(),
    /does not answer: closed/,
  ],
  [
    'redirects without end',
    (_: unknown, response: Response) => response.writeHead(302, { location: '/v1/act.xml' }).end(),
    /redirects more than 5 times/,
  ],
  [
    'a redirect to a host that is not allowed',
    (_: unknown, response: Response) => response.writeHead(302, { location: 'https://elsewhere.example/a' }).end(),
    /elsewhere\.example is no allowed host/,
  ],
  [
    'a redirect to another scheme',
    (_: unknown, response: Response) => response.writeHead(302, { location: 'file:///etc/hosts' }).end(),
    /is not HTTPS/,
  ],
] as const)('%s is refused with a sentence, and leaves no file', async (_name, answerWith, sentence) => {
  await expect(fetched(answerWith)).rejects.toThrow(sentence)
  const left = await readdir(folder, { recursive: true, withFileTypes: true })
  expect(left.filter((entry) => entry.isFile() && entry.parentPath.includes('incoming'))).toEqual([])
})

type Response = Parameters<RequestListener>[1]

test.each([
  ['https://127.0.0.1/a', '127.0.0.1'],
  ['https://[::1]/a', '[::1]'],
  ['https://[::ffff:10.0.0.1]/a', '[::ffff:a00:1]'],
  ['https://2130706433/a', '127.0.0.1'],
  // The name is public; the address to which it resolves is not.
  ['https://localhost/a', 'localhost'],
])('%s is refused as an address of a private network before anything is sent', async (url, host) => {
  const before = seen.length
  const refused = fetched((_, response) => response.end(BYTES), { url, hosts: new Set([host]), isPrivate: false })
  await expect(refused).rejects.toThrow(/address of a private network/)
  expect(seen).toHaveLength(before)
})

test('plain HTTP is refused unless the source allows a private network', async () => {
  await expect(fetched((_, response) => response.end(BYTES), { isPrivate: false })).rejects.toThrow(/is not HTTPS/)
})

test.each([
  ['93.184.215.14', true],
  ['10.1.2.3', false],
  ['100.64.0.1', false],
  ['169.254.169.254', false],
  ['172.31.0.1', false],
  ['0.0.0.0', false],
  ['2606:4700::1111', true],
  ['fe80::1', false],
  ['fc00::1', false],
  ['::ffff:169.254.169.254', false],
  ['64:ff9b::a00:1', false],
  ['2002:a00:1::', false],
  ['localhost', false],
])('%s is public: %s', (address, expected) => {
  expect(isPublic(address)).toBe(expected)
})
