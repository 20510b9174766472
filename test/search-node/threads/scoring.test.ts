import { cpSync, mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { artifactRef, type ArtifactRef } from '#core/index/format/reader.ts'
import type { CallDeadline } from '#search-node/node-error.ts'
import { SearchPool, type SearchPoolOptions } from '#search-node/threads/pool.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { queryNear, seededRandom, testRows } from '#test/support/passages.ts'
import { UNLIMITED, inputOf } from '#test/support/search.ts'
import { openFiles } from './open-files.ts'
import { folderOfFile } from '#test/support/folder.ts'

const seed = 4_711
const store = folderOfFile()
const pools: SearchPool[] = []

const artifact = await buildTestArtifact({ store, rows: testRows({ rows: 300, dimensions: 16, seed }) })
const ref = artifactRef(artifact.folder, artifact.manifest)
const pool = startPool()
afterAll(async () => {
  await Promise.all(pools.map((each) => each.end()))
})

function startPool(options: Partial<SearchPoolOptions> = {}): SearchPool {
  const worker = new URL('./faulty-worker.ts', import.meta.url)
  const started = new SearchPool({ threads: 1, queueMax: 8, worker, ...options })
  pools.push(started)
  return started
}

function ask(
  limit: number,
  { of = pool, row = 7, ...deadline }: Partial<CallDeadline> & { readonly of?: SearchPool; readonly row?: number } = {},
): Promise<Uint8Array> {
  const vector = queryNear(artifact.rows, row, seededRandom(seed))
  const input = inputOf({ vector, text: `Who keeps a record of rule ${row}?`, limit })
  return of.search({ versionId: ref.versionId, input }, { ...UNLIMITED, ...deadline })
}

/** The version in a folder of this name, which says what fails. */
function copied(name: string): ArtifactRef {
  const folder = mkdtempSync(join(store, `${name}-`))
  cpSync(artifact.folder, folder, { recursive: true })
  return { ...ref, folder }
}

test('a search whose deadline passes while it waits is refused, and not run', async () => {
  // Were it run, it would fail because no thread has opened the version.
  await expect(ask(5, { deadlineMs: Date.now() - 1 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  await expect(ask(5)).rejects.toThrow('no thread has opened the version')
})

test('a thread that dies fails its search alone; the one that replaces it answers the same', async () => {
  await pool.openEverywhere(ref)
  const before = await ask(5)
  expect(before.length).toBeGreaterThan(0)
  const [crashed, ...after] = await Promise.allSettled([99, 5, 5].map((limit) => ask(limit)))
  expect(crashed).toMatchObject({ status: 'rejected' })
  expect(after).toEqual([
    { status: 'fulfilled', value: before },
    { status: 'fulfilled', value: before },
  ])
})

test('a version is opened and closed also on a thread that has just replaced another', async () => {
  await ask(99).catch(() => undefined)
  await pool.openEverywhere(ref)
  const answer = await ask(5)
  await ask(99).catch(() => undefined)
  await pool.closeEverywhere(ref)
  await expect(ask(5)).rejects.toThrow('no thread has opened the version')
  await pool.openEverywhere(ref)
  expect(await ask(5)).toEqual(answer)
})

test('searches that wait for a thread together answer as each does alone', async () => {
  const asked = Array.from({ length: 9 }, (_, at) => ({ limit: 1 + at, row: at * 29 }))
  const alone: Uint8Array[] = []
  for (const { limit, row } of asked) alone.push(await ask(limit, { row }))
  expect(new Set(alone.map((reply) => Buffer.from(reply).toString('base64')))).toHaveLength(asked.length)
  expect(await Promise.all(asked.map(({ limit, row }) => ask(limit, { row })))).toEqual(alone)
})

test('what threads share is read once, by the first; also for a thread that replaces another', async () => {
  const readOnce = copied('read-once')
  const two = startPool({ threads: 2 })
  // The first thread that opens it removes the files of what is shared.
  await two.openEverywhere(readOnce)
  const answer = await ask(5)
  for (const crash of [false, true]) {
    if (crash) await ask(99, { of: two }).catch(() => undefined)
    expect(await Promise.all([5, 5, 5].map((limit) => ask(limit, { of: two })))).toEqual([answer, answer, answer])
  }
  await expect(startPool().openEverywhere(readOnce)).rejects.toThrow('ENOENT')
})

test('SQ4 vectors that are larger than a thread may keep stay in their file, and give the same answer', async () => {
  const inFile = startPool({ sq4Mb: 0 })
  const inMemory = startPool()
  const [one, other] = [copied('sq4'), copied('sq4')]
  await inFile.openEverywhere(one)
  await inMemory.openEverywhere(other)
  expect(openFiles(one.folder)).toContain('vectors.sq4')
  expect(openFiles(other.folder)).not.toContain('vectors.sq4')
  expect(await ask(5, { of: inFile })).toEqual(await ask(5, { of: inMemory }))
})

test('a search of all rows asks the mapped graph at every size, which all threads count together', async () => {
  const counting = startPool({ threads: 2 })
  const of = copied('graph')
  await counting.openEverywhere(of)
  expect(readFileSync('/proc/self/maps', 'utf8')).toContain(join(of.folder, 'graph.usearch'))
  const [before = 0n] = counting.graphSearches
  await Promise.all([1, 2].map(() => ask(5, { of: counting })))
  expect((counting.graphSearches[0] ?? 0n) - before).toBe(2n)
})
