import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { sha256 } from '#core/platform/digest.ts'
import { readModelFolder } from '#jobs/encoder/model-folder.ts'
import { CATALOGUE, FETCHED_FILE, type KnownRelease } from '#jobs/encoder/models/catalogue.ts'
import { fetchModel, releaseNamed } from '#jobs/encoder/models/fetch.ts'
import { startJsonServer, type JsonServer } from '#test/support/json-server.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { folderOfTest } from '#test/support/folder.ts'

const GRAPH = randomBytes(300_000)
const TOKENIZER = Buffer.from('{"model":{}}')
const [[, small] = []] = Object.entries(CATALOGUE)

function pinned(path: string, bytes: Buffer): KnownRelease['files'][number] {
  return { path, bytes: bytes.length, sha256: sha256(bytes).toString('hex') }
}

const release: KnownRelease = {
  repository: 'made-up/tiny',
  revision: 'a'.repeat(40),
  licence: 'CC0-1.0',
  files: [pinned('onnx/model.onnx', GRAPH), pinned('tokenizer.json', TOKENIZER)],
  layout: small?.layout ?? {},
}

const servers: JsonServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()))
})

async function serve(listener: RequestListener): Promise<string> {
  const server = await startJsonServer(listener)
  servers.push(server)
  return new URL(server.baseUrl).origin
}

/** As the hub answers, with ranges. */
function asTheHub(request: IncomingMessage, response: ServerResponse): void {
  const body = request.url?.endsWith('model.onnx') === true ? GRAPH : TOKENIZER
  const [, start] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? []
  if (start === undefined) return void response.writeHead(200, { 'content-length': body.length }).end(body)
  const rest = body.subarray(Number(start))
  const range = `bytes ${start}-${body.length - 1}/${body.length}`
  response.writeHead(206, { 'content-length': rest.length, 'content-range': range }).end(rest)
}

const { signal } = new AbortController()

async function fetchFrom(from: string, models = folderOfTest()): Promise<{ folder: string; wasThere: boolean }> {
  return await fetchModel({ name: 'tiny', release, models, from, signal, onProgress: () => undefined })
}

test('a model is fetched from its pinned revision into a folder that cannot be written to, once', async () => {
  const asked: (string | undefined)[] = []
  const from = await serve((request, response) => {
    asked.push(request.url)
    asTheHub(request, response)
  })
  const models = folderOfTest()
  const { folder } = await fetchFrom(from, models)
  expect(asked).toEqual(release.files.map(({ path }) => `/made-up/tiny/resolve/${'a'.repeat(40)}/${path}`))
  expect(readdirSync(models)).toEqual(['tiny'])
  expect(readFileSync(join(folder, 'onnx/model.onnx')).equals(GRAPH)).toBe(true)
  for (const path of ['', 'onnx', 'onnx/model.onnx', 'tokenizer.json', 'modules.json'])
    expect(statSync(join(folder, path)).mode & 0o222).toBe(0)
  expect(await fetchFrom(from, models)).toEqual({ folder, wasThere: true })
  expect(asked).toHaveLength(2)
})

test('a download that is cut is continued where it ended, in the same run and in the next one', async () => {
  const ranges: (string | undefined)[] = []
  const from = await serve((request, response) => {
    if (request.url?.endsWith('model.onnx') === true) ranges.push(request.headers.range)
    if (ranges.length > 1 || request.url?.endsWith('model.onnx') !== true) return asTheHub(request, response)
    response.writeHead(200, { 'content-length': GRAPH.length })
    response.write(GRAPH.subarray(0, 150_000), () => response.destroy())
  })
  const models = folderOfTest()
  const partial = join(models, `.tiny.${'a'.repeat(12)}.partial/onnx`)
  mkdirSync(partial, { recursive: true })
  writeFileSync(join(partial, 'model.onnx'), GRAPH.subarray(0, 1_000))
  const { folder } = await fetchFrom(from, models)
  expect(ranges[0]).toBe('bytes=1000-')
  expect(ranges.at(-1)).toMatch(/^bytes=[1-9]\d*-$/)
  expect(readFileSync(join(folder, 'onnx/model.onnx')).equals(GRAPH)).toBe(true)
})

test('a file with another digest is removed, and no folder appears', async () => {
  const from = await serve((_request, response) => void response.end(randomBytes(GRAPH.length)))
  const models = folderOfTest()
  await expect(fetchFrom(from, models)).rejects.toThrow(/^onnx\/model\.onnx has the SHA-256 [0-9a-f]{64} and not /)
  expect(existsSync(join(models, 'tiny'))).toBe(false)
  expect(existsSync(join(models, `.tiny.${'a'.repeat(12)}.partial/onnx/model.onnx`))).toBe(false)
})

