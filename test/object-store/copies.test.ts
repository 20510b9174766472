import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { verifyArtifact } from '#core/index/format/verify.ts'
import { sha256 } from '#core/platform/digest.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { folderOfFile, folderOfTest } from '#test/support/folder.ts'
import { testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { startObjectHarness, written } from './harness.ts'

const keys = signingKeys()
const harness = await startObjectHarness()

/** The artifacts of one machine, each with what another one knows of it. */
const cache = folderOfFile()
const [first, second, third] = await Promise.all(
  (['a', 'b', 'c'] as const).map((name, seed) => built(cache, name, seed)),
)
if (first === undefined || second === undefined || third === undefined) throw new Error('three are built')

async function built(folder: string, name: string, seed: number) {
  const rows = testRows({ rows: 300, dimensions: 32, seed })
  const artifact = await buildTestArtifact({ store: folder, rows, name, privateKeyDer: keys.privateKeyDer })
  return { ...artifact, signed: { digest: artifact.manifestDigest, publicKeysDer: [keys.publicKeyDer] } }
}

/** @returns a store on another machine. */
async function published(...artifacts: readonly { readonly folder: string }[]) {
  const url = harness.newUrl()
  const store = harness.open(url, { cache })
  for (const { folder } of artifacts) await store.publish(folder)
  harness.faults.calls()
  return { url, store, other: harness.open(url) }
}

const contents = (folder: string) => readdirSync(folder).map((name) => [name, sha256(readFileSync(join(folder, name)))])

test('another machine fetches an artifact whole, and neither side does anything twice', async () => {
  const { store, other } = await published(first)
  await store.publish(first.folder)
  expect(harness.faults.calls().filter((call) => call.startsWith('PUT'))).toEqual([])
  const copy = await other.fetch(other.artifactFolder(first.versionId), first.signed)
  expect(contents(copy)).toEqual(contents(first.folder))
  await verifyArtifact(copy, first.signed.publicKeysDer, first.signed.digest)
  harness.faults.calls()
  await other.fetch(copy, first.signed)
  expect(harness.faults.calls()).toEqual([])
})

test('an artifact without its signature is not there, and what an earlier run left of it makes room', async () => {
  const { url, store, other } = await published()
  const folder = other.artifactFolder(first.versionId)
  const left = await built(folderOfTest(), 'a', 9)
  const earlier = harness.open(url, { cache: join(left.folder, '..', '..') })
  harness.faults.fail(/^PUT .*manifest\.sig/, { status: 503, code: 'SlowDown' }, 99)
  await expect(earlier.publish(left.folder)).rejects.toThrow(/503 SlowDown/)
  harness.faults.pass()
  expect(existsSync(await other.fetch(folder))).toBe(false)
  await store.publish(first.folder)
  expect(contents(await other.fetch(folder))).toEqual(contents(first.folder))
  await expect(earlier.publish(left.folder)).rejects.toThrow(/^The object store holds other bytes under artifacts/)
})

test('a fetch that was interrupted continues at the byte where it ended', async () => {
  const { url, other } = await published(first)
  harness.faults.fail(/vectors\.f32.* bytes=16384/, { status: 503, code: 'SlowDown' }, 99)
  await expect(other.fetch(other.artifactFolder(first.versionId))).rejects.toThrow(/vectors\.f32 \(503 SlowDown\)/)
  harness.faults.pass()
  harness.faults.calls()
  const again = harness.open(url, { cache: other.cache })
  expect(contents(await again.fetch(again.artifactFolder(first.versionId)))).toEqual(contents(first.folder))
  const ranges = harness.faults.calls().flatMap((call) => /vectors\.f32.* bytes=(\d+)-/.exec(call)?.[1] ?? [])
  expect(ranges[0]).toBe('16384')
})

test.each(['cut', 'silent', 'wrong'] as const)('one answer that is %s changes nothing', async (fault) => {
  const { other } = await published(first)
  harness.faults.fail(/^GET .*passages\.jsonl/, fault, 1)
  expect(contents(await other.fetch(other.artifactFolder(first.versionId)))).toEqual(contents(first.folder))
  expect(harness.faults.pass()).toBe(0)
})

test('wrong bytes that stay wrong are refused, and none is kept under the final name', async () => {
  const { other } = await published(first)
  harness.faults.fail(/^GET .*passages\.jsonl/, 'wrong', 99)
  const folder = other.artifactFolder(first.versionId)
  await expect(other.fetch(folder)).rejects.toThrow(
    /^The object store holds other bytes of artifacts\/.*passages\.jsonl than were written: restore/,
  )
  expect(existsSync(folder)).toBe(false)
})

test('an older signed artifact that was put back is refused before its files are fetched', async () => {
  const { other } = await published(first)
  await expect(other.fetch(other.artifactFolder(first.versionId), second.signed)).rejects.toThrow(
    'The manifest has another digest than the one asked for.',
  )
  expect(harness.faults.calls()).toHaveLength(2)
})

test('a lost object is named', async () => {
  const { other } = await published(first)
  await other.unpublish(join(other.artifactFolder(first.versionId), 'rows.bin'))
  await expect(other.fetch(other.artifactFolder(first.versionId))).rejects.toMatchObject({
    message: expect.stringMatching(/^The object store lacks artifacts\/.*rows\.bin: restore the object/),
    absent: true,
  })
})

test('a full disk is said in one sentence', async () => {
  const { other } = await published(first)
  const part = `${other.artifactFolder(first.versionId)}.part`
  mkdirSync(part, { recursive: true })
  symlinkSync('/dev/full', join(part, 'vectors.f32'))
  await expect(other.fetch(other.artifactFolder(first.versionId))).rejects.toThrow(
    'The disk of ARTIFACT_CACHE is full: free some of it, or lower ARTIFACT_CACHE_MAX_MB.',
  )
})

test('a captured file goes by its SHA-256, a report is replaced, and nothing else is', async () => {
  const url = harness.newUrl()
  const [one, other] = [harness.open(url), harness.open(url)]
  const bytes = Buffer.alloc(200_000, 'law')
  const name = sha256(bytes).toString('hex')
  await one.publish(written(one.snapshotFile(name), bytes))
  await other.publish(written(other.snapshotFile(name), bytes))
  const last = harness.open(url)
  expect(readFileSync(await last.fetch(last.snapshotFile(name)))).toEqual(bytes)
  expect(await last.bytesOf(last.snapshotFile(name))).toBe(bytes.length)
  await expect(one.publish(written(one.snapshotFile(name), 'other bytes'))).rejects.toThrow(
    /^The object store holds other bytes under snapshots\/.*: remove that object/,
  )
  for (const text of ['first', 'second']) await one.publish(written(one.reportFile('v'), text), { again: true })
  expect(readFileSync(await other.fetch(other.reportFile('v')), 'utf8')).toBe('second')
  await one.unpublish(one.reportFile('v'))
  expect(existsSync(await last.fetch(last.reportFile('v')))).toBe(false)
})

test('of two writers of the list of versions one wins, and the other one writes the next time', async () => {
  const url = harness.newUrl()
  const [one, other] = [harness.open(url), harness.open(url)]
  expect(await one.readText(one.servingFile)).toBeUndefined()
  await one.replaceText(one.servingFile, 'first')
  harness.faults.fail(/^PUT .*serving\.json/, { status: 412, code: 'PreconditionFailed' }, 1)
  await other.replaceText(other.servingFile, 'second')
  expect(await one.readText(one.servingFile)).toBe('first')
  await other.replaceText(other.servingFile, 'second')
  expect(await one.readText(one.servingFile)).toBe('second')
})

test('the least recently used copies go, never one that is wanted, and what does not fit is refused', async () => {
  const { url } = await published(first, second, third)
  const bytes = readdirSync(first.folder).reduce((sum, name) => sum + statSync(join(first.folder, name)).size, 0)
  const wanted: string[] = []
  const other = harness.open(url, { megabytes: (2.5 * bytes) / 1_024 / 1_024, inUse: () => wanted })
  const folders = [first, second, third].map(({ versionId }) => other.artifactFolder(versionId))
  const [a = '', b = '', c = ''] = folders
  for (const folder of [a, b, a, c]) await other.fetch(folder)
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, false, true])
  wanted.push(first.versionId, third.versionId)
  await expect(other.fetch(b)).rejects.toThrow(/^Another \d+ bytes do not fit into ARTIFACT_CACHE_MAX_MB beside/)
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, false, true])
})
