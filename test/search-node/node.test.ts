import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { credentials, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ARTIFACT_FILES,
  MANIFEST_FILE,
  SIGNATURE_FILE,
  canonicalJson,
  sha256,
  signManifest,
} from '#core/index/format/manifest.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { EVIDENCE_FEATURES } from '#core/domain/predictors.ts'
import { connectSearchNode } from '#core/rpc/search-client.ts'
import type { Filters, SearchNodeClient, SearchRequest } from '#core/rpc/search-client.ts'
import { RANKING, bytesOf, requestOf } from '#test/support/search-node/asked.ts'
import { nodeEnvironment, startNode } from '#test/support/search-node/node-process.ts'
import type { NodeProcess } from '#test/support/search-node/node-process.ts'
import {
  bruteForce,
  buildTestArtifact,
  queryNear,
  seededRandom,
  signingKeys,
  testRows,
} from '#test/support/artifact.ts'
import type { TestArtifact } from '#test/support/artifact.ts'

const keys = signingKeys()
const seed = 20_261
const FILTERS: Filters = {
  languages: ['en'],
  jurisdictions: ['XA', 'XB'],
  subjects: [],
  any_subject: true,
  verification_statuses: ['verified'],
  in_force_on: '2025-06-01',
  documents: [],
}
let store: string
let artifact: TestArtifact
let node: NodeProcess
let client: SearchNodeClient

beforeAll(async () => {
  store = mkdtempSync(join(tmpdir(), 'search-node-'))
  const rows = testRows({
    rows: 1_200,
    dimensions: 32,
    seed,
    traits: (n) => ({ jurisdiction: n % 4 === 0 ? 'XA' : 'XB', references: n === 8 ? ['rulebook:bee#7/1'] : [] }),
  })
  const acts = [{ id: 'rulebook:bee', aliases: ['BEE'] }]
  artifact = await buildTestArtifact({ store, rows, acts, privateKeyDer: keys.privateKeyDer })
  node = await startNode(nodeEnvironment(store, keys.publicKeyDer))
  client = connectSearchNode(node.address, credentials.createInsecure())
  await prepare(client)
})
afterAll(async () => {
  client.close()
  await node.stop()
  rmSync(store, { recursive: true, force: true })
})

const prepare = (
  to: SearchNodeClient,
  { projectionId, manifestDigest }: Pick<TestArtifact, 'projectionId' | 'manifestDigest'> = artifact,
) => to.call('PrepareVersion', { projection_id: projectionId, manifest_digest: manifestDigest }, 20_000)

function request(change: Partial<SearchRequest> = {}): SearchRequest {
  const query_vector = bytesOf(queryNear(artifact.rows, 7, seededRandom(seed)))
  return requestOf({ projection_id: artifact.projectionId, query_vector, filters: FILTERS, ...change })
}

const search = (change: Partial<SearchRequest> = {}) => client.call('Search', request(change), 5_000)

/** Files of an artifact that a process holds open. */
function heldFiles(pid: number | undefined, { projectionId }: Pick<TestArtifact, 'projectionId'>): readonly string[] {
  const folder = `/proc/${pid}/fd`
  const paths = readdirSync(folder).map((name) => {
    try {
      return readlinkSync(join(folder, name))
    } catch {
      // Closed since it was listed.
      return ''
    }
  })
  return paths.filter((path) => path.includes(projectionId))
}

test('a search returns the whole best passages that brute force finds', async () => {
  const random = seededRandom(seed)
  for (let n = 0; n < 20; n++) {
    const query = queryNear(artifact.rows, n * 50, random)
    const reply = await search({ query_vector: bytesOf(query) })
    expect(reply.passages.map(({ chunk_id }) => chunk_id)).toEqual(
      bruteForce(artifact.rows, query, FILTERS, 5).map(({ chunk_id }) => chunk_id),
    )
    const { record } = artifact.rows.find((row) => row.record.chunk_id === reply.passages[0]?.chunk_id) ?? {}
    expect(reply.passages[0]).toMatchObject({
      text: record?.text,
      document: record?.document,
      citation: record?.citation,
      metadata: record?.metadata,
      place: record?.place,
    })
    expect(reply).toMatchObject({ allowed: 1_200, plan: 'exact' })
  }
})

