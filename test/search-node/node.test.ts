import { readFileSync } from 'node:fs'
import { status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { sha256 } from '#core/platform/digest.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { PREDICTORS } from '#core/domain/predictors.ts'
import type { Filters, SearchQuery, VersionRef } from '#core/domain/search.ts'
import { RANKING, bruteForce, requestOf } from '#test/support/search.ts'
import { nodeEnvironment } from '#test/support/search-node.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { queryNear, seededRandom, shownPassage, testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'
import { openNode } from '#test/support/fixtures.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { openFiles } from './threads/open-files.ts'

const keys = signingKeys()
const seed = 20_261
const FILTERS: Filters = {
  languages: ['en'],
  jurisdictions: ['XA', 'XB'],
  subjects: [],
  anySubject: true,
  verificationStatuses: ['verified'],
  inForceOn: '2025-06-01',
  documents: [],
}
const store = folderOfFile()

const rows = testRows({
  rows: 1_200,
  dimensions: 32,
  seed,
  traits: (n) => ({ jurisdiction: n % 4 === 0 ? 'XA' : 'XB', references: n === 8 ? ['rulebook:bee#7/1'] : [] }),
})
const acts = [{ id: 'rulebook:bee', aliases: ['BEE'] }]
const artifact = await buildTestArtifact({ store, rows, acts, privateKeyDer: keys.privateKeyDer })
const { node, client } = await openNode(nodeEnvironment(store, keys.publicKeyDer))

const prepare = (version: VersionRef = artifact) => client.prepareVersion(version, CALL_TIMEOUT_MS)
await prepare()

function request(change: Partial<SearchQuery> = {}): SearchQuery {
  const vector = queryNear(artifact.rows, 7, seededRandom(seed))
  return requestOf({ versionId: artifact.versionId, vector, filters: FILTERS, ...change })
}

const search = (change: Partial<SearchQuery> = {}) => client.search(request(change), CALL_TIMEOUT_MS)

test('a search returns the whole best passages that brute force finds', async () => {
  const random = seededRandom(seed)
  for (let n = 0; n < 20; n++) {
    const query = queryNear(artifact.rows, n * 50, random)
    const reply = await search({ vector: query })
    expect(reply.passages.map(({ chunkId }) => chunkId)).toEqual(
      bruteForce(artifact.rows, query, FILTERS, 5).map(({ chunk_id }) => chunk_id),
    )
    const { record } = artifact.rows.find((row) => row.record.chunk_id === reply.passages[0]?.chunkId) ?? {}
    expect(reply.passages[0]).toMatchObject(record === undefined ? {} : shownPassage(record))
    expect(reply).toMatchObject({ allowed: 1_200, plan: 'scan' })
  }
})

test('the graph of a loaded version is mapped, however small the version is', async () => {
  const small = await buildTestArtifact({
    store,
    rows: testRows({ rows: 30, dimensions: 8, seed }),
    privateKeyDer: keys.privateKeyDer,
    name: 'small',
  })
  const mapped = (): boolean =>
    readFileSync(`/proc/${node.child.pid}/maps`, 'utf8').includes(`${small.versionId}/graph.usearch`)
  await prepare(small)
  expect(mapped()).toBe(true)
  await client.releaseVersion(small.versionId, CALL_TIMEOUT_MS)
  expect(mapped()).toBe(false)
})

test('a version that was not prepared is FAILED_PRECONDITION', async () => {
  await expect(search({ versionId: '00000000-0000-4000-8000-000000000009' })).rejects.toMatchObject({
    code: status.FAILED_PRECONDITION,
  })
})

const nan = new Float32Array(32).fill(0.1)
nan[31] = Number.NaN
test.each<[string, Partial<SearchQuery>]>([
  ['a NaN in the query vector', { vector: nan }],
  ['an infinite query vector', { vector: new Float32Array(32).fill(Infinity) }],
  ['a query vector without direction', { vector: new Float32Array(32) }],
  ['a query vector of another length', { vector: new Float32Array(31).fill(1) }],
  ['neither vector nor words', { vector: undefined, text: ' ' }],
  ['words with a character too many', { text: `/etc${'x'.repeat(2 * SEARCH_BOUNDS.queryCharactersMax)}` }],
  ['a limit of 0', { limit: 0 }],
  ['a limit above the bound', { limit: SEARCH_BOUNDS.searchLimitMax + 1 }],
  ['a version id that is none', { versionId: '../../etc' }],
  ['a day that is none', { filters: { ...FILTERS, inForceOn: '2025-02-30' } }],
  ['an expansion above the bound', { ranking: { ...RANKING, rowsScoredMin: 100_000 } }],
  ['a weight above 1', { ranking: { ...RANKING, denseWeight: 1.5 } }],
])('%s is INVALID_ARGUMENT and does not repeat what was sent', async (_, change) => {
  const error: unknown = await search(change).catch((caught: unknown) => caught)
  expect(error).toMatchObject({ code: status.INVALID_ARGUMENT })
  expect(String(error)).not.toContain('etc')
})

test('status names the loaded version, its digest, its leases and the queue', async () => {
  expect(await client.status(CALL_TIMEOUT_MS)).toEqual({
    loaded: [{ versionId: artifact.versionId, manifestDigest: artifact.manifestDigest, leases: 0, state: 'loaded' }],
    threads: 1,
    queued: 0,
    queueMax: 256,
    damaged: 0,
  })
})

test('preparing a loaded version again says so; under another digest it is DATA_LOSS and goes on serving', async () => {
  expect(await prepare()).toEqual({ alreadyLoaded: true, passages: 1_200 })
  await expect(prepare({ ...artifact, manifestDigest: sha256('another') })).rejects.toMatchObject({
    code: status.DATA_LOSS,
  })
  expect((await search()).passages).toHaveLength(5)
})

test('words, a vector or both are searched over the wire, for passages or for rows only', async () => {
  const text = 'Who gives the record of rule 1234 to the authority?'
  const words = await search({ text, vector: undefined })
  const vector = await search()
  const both = await search({ text })
  expect([words.plan, vector.plan, both.plan]).toEqual(['none', 'scan', 'scan'])
  expect([words, vector, both].map(({ predictors }) => predictors.length)).toEqual([
    PREDICTORS.length,
    0,
    PREDICTORS.length,
  ])
  const found = both.passages.map(({ row, score, named }) => ({ row, score, named }))
  expect(await search({ text, rowsOnly: true })).toEqual({ ...both, passages: [], rows: found })
  expect(await search({ onlyRows: Buffer.of(0b1010) })).toMatchObject({ allowed: 2, passages: [{}, {}] })
})

test('a version without vectors is searched by words, and a vector is refused', async () => {
  const { privateKeyDer } = keys
  const version = { store, rows: artifact.rows, privateKeyDer }
  const bare = await buildTestArtifact({ ...version, name: 'without vectors', embedding: null })
  await prepare(bare)
  const text = 'Who gives the record of rule 1234 to the authority?'
  const words = await search({ text, vector: undefined, versionId: bare.versionId })
  expect(words).toEqual(await search({ text, vector: undefined }))
  expect([words.plan, words.passages.length]).toEqual(['none', 5])
  await expect(search({ text, versionId: bare.versionId })).rejects.toMatchObject({ code: status.INVALID_ARGUMENT })
  await client.releaseVersion(bare.versionId, CALL_TIMEOUT_MS)
})

test('an entitled provision that the filters exclude is distinguished from one that is not entitled', async () => {
  const filters = { ...FILTERS, jurisdictions: ['XB'] }
  const reasons = async (question: string, entitled: Filters): Promise<unknown> =>
    (await search({ text: question, filters, entitled })).unsupported.map(({ text, reason }) => [text, reason])
  expect(await reasons('BEE 7.1 and BEE 8.1', FILTERS)).toEqual([
    ['BEE 7.1', 'outside_filters'],
    ['BEE 8.1', 'not_in_corpus'],
  ])
  expect(await reasons('BEE 7.1', filters)).toEqual([['BEE 7.1', 'not_in_corpus']])
})

test('several versions are searched side by side, and a released one is let go while the other serves', async () => {
  const second = await buildTestArtifact({
    store,
    rows: testRows({ rows: 80, dimensions: 8, seed }),
    privateKeyDer: keys.privateKeyDer,
    name: 'second',
  })
  await prepare(second)
  const vector = new Float32Array(8).fill(1)
  expect((await search({ versionId: second.versionId, vector })).allowed).toBe(80)
  expect((await search()).allowed).toBe(1_200)
  expect(openFiles(second.folder, node.child.pid)).not.toEqual([])
  expect(await client.releaseVersion(second.versionId, CALL_TIMEOUT_MS)).toBe(true)
  expect(openFiles(second.folder, node.child.pid)).toEqual([])
  expect(await client.releaseVersion(second.versionId, CALL_TIMEOUT_MS)).toBe(false)
  await expect(search({ versionId: second.versionId, vector })).rejects.toMatchObject({
    code: status.FAILED_PRECONDITION,
  })
  expect((await search()).passages).toHaveLength(5)
})
