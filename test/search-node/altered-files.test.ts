import { closeSync, cpSync, openSync, readFileSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SearchResult } from '#core/domain/search.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { queryNear, seededRandom, testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { CALL_TIMEOUT_MS, expectEventually } from '#test/support/until.ts'
import { requestOf } from '#test/support/search.ts'
import { nodeEnvironment } from '#test/support/search-node.ts'
import { openNode } from '#test/support/fixtures.ts'
import { folderOfFile } from '#test/support/folder.ts'

/** Files of a version are edited in place while a search node, a process of its own, serves it. */
const keys = signingKeys()
const store = folderOfFile()

const rows = testRows({ rows: 400, dimensions: 16, seed: 31 })
const artifact = await buildTestArtifact({ store, rows, privateKeyDer: keys.privateKeyDer })
const kept = join(store, 'kept')
cpSync(artifact.folder, kept, { recursive: true })
const { node, client } = await openNode(nodeEnvironment(store, keys.publicKeyDer))
beforeEach(async () => {
  await prepare()
})
afterEach(async () => {
  restore()
  await client.releaseVersion(artifact.versionId, CALL_TIMEOUT_MS)
})

const prepare = (verify = false) => client.prepareVersion({ ...artifact, verify }, CALL_TIMEOUT_MS)

/** Puts the files back as they were built. */
function restore(): void {
  rmSync(artifact.folder, { recursive: true, force: true })
  cpSync(kept, artifact.folder, { recursive: true })
}

/** Asks for the passages near a row. */
function search(row = 7): Promise<SearchResult> {
  const vector = queryNear(artifact.rows, row, seededRandom(31))
  return client.search(requestOf({ versionId: artifact.versionId, vector }), CALL_TIMEOUT_MS)
}

const passages = (): string => join(artifact.folder, 'passages.jsonl')

/** Overwrites bytes in place, so that what the node has open changes. */
function overwrite(path: string, position: number, bytes: Buffer): void {
  const file = openSync(path, 'r+')
  writeSync(file, bytes, 0, bytes.length, position)
  closeSync(file)
}

/** Changes one letter of a passage's text; the file keeps its length and stays JSON. */
function alterText(chunkId: string): void {
  const bytes = readFileSync(passages())
  const at = bytes.indexOf('"text":"', bytes.indexOf(chunkId)) + '"text":"'.length
  overwrite(passages(), at, Buffer.from(bytes[at] === 0x51 ? 'X' : 'Q'))
  for (const line of readFileSync(passages(), 'utf8').trimEnd().split('\n')) JSON.parse(line)
}

const shownFirst = async (): Promise<string> => (await search()).passages[0]?.chunkId ?? ''
const damaged = async (): Promise<number> => (await client.status(CALL_TIMEOUT_MS)).damaged

/** The version is gone, is not loaded as it is, and is served again once its files are what they were. */
async function expectUnloaded(before: number): Promise<void> {
  await expectEventually(async () => (await client.status(CALL_TIMEOUT_MS)).loaded, [])
  expect(await damaged()).toBe(before + 1)
  await expectEventually(() => node.output().split('damaged version unloaded').length, before + 2)
  await expect(search()).rejects.toMatchObject({ code: status.FAILED_PRECONDITION })
  await expect(prepare()).rejects.toMatchObject({ code: status.DATA_LOSS })
  restore()
  expect(await prepare()).toEqual({ alreadyLoaded: false, passages: 400 })
  expect((await search()).passages).toHaveLength(5)
}

/** Alters the loaded version and searches it. @returns the count of damaged versions before, and the failure. */
async function searchAfter(alter: () => void): Promise<{ before: number; failure: unknown }> {
  for (;;) {
    const before = await damaged()
    alter()
    const failure = await search().then(
      () => 'answered',
      (error: unknown) => error,
    )
    const isUnloaded = failure instanceof Error && 'code' in failure && failure.code === status.FAILED_PRECONDITION
    if (!isUnloaded) return { before, failure }
    // The node read the file again in the background before the search came.
    restore()
    await prepare()
  }
}

test('a passage that was edited under a running node is not returned, and its version is unloaded', async () => {
  const first = await shownFirst()
  const { before, failure } = await searchAfter(() => alterText(first))
  expect(failure).toMatchObject({
    code: status.DATA_LOSS,
    details: 'A passage of passages.jsonl was altered after the version was loaded.',
  })
  await expectUnloaded(before)
})

test('passages that were cut off under a running node are not returned, and the version is unloaded', async () => {
  const { before, failure } = await searchAfter(() => truncateSync(passages(), 1))
  expect(failure).toMatchObject({ code: status.DATA_LOSS })
  await expectUnloaded(before)
})

test('an edit of the digests of a loaded version hides no edit of its passages', async () => {
  const first = await shownFirst()
  const { before, failure } = await searchAfter(() => {
    alterText(first)
    overwrite(join(artifact.folder, 'passages.sha256'), 0, Buffer.alloc(400 * 16))
  })
  expect(failure).toMatchObject({ code: status.DATA_LOSS })
  await expectUnloaded(before)
})

test('a loaded version that is verified again is unloaded where any file was altered, and serves on otherwise', async () => {
  const before = await damaged()
  expect(await prepare(true)).toEqual({ alreadyLoaded: true, passages: 400 })
  overwrite(join(artifact.folder, 'references.json'), 0, Buffer.from(' '))
  await expect(prepare(true)).rejects.toMatchObject({ code: status.DATA_LOSS })
  await expectUnloaded(before)
})

test('a file of a loaded version that no search reads from disk is found altered, and the version is unloaded', async () => {
  const before = await damaged()
  overwrite(join(artifact.folder, 'lexical.postings'), 0, Buffer.from([0xff, 0xfe]))
  await expectUnloaded(before)
})