test('a projection that was not prepared is FAILED_PRECONDITION', async () => {
  await expect(search({ projection_id: '00000000-0000-4000-8000-000000000009' })).rejects.toMatchObject({
    code: status.FAILED_PRECONDITION,
  })
})

const nan = new Float32Array(32).fill(0.1)
nan[31] = Number.NaN
test.each<[string, Partial<SearchRequest>]>([
  ['a NaN in the query vector', { query_vector: bytesOf(nan) }],
  ['an infinite query vector', { query_vector: bytesOf(new Float32Array(32).fill(Infinity)) }],
  ['a query vector without direction', { query_vector: bytesOf(new Float32Array(32)) }],
  ['a query vector of another length', { query_vector: bytesOf(new Float32Array(31).fill(1)) }],
  ['a query vector cut within a number', { query_vector: Buffer.alloc(127, 1) }],
  ['neither vector nor words', { query_vector: Buffer.alloc(0), query_text: ' ' }],
  ['words with a character too many', { query_text: `/etc${'x'.repeat(2 * BOUNDS.queryCharactersMax)}` }],
  ['a limit of 0', { limit: 0 }],
  ['a limit above the bound', { limit: BOUNDS.searchLimitMax + 1 }],
  ['a projection id that is none', { projection_id: '../../etc' }],
  ['a day that is none', { filters: { ...FILTERS, in_force_on: '2025-02-30' } }],
  ['an expansion above the bound', { ranking: { ...RANKING, expansion: 100_000 } }],
  ['a weight above 1', { ranking: { ...RANKING, dense_weight: 1.5 } }],
])('%s is INVALID_ARGUMENT and does not repeat what was sent', async (_, change) => {
  const error: unknown = await search(change).catch((caught: unknown) => caught)
  expect(error).toMatchObject({ code: status.INVALID_ARGUMENT })
  expect(String(error)).not.toContain('etc')
})

test('status names the loaded version, its digest, its leases and the queue', async () => {
  expect(await client.call('GetStatus', {}, 2_000)).toEqual({
    loaded: [
      { projection_id: artifact.projectionId, manifest_digest: artifact.manifestDigest, leases: 0, state: 'loaded' },
    ],
    threads: 1,
    queued: 0,
    queue_max: 256,
  })
})

test('preparing a loaded version again says so; under another digest it is DATA_LOSS and goes on serving', async () => {
  expect(await prepare(client)).toEqual({ already_loaded: true, passages: 1_200 })
  await expect(prepare(client, { ...artifact, manifestDigest: sha256('another') })).rejects.toMatchObject({
    code: status.DATA_LOSS,
  })
  expect((await search()).passages).toHaveLength(5)
})

test('an artifact that is damaged in any way is DATA_LOSS and never held open', async () => {
  const rows = testRows({ rows: 60, dimensions: 16, seed })
  const damaged = await buildTestArtifact({ store, rows, privateKeyDer: keys.privateKeyDer, name: 'damaged' })
  const kept = join(store, 'kept')
  cpSync(damaged.folder, kept, { recursive: true })
  const path = (name: string): string => join(damaged.folder, name)
  const flip = (name: string) => () => {
    const bytes = readFileSync(path(name))
    const at = Math.floor(bytes.length / 2)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(path(name), bytes)
  }
  const faults: (() => void)[] = [
    ...[...ARTIFACT_FILES, MANIFEST_FILE, SIGNATURE_FILE].map(flip),
    ...ARTIFACT_FILES.map((name) => () => truncateSync(path(name), statSync(path(name)).size - 1)),
    () => appendFileSync(path('cells.bin'), '\0'),
    () => writeFileSync(path('extra'), ''),
    () =>
      writeFileSync(path(SIGNATURE_FILE), signManifest(readFileSync(path(MANIFEST_FILE)), signingKeys().privateKeyDer)),
    () => rmSync(damaged.folder, { recursive: true }),
  ]
  for (const fault of faults) {
    fault()
    await expect(prepare(client, damaged)).rejects.toMatchObject({ code: status.DATA_LOSS })
    expect(heldFiles(node.child.pid, damaged)).toEqual([])
    rmSync(damaged.folder, { recursive: true, force: true })
    cpSync(kept, damaged.folder, { recursive: true })
  }
  await expect(prepare(client, { ...damaged, manifestDigest: artifact.manifestDigest })).rejects.toMatchObject({
    code: status.DATA_LOSS,
  })
  expect(await prepare(client, damaged)).toEqual({ already_loaded: false, passages: 60 })
  expect(heldFiles(node.child.pid, damaged)).not.toEqual([])
  await client.call('ReleaseVersion', { projection_id: damaged.projectionId }, 5_000)
})