test('a larger file is refused by its declared size, and where it declares none, at its bound', async () => {
  const declared = await serve(
    (_request, response) => void response.writeHead(200, { 'content-length': 1e10 }).write('a'),
  )
  await expect(fetchFrom(declared)).rejects.toThrow(/sends more than the 300000 bytes of onnx\/model\.onnx/)
  let sent = 0
  const endless = await serve((_request, response) => {
    const more = (): void => {
      if (response.destroyed || sent > 100_000_000) return
      sent += 65_536
      response.write(Buffer.alloc(65_536), more)
    }
    more()
  })
  await expect(fetchFrom(endless)).rejects.toThrow(/sends more than the 300000 bytes/)
  expect(sent).toBeLessThan(100_000_000)
})

test('a redirection is followed within a server, and to no other host', async () => {
  const from = await serve((request, response) => {
    if (request.url?.startsWith('/moved') === true) return asTheHub(request, response)
    response.writeHead(302, { location: `/moved${request.url}` }).end()
  })
  expect((await fetchFrom(from)).wasThere).toBe(false)
  let reached = 0
  const other = await serve((_request, response) => {
    reached++
    response.end()
  })
  const elsewhere = await serve((_request, response) => void response.writeHead(302, { location: `${other}/x` }).end())
  await expect(fetchFrom(elsewhere)).rejects.toThrow(/redirects to http:\/\/127\.0\.0\.1:\d+, which is not followed/)
  expect(reached).toBe(0)
})

test('what a folder holds is not loaded where it differs from the list', async () => {
  const models = folderOfTest()
  const from = await serve(asTheHub)
  const { folder } = await fetchFrom(from, models)
  await expect(readModelFolder(folder)).rejects.toThrow(`${FETCHED_FILE} names no model of this release`)
  const named = folderOfTest()
  for (const [name, value] of Object.entries(release.layout)) {
    mkdirSync(join(named, name, '..'), { recursive: true })
    writeFileSync(join(named, name), JSON.stringify(value))
  }
  mkdirSync(join(named, 'onnx'))
  writeFileSync(join(named, 'onnx/model.onnx'), GRAPH)
  writeFileSync(join(named, 'tokenizer.json'), TOKENIZER)
  const { revision } = small ?? {}
  writeFileSync(join(named, FETCHED_FILE), JSON.stringify({ name: 'multilingual-e5-small', revision }))
  await expect(readModelFolder(named)).rejects.toThrow(/tokenizer\.json is not the file of fetched\.json/)
})

test('a name that is a path is no model, and the list says what each one is before any download', async () => {
  for (const name of ['..', '../etc', '/etc', 'constructor', '__proto__', ''])
    expect(() => releaseNamed(name)).toThrow(/choose multilingual-e5-small, multilingual-e5-base, bge-m3\.$/)
  for (const { files, revision } of Object.values(CATALOGUE)) {
    expect(revision).toMatch(/^[0-9a-f]{40}$/)
    for (const { path, sha256: digest } of files) {
      expect(path).toMatch(/^(?:onnx\/)?\w[\w.]*$/)
      expect(digest).toMatch(/^[0-9a-f]{64}$/)
    }
  }
  const cli = commandLine({})
  const away = await serve((_request, response) => void response.writeHead(404).end())
  const { code, stderr } = await cli.run('models', 'fetch', 'bge-m3', '--from', away, '--into', folderOfTest())
  expect(code).toBe(1)
  expect(stderr).toMatch(/^bge-m3: BAAI\/bge-m3 at [0-9a-f]{40}, licence MIT, 2284709191 bytes$/m)
  expect(stderr).toMatch(/ {2}onnx\/model\.onnx {2}724923 bytes {2}SHA-256 [0-9a-f]{64}$/m)
  expect(stderr).toMatch(/^127\.0\.0\.1:\d+ answered with status 404 for onnx\/model\.onnx: check --from\.$/m)
  expect((await cli.run('models', 'fetch', '../x')).code).toBe(1)
  expect(await cli.json('models', 'list', '--into', folderOfTest())).toMatchObject([
    { name: 'multilingual-e5-small', state: 'not fetched', licence: 'MIT', bytes: 487_351_240, ...small?.measured },
    { name: 'multilingual-e5-base', quality: 'not measured', speed: 'not measured', memory: 'not measured' },
    { name: 'bge-m3', quality: 'not measured', speed: 'not measured', memory: 'not measured' },
  ])
})
