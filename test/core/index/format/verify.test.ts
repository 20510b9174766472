import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import {
  ARTIFACT_FILES,
  ARTIFACT_FORMAT,
  MANIFEST_FILE,
  SIGNATURE_FILE,
  manifestSchema,
  manifestText,
  signManifest,
} from '#core/index/format/manifest.ts'
import type { ArtifactFile, Manifest } from '#core/index/format/manifest.ts'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { documentsLayout } from '#core/index/facets/documents.ts'
import { verifyArtifact } from '#core/index/format/verify.ts'
import { buildTestArtifact, spaceOfVectors, writeSignedManifest } from '#test/support/artifact.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { testRows } from '#test/support/passages.ts'
import { folderOfFile } from '#test/support/folder.ts'

const keys = signingKeys()
const root = folderOfFile()
let folder: string

const rows = testRows({ rows: 200, dimensions: 8, seed: 3, traits: (n) => ({ references: [`rulebook:bee#${n}`] }) })
const acts = [{ id: 'rulebook:bee', aliases: ['BEE'] }]
const queryExpansions = Array.from({ length: 20 }, (_, n) => ({
  row: n * 9,
  id: `p${n}`,
  lang: 'en',
  q: `May bees ${n}?`,
}))
const good = (await buildTestArtifact({ store: root, rows, acts, queryExpansions, privateKeyDer: keys.privateKeyDer }))
  .folder
beforeEach(() => {
  folder = mkdtempSync(join(root, 'copy-'))
  cpSync(good, folder, { recursive: true })
})

const file = (name: string): string => join(folder, name)

function flipByte(name: string, at: number): void {
  const bytes = readFileSync(file(name))
  bytes[at] = (bytes[at] ?? 0) ^ 0x40
  writeFileSync(file(name), bytes)
}

/** Replaces a file and makes the manifest agree with it again, signed by the right key. */
function replaceSigned(
  name: ArtifactFile,
  bytes: Uint8Array,
  change: (manifest: Manifest) => Manifest = (manifest) => manifest,
): void {
  writeFileSync(file(name), bytes)
  const manifest = readManifest()
  const files = { ...manifest.files, [name]: { bytes: bytes.length, sha256: sha256(bytes).toString('hex') } }
  signAgain(manifestText(change(manifestSchema.parse({ ...manifest, files }))))
}

function signAgain(text: string): void {
  writeSignedManifest(folder, text, keys.privateKeyDer)
}

const readManifest = (): Manifest => manifestSchema.parse(JSON.parse(readFileSync(file(MANIFEST_FILE), 'utf8')))

const verify = (digest: Uint8Array = sha256(readFileSync(file(MANIFEST_FILE)))): Promise<Manifest> =>
  verifyArtifact(folder, [keys.publicKeyDer], digest)

test('an untouched artifact verifies, with and without the digest asked for', async () => {
  const digest = sha256(readFileSync(file(MANIFEST_FILE)))
  expect((await verify(digest)).passages).toBe(200)
  expect((await verify()).passages).toBe(200)
})

test.each(ARTIFACT_FILES)('one changed byte anywhere in %s is refused', async (name) => {
  const { size } = statSync(file(name))
  for (const at of [0, Math.floor(size / 2), size - 1]) {
    flipByte(name, at)
    await expect(verify()).rejects.toThrow(`${name} does not have the SHA-256`)
    flipByte(name, at)
  }
  await verify()
})

test.each(ARTIFACT_FILES)('%s truncated, extended, missing or behind a link is refused', async (name) => {
  const { size } = statSync(file(name))
  truncateSync(file(name), size - 1)
  await expect(verify()).rejects.toThrow(`${name} has ${size - 1} bytes instead of ${size}`)
  cpSync(join(good, name), file(name))
  appendFileSync(file(name), 'x')
  await expect(verify()).rejects.toThrow(`${name} has ${size + 1} bytes`)
  rmSync(file(name))
  await expect(verify()).rejects.toThrow(`lacks its file ${name}`)
  symlinkSync(join(good, name), file(name))
  await expect(verify()).rejects.toThrow(`lacks its file ${name}`)
})

test('the artifact in hand has something in every file', () => {
  expect(ARTIFACT_FILES.filter((name) => statSync(file(name)).size < 8)).toEqual([])
})

test('a file that the manifest does not name is refused', async () => {
  writeFileSync(file('extra.bin'), '')
  await expect(verify()).rejects.toThrow(/does not name/)
})

test('a manifest that was changed, signed by another key or not signed is refused', async () => {
  flipByte(SIGNATURE_FILE, 5)
  await expect(verify()).rejects.toThrow(/signature/)
  cpSync(join(good, SIGNATURE_FILE), file(SIGNATURE_FILE))
  writeFileSync(
    file(MANIFEST_FILE),
    readFileSync(file(MANIFEST_FILE), 'utf8').replace('"documents":20', '"documents":21'),
  )
  await expect(verify()).rejects.toThrow(/signature/)
  cpSync(join(good, MANIFEST_FILE), file(MANIFEST_FILE))
  writeFileSync(file(SIGNATURE_FILE), signManifest(readFileSync(file(MANIFEST_FILE)), signingKeys().privateKeyDer))
  await expect(verify()).rejects.toThrow(/signature/)
  rmSync(file(SIGNATURE_FILE))
  await expect(verify()).rejects.toThrow(/no readable manifest.sig/)
})

test('an artifact other than the one asked for is refused, however well it is signed', async () => {
  await expect(verify(sha256('another manifest'))).rejects.toThrow(/another digest/)
})