test('an artifact that is signed but contradicts itself is refused, and the versions that are loaded go on serving', async () => {
  const rows = testRows({ rows: 60, dimensions: 16, seed, traits: (n) => ({ references: [`rulebook:bee#${n}`] }) })
  for (const name of [
    'rows.bin',
    'lexical.terms',
    'lexical.postings',
    'forward.tokens',
    'forward.offsets',
    'forward.pairs',
    'references.bin',
  ] as const) {
    const built = await buildTestArtifact({
      store,
      rows,
      privateKeyDer: keys.privateKeyDer,
      name: `contradicts ${name}`,
    })
    const bytes = readFileSync(join(built.folder, name)).subarray(4)
    const files = { ...built.manifest.files, [name]: { bytes: bytes.length, sha256: sha256(bytes).toString('hex') } }
    const manifest = Buffer.from(canonicalJson({ ...built.manifest, files }))
    writeFileSync(join(built.folder, name), bytes)
    writeFileSync(join(built.folder, MANIFEST_FILE), manifest)
    writeFileSync(join(built.folder, SIGNATURE_FILE), signManifest(manifest, keys.privateKeyDer))
    await expect(prepare(client, { ...built, manifestDigest: sha256(manifest) })).rejects.toMatchObject({
      code: expect.any(Number),
    })
    await expect(search({ projection_id: built.projectionId })).rejects.toMatchObject({
      code: status.FAILED_PRECONDITION,
    })
  }
  expect((await client.call('GetStatus', {}, 2_000)).loaded.map(({ projection_id }) => projection_id)).toEqual([
    artifact.projectionId,
  ])
  expect((await search()).passages).toHaveLength(5)
})

test('words, a vector or both are searched over the wire, with or without the texts', async () => {
  const query_text = 'Who gives the record of rule 1234 to the authority?'
  const words = await search({ query_text, query_vector: Buffer.alloc(0) })
  const vector = await search()
  const both = await search({ query_text })
  expect([words.plan, vector.plan, both.plan]).toEqual(['none', 'exact', 'exact'])
  expect([words, vector, both].map(({ evidence }) => evidence.length)).toEqual([
    EVIDENCE_FEATURES.length,
    0,
    EVIDENCE_FEATURES.length,
  ])
  const bare = await search({ query_text, without_text: true })
  expect(bare).toEqual({ ...both, passages: both.passages.map((passage) => ({ ...passage, text: '' })) })
  expect(await search({ only_rows: Buffer.of(0b1010) })).toMatchObject({ allowed: 2, passages: [{}, {}] })
})

test('a provision that the entitlement holds but the filters exclude is told from one that it does not hold', async () => {
  const filters = { ...FILTERS, jurisdictions: ['XB'] }
  const reasons = async (query_text: string, entitled: Filters): Promise<unknown> =>
    (await search({ query_text, filters, entitled })).unsupported.map(({ text, reason }) => [text, reason])
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
  await prepare(client, second)
  const vector = bytesOf(new Float32Array(8).fill(1))
  expect((await search({ projection_id: second.projectionId, query_vector: vector })).allowed).toBe(80)
  expect((await search()).allowed).toBe(1_200)
  expect(heldFiles(node.child.pid, second)).not.toEqual([])
  expect(await client.call('ReleaseVersion', { projection_id: second.projectionId }, 5_000)).toEqual({
    was_loaded: true,
  })
  expect(heldFiles(node.child.pid, second)).toEqual([])
  expect(await client.call('ReleaseVersion', { projection_id: second.projectionId }, 5_000)).toEqual({
    was_loaded: false,
  })
  await expect(search({ projection_id: second.projectionId, query_vector: vector })).rejects.toMatchObject({
    code: status.FAILED_PRECONDITION,
  })
  expect((await search()).passages).toHaveLength(5)
})
