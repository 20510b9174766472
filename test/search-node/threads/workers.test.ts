import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScoringWorker } from '#search-node/threads/workers.ts'
import type { ArtifactSearch, ScoringWorker } from '#search-node/threads/workers.ts'
import { SearchPool } from '#search-node/threads/pool.ts'
import type { CallDeadline } from '#search-node/call-deadline.ts'
import { artifactRef } from '#core/index/format/reader.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import type { TestArtifact } from '#test/support/artifact.ts'
import { queryNear, seededRandom, testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { inputOf } from '#test/support/search.ts'

const NEVER: CallDeadline = { deadlineMs: Infinity, signal: new AbortController().signal }
const seed = 4_711
let store: string
let artifact: TestArtifact
let worker: ScoringWorker
let pool: SearchPool

beforeAll(async () => {
  store = mkdtempSync(join(tmpdir(), 'workers-'))
  artifact = await buildTestArtifact({
    store,
    rows: testRows({ rows: 300, dimensions: 16, seed }),
    privateKeyDer: signingKeys().privateKeyDer,
  })
  worker = startScoringWorker({ worker: new URL('./crashing-worker.ts', import.meta.url) })
  pool = new SearchPool([worker], 8)
})
afterAll(async () => {
  await pool.end()
  rmSync(store, { recursive: true, force: true })
})

function task(limit: number, row = 7): ArtifactSearch {
  const { folder, manifest } = artifact
  const ref: ArtifactRef = artifactRef(folder, manifest)
  return {
    artifact: ref,
    input: inputOf({
      vector: queryNear(artifact.rows, row, seededRandom(seed)),
      text: `Who keeps a record of rule ${row}?`,
      limit,
    }),
    deadlineMs: Infinity,
  }
}

test(
  'a thread that dies fails its searches alone; the one that replaces it opens what it is asked to ' +
    'search, and answers the same',
  async () => {
    await pool.openEverywhere(task(5).artifact)
    const before = await pool.search(task(5), NEVER)
    expect(before.length).toBeGreaterThan(0)
    const [crashed, ...after] = await Promise.allSettled([99, 5, 5].map((limit) => pool.search(task(limit), NEVER)))
    expect(crashed).toMatchObject({ status: 'rejected' })
    expect(after).toEqual([
      { status: 'fulfilled', value: before },
      { status: 'fulfilled', value: before },
    ])
  },
)

test('searches that wait for a thread together answer as each does alone', async () => {
  const asked = Array.from({ length: 9 }, (_, at) => task(1 + at, at * 29))
  await pool.openEverywhere(task(5).artifact)
  const alone: Uint8Array[] = []
  for (const search of asked) alone.push(await pool.search(search, NEVER))
  expect(new Set(alone.map((reply) => Buffer.from(reply).toString('base64')))).toHaveLength(asked.length)
  expect(await Promise.all(asked.map((search) => pool.search(search, NEVER)))).toEqual(alone)
})

test('what threads share is read once, also for a thread that replaces another', async () => {
  const folder = mkdtempSync(join(store, 'copy-'))
  cpSync(artifact.folder, folder, { recursive: true })
  const ref = { ...task(5).artifact, folder, versionId: 'shared' }
  const first = startScoringWorker()
  const alone = startScoringWorker()
  try {
    const shared = await first.open(ref)
    const bytes = [...shared.values()].reduce(
      (sum, part) => sum + ('buffer' in part ? part.buffer : part).byteLength,
      0,
    )
    // Documents, provisions, ranks and revisions; days; offsets of passages and words; digests; codes.
    const codes = statSync(join(folder, 'vectors.sq4')).size
    expect(bytes).toBeGreaterThanOrEqual(300 * (13 + 8 + 8 + 4 + 16) + codes)
    const answer = await first.search({ ...task(5), artifact: ref })
    for (const name of ['rows.bin', 'passages.offsets', 'passages.sha256', 'forward.offsets', 'vectors.sq4'])
      rmSync(join(folder, name))
    await worker.open(ref, shared)
    expect(await worker.search({ ...task(5), artifact: ref })).toEqual(answer)
    await worker.search({ ...task(99), artifact: ref }).catch(() => undefined)
    expect(await worker.search({ ...task(5), artifact: ref })).toEqual(answer)
    await expect(alone.open(ref)).rejects.toThrow('ENOENT')
  } finally {
    await worker.close(ref)
    await Promise.all([first.end(), alone.end()])
  }
})

test('codes that are larger than a thread may keep stay in their file, and give the same answer', async () => {
  const ref = { ...task(5).artifact, versionId: 'codes in their file' }
  const inFile = startScoringWorker({ codesMb: 0 })
  try {
    const [kept, without] = [await worker.open(ref), await inFile.open(ref)]
    expect([...kept.keys()].filter((part) => !without.has(part))).toEqual([expect.stringContaining('vectors.sq4')])
    const asked = { ...task(5), artifact: ref }
    expect(await inFile.search(asked)).toEqual(await worker.search(asked))
  } finally {
    await worker.close(ref)
    await inFile.end()
  }
})

test('a version can be let go on a thread that replaced another and never opened it', async () => {
  await pool.search(task(99), NEVER).catch(() => undefined)
  await expect(pool.closeEverywhere(task(5).artifact)).resolves.toBeUndefined()
})
