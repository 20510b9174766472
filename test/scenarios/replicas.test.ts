import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, Metadata, credentials } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { manifestSchema, type Manifest } from '#core/index/format/manifest.ts'
import { sha256 } from '#core/platform/digest.ts'
import { searchNodeService } from '#core/rpc/messages.ts'
import { searchRequestOf } from '#core/rpc/search-client.ts'
import type { Filters, SearchQuery } from '#core/domain/search.ts'
import { EVERYTHING, RANKING, requestOf } from '#test/support/search.ts'
import { nodeEnvironment, startNode, withSearchNode, type NodeProcess } from '#test/support/search-node.ts'
import { ownWord, queryNear, questionOn, seededRandom, wordedRows } from '#test/support/passages.ts'
import { buildTestArtifact, type TestArtifact } from '#test/support/artifact.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'
import { folderOfFile } from '#test/support/folder.ts'

const { seed } = inject('random')
const keys = signingKeys()
const REQUESTS = 50
const CLUSTERS = 40

const store = folderOfFile()
let artifact: TestArtifact
let nodes: readonly NodeProcess[]

beforeAll(async () => {
  const rows = wordedRows({
    rows: 3_000,
    dimensions: 32,
    seed,
    clusters: CLUSTERS,
    spread: 0.9,
    traits: (n, cluster) => ({
      language: n % 3 === 0 ? 'de' : 'en',
      jurisdiction: n % 4 === 0 ? 'XA' : 'XB',
      subjects: [`topic-${cluster % 8}`],
      references: n % 6 === 0 ? [`rulebook:bee#${n % 30}/${n}`] : [],
      provision: `provision ${Math.floor(n / 2)}`,
      revision: String(n % 2),
      inForceFrom: n % 2 === 0 ? '2020-01-01' : '2025-01-01',
      inForceTo: n % 2 === 0 ? '2025-01-01' : null,
    }),
  })
  const acts = [{ id: 'rulebook:bee', aliases: ['BEE'] }]
  artifact = await buildTestArtifact({ store, rows, acts, privateKeyDer: keys.privateKeyDer })
  nodes = await Promise.all(
    ['1', '2'].map((threads) => startNode(nodeEnvironment(store, keys.publicKeyDer, { SEARCH_THREADS: threads }))),
  )
  for (const { address } of nodes)
    await withSearchNode(address, (client) =>
      client.prepareVersion(
        { versionId: artifact.versionId, manifestDigest: artifact.manifestDigest },
        CALL_TIMEOUT_MS,
      ),
    )
})
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()))
})

/** The reply to a search as it comes over the wire. */
function replyBytes(channel: Client, request: SearchQuery): Promise<Buffer> {
  const method = searchNodeService['Search']
  if (method === undefined) throw new Error('the proto names no method Search')
  return new Promise((resolve, reject) =>
    channel.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      (bytes: Buffer) => bytes,
      searchRequestOf(request),
      new Metadata(),
      { deadline: Date.now() + CALL_TIMEOUT_MS },
      (error, reply) =>
        error === null && reply !== undefined
          ? resolve(reply)
          : reject(error ?? new Error('the search node sent nothing')),
    ),
  )
}

async function answersOf({ address }: NodeProcess, requests: readonly SearchQuery[]): Promise<readonly Buffer[]> {
  using ending = new DisposableStack()
  const channel = ending.adopt(new Client(address, credentials.createInsecure()), (it) => it.close())
  return await Promise.all(requests.map((request) => replyBytes(channel, request)))
}

const FILTERS: readonly Partial<Filters>[] = [
  {},
  { languages: ['de'], jurisdictions: ['XA'] },
  { anySubject: false, subjects: ['topic-3'] },
  { anySubject: false, subjects: ['topic-1', 'topic-5'], languages: ['en'], inForceOn: '2025-06-01' },
]

