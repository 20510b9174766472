import { appendFileSync, cpSync, mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { TERMS_PER_BLOCK } from '#core/index/lexical/layout.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { artifactRef, openIndex, type ArtifactRef } from '#core/index/format/reader.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { testRows } from '#test/support/passages.ts'
import { folderOfFile } from '#test/support/folder.ts'

const root = folderOfFile()
let folder: string

const rows = testRows({ rows: 60, dimensions: 16, seed: 5, traits: (n) => ({ references: [`rulebook:bee#${n}`] }) })
const artifact = await buildTestArtifact({ store: root, rows })
const good = artifactRef(artifact.folder, artifact.manifest)
beforeEach(() => {
  folder = mkdtempSync(join(root, 'copy-'))
  cpSync(good.folder, folder, { recursive: true })
})

const open = (change: Partial<ArtifactRef> = {}): ReturnType<typeof openIndex> =>
  openIndex({ ...good, folder, ...change })

/** Makes a description say more of something than there is. */
function sayMore(name: string, count: string, more: number): void {
  const description: unknown = JSON.parse(readFileSync(join(folder, name), 'utf8'))
  const before: unknown = Object.entries(description ?? {}).find(([key]) => key === count)?.[1]
  if (typeof before !== 'number') throw new Error(`${name} has no ${count}`)
  writeFileSync(join(folder, name), canonicalJson(Object.assign({}, description, { [count]: before + more })))
}

test('an artifact in order is opened, and opened again', () => {
  for (let times = 0; times < 2; times++) expect(() => open().close()).not.toThrow()
})

test.each([
  'rows.bin',
  'lexical.terms',
  'lexical.postings',
  'forward.tokens',
  'forward.offsets',
  'forward.pairs',
  'references.bin',
])('an artifact whose %s is longer or shorter than the manifest and its description say is not opened', (name) => {
  const { size } = statSync(join(folder, name))
  truncateSync(join(folder, name), size - 4)
  expect(() => open()).toThrow(/does not fit the number of passages|not as long as its description says/)
  cpSync(join(good.folder, name), join(folder, name))
  appendFileSync(join(folder, name), Buffer.alloc(4))
  expect(() => open()).toThrow(/does not fit the number of passages|not as long as its description says/)
})

test.each([
  ['lexical.json', 'rows', 1],
  ['lexical.json', 'terms', TERMS_PER_BLOCK],
  ['lexical.json', 'blocks_bytes', 1],
  ['lexical.json', 'first_terms_bytes', 1],
  ['lexical.json', 'postings_bytes', 1],
  ['forward.json', 'rows', 1],
  ['forward.json', 'uint32s', 1],
  ['forward.json', 'pair_bits', 1],
  ['references.json', 'terms', 1],
  ['references.json', 'postings', 1],
  ['references.json', 'text_bytes', 1],
])('an artifact whose %s says more in %s than there is is not opened', (name, count, more) => {
  sayMore(name, count, more)
  expect(() => open()).toThrow(/contradicts the manifest|not as long as/)
})

test.each(['lexical.json', 'forward.json', 'references.json', 'facets.json'])(
  'an artifact whose %s is of another form is not opened',
  (name) => {
    writeFileSync(join(folder, name), '{}')
    expect(() => open()).toThrow()
  },
)

test('files of another number of passages than the manifest states are not opened', () => {
  for (const passages of [59, 61]) expect(() => open({ passages })).toThrow()
})