test('a signed manifest of another form is refused', async () => {
  const manifest = readManifest()
  signAgain(canonicalJson(manifest))
  await expect(verify()).resolves.not.toThrow()
  for (const format of [0, ARTIFACT_FORMAT + 1]) {
    signAgain(canonicalJson({ ...manifest, format }))
    await expect(verify()).rejects.toThrow(/form/)
  }
  const { 'rows.bin': _, ...files } = manifest.files
  signAgain(canonicalJson({ ...manifest, files }))
  await expect(verify()).rejects.toThrow(/form/)
  signAgain(canonicalJson({ ...manifest, unknown: true }))
  await expect(verify()).rejects.toThrow(/form/)
  const { requests_dimensions: _requested, ...space } = spaceOfVectors(manifest)
  signAgain(canonicalJson({ ...manifest, embedding: space }))
  await expect(verify()).rejects.toThrow(/form/)
})

test('statistics of cosines that are missing or do not fit the vectors are refused', async () => {
  const manifest = readManifest()
  const mean = (values: readonly number[]): string => Buffer.from(Float32Array.from(values).buffer).toString('base64')
  const fitting = { mean: mean(Array.from({ length: 8 }, () => 0.1)), deviation: 0.02 }
  signAgain(canonicalJson({ ...manifest, cosines: fitting }))
  expect((await verify()).cosines).toEqual(fitting)
  for (const cosines of [
    { ...fitting, mean: mean([0.1, 0.1]) },
    { ...fitting, mean: mean(Array.from({ length: 9 }, () => 0.1)) },
    { ...fitting, mean: mean([Number.NaN, 0, 0, 0, 0, 0, 0, 0]) },
    { ...fitting, mean: 'x' },
    { ...fitting, deviation: 0 },
    { ...fitting, more: 1 },
  ]) {
    signAgain(canonicalJson({ ...manifest, cosines }))
    await expect(verify()).rejects.toThrow(/form/)
  }
  const { cosines: _, ...others } = manifest
  signAgain(canonicalJson(others))
  await expect(verify()).rejects.toThrow(/form/)
})

test('offsets that do not increase or do not span the passages are refused', async () => {
  const offsets = readFileSync(file('passages.offsets'))
  const swapped = Buffer.from(offsets)
  swapped.writeDoubleLE(offsets.readDoubleLE(16), 8)
  replaceSigned('passages.offsets', swapped)
  await expect(verify()).rejects.toThrow(/does not increase/)
  const short = Buffer.from(offsets)
  short.writeDoubleLE(offsets.readDoubleLE(1_600) - 1, 1_600)
  replaceSigned('passages.offsets', short)
  await expect(verify()).rejects.toThrow(/does not span/)
  replaceSigned('passages.offsets', offsets.subarray(8))
  await expect(verify()).rejects.toThrow(/one offset a passage/)
})

test.each<[ArtifactFile, string]>([
  ['vectors.f32', 'does not hold one vector a passage'],
  ['vectors.sq4', 'does not hold one SQ4 vector a passage'],
  ['centroids.sq4', 'does not hold one SQ4 vector a list'],
  ['facets.bin', 'does not fit'],
  ['documents.bin', 'does not fit'],
])('%s of another number than the manifest states is refused', async (name, message) => {
  replaceSigned(name, readFileSync(file(name)).subarray(0, 100))
  await expect(verify()).rejects.toThrow(`${name} ${message}`)
})

/** A copy of a file with one number of 32 bits changed. */
function withWord(name: ArtifactFile, at: number, value: number): Buffer {
  const bytes = readFileSync(file(name))
  bytes.writeUInt32LE(value, at)
  return bytes
}

const documents = documentsLayout(20)
test.each<[string, ArtifactFile, number, number, RegExp]>([
  ['a document without a passage', 'documents.bin', documents.firstRunsOffset + 4, 0, /has no passage/],
  ['documents out of order', 'documents.bin', 0, 0xffff_ffff, /not sorted/],
  ['a run beyond the passages', 'documents.bin', documents.runsOffset + 4, 201, /outside the passages/],
  ['a run too long', 'documents.bin', documents.runsOffset + 4, 12, /every passage once/],
  ['fewer runs than it announces', 'documents.bin', documents.runsOffset - 4, 30, /runs that it announces/],
])('a signed artifact with %s is refused before anything is read by it', async (_, name, at, value, message) => {
  replaceSigned(name, withWord(name, at, value))
  await expect(verify()).rejects.toThrow(message)
})

test('search questions out of order, beyond the passages or of another number are refused', async () => {
  const inOrder = readFileSync(file('search-questions.rows'))
  for (const [at, row] of [
    [4, 0xffff],
    [8, 0],
  ] as const) {
    replaceSigned('search-questions.rows', withWord('search-questions.rows', at, row))
    await expect(verify()).rejects.toThrow(/the rows of passages in order/)
    replaceSigned('search-questions.rows', inOrder)
  }
  replaceSigned('search-questions.rows', inOrder.subarray(4))
  await expect(verify()).rejects.toThrow(/one row a question/)
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(good, MANIFEST_FILE), 'utf8')))
  signAgain(canonicalJson({ ...manifest, search_questions: 19 }))
  await expect(verify()).rejects.toThrow()
  const { search_questions: _count, ...withoutCount } = manifest
  signAgain(canonicalJson(withoutCount))
  await expect(verify()).rejects.toThrow(/form/)
})

test('a manifest has all of the vectors, their lists and their space, or none of them', async () => {
  const manifest = readManifest()
  const { 'graph.usearch': _graph, ...files } = manifest.files
  for (const incomplete of [{ clusters: undefined }, { embedding: undefined }, { files }].map((without) => ({
    ...manifest,
    ...without,
  }))) {
    signAgain(canonicalJson(incomplete))
    await expect(verify()).rejects.toThrow(/form/)
  }
})