/** Questions of every kind; what they share follows from the seed alone. */
function requestsOf(kind: (n: number, text: string, vector: Float32Array) => Partial<SearchQuery>): SearchQuery[] {
  const random = seededRandom(seed)
  return Array.from({ length: REQUESTS }, (_, n) => {
    const text = `${questionOn(Math.floor(random() * CLUSTERS), random)} ${n % 5 === 0 ? ownWord(n) : ''}`
    const vector = queryNear(artifact.rows, Math.floor(random() * artifact.rows.length), random)
    return requestOf({ versionId: artifact.versionId, ...kind(n, text, vector) })
  })
}

describe('two search nodes over one artifact store answer with the same bytes', () => {
  test.each<[string, (n: number, text: string, vector: Float32Array) => Partial<SearchQuery>]>([
    ['words and a vector', (n, text, vector) => ({ text, vector, limit: n % 2 === 0 ? 5 : 100 })],
    ['words alone', (_n, text) => ({ text, limit: 20 })],
    ['a vector alone', (_n, _text, vector) => ({ vector, limit: 20 })],
    [
      'words and a vector within filters',
      (n, text, vector) => ({
        text,
        vector,
        limit: 10,
        filters: { ...EVERYTHING, ...FILTERS[n % FILTERS.length] },
        entitled: EVERYTHING,
      }),
    ],
    [
      'provisions, each revision and document once',
      (n, text, vector) => ({
        text: `${text} BEE ${n % 31} and BEE 3.${n}`,
        vector,
        ranking: { ...RANKING, perDocumentMax: 1, collapseRevisionsOn: '2025-06-01' },
      }),
    ],
  ])('%s', async (_, kind) => {
    const requests = requestsOf(kind)
    const [one, two] = nodes
    if (one === undefined || two === undefined) throw new Error('two nodes were started')
    const answers = await answersOf(one, requests)
    // In another order, so that no answer can depend on what was asked before.
    const others = (await answersOf(two, requests.toReversed())).toReversed()
    const digests = (replies: readonly Buffer[]): string[] => replies.map((bytes) => sha256(bytes).toString('hex'))
    expect(digests(others)).toEqual(digests(answers))
    expect(digests(await answersOf(one, requests))).toEqual(digests(answers))
    expect(answers.filter((bytes) => bytes.length > 1_000).length).toBeGreaterThan(REQUESTS / 2)
    expect(new Set(digests(answers)).size).toBeGreaterThan(REQUESTS / 2)
  })
})

/** What a process of its own builds of a corpus. */
async function builtElsewhere(
  corpus: string,
  folder: string,
  environment: Readonly<Record<string, string>>,
): Promise<Manifest> {
  const script = fileURLToPath(new URL('./build-version.ts', import.meta.url))
  const child = spawn(process.execPath, [script, corpus, folder], {
    env: { PATH: '/usr/bin:/bin', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString('utf8')))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`the build ended with ${code}: ${output.stderr}`)
  return manifestSchema.parse(JSON.parse(output.stdout))
}

test('two builds of one import, in two processes, of other locales and time zones, give the same files', async () => {
  const random = seededRandom(seed)
  const records = Array.from({ length: 1_000 }, (_, n) => ({
    _id: `bee-${n}`,
    title: `Bee Rulebook, chapter ${Math.floor(n / 100)}`,
    text: `§ ${n} Ärger über Straße ${n}: ${questionOn(n % CLUSTERS, random)} İstanbul naïve 個人データ`,
    metadata: {
      document: `bee ${Math.floor(n / 50)}`,
      language: ['en', 'de', 'fr'][n % 3],
      citation: `12 CFR 1003.${n % 40}(a)`,
    },
  }))
  const corpus = join(store, 'corpus.jsonl')
  writeFileSync(corpus, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  const [one, two] = await Promise.all([
    builtElsewhere(corpus, join(store, 'one'), { TZ: 'UTC', LC_ALL: 'C' }),
    builtElsewhere(corpus, join(store, 'two'), { TZ: 'Pacific/Chatham', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' }),
  ])
  expect(two).toEqual(one)
  expect(one).toMatchObject({ passages: 1_000, documents: 20 })
  expect(Object.values(one.files).filter((file) => file !== undefined && file.bytes < 16)).toEqual([])
})
