import { cpSync, mkdtempSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { artifactRef, type ArtifactRef } from '#core/index/format/reader.ts'
import { SearchPool } from '#search-node/threads/pool.ts'
import { Versions } from '#search-node/versions.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { testRows } from '#test/support/passages.ts'
import { openFiles } from './open-files.ts'
import { folderOfFile } from '#test/support/folder.ts'

const root = folderOfFile()
let ref: ArtifactRef

const artifact = await buildTestArtifact({
  store: root,
  rows: testRows({ rows: 60, dimensions: 16, seed: 5, traits: (n) => ({ references: [`rulebook:bee#${n}`] }) }),
})
const pool = new SearchPool({ threads: 2, queueMax: 8, worker: new URL('./faulty-worker.ts', import.meta.url) })
beforeEach(() => copyTo('copy'))
afterAll(async () => {
  await pool.end()
})

function copyTo(name: string): void {
  const folder = mkdtempSync(join(root, `${name}-`))
  cpSync(artifact.folder, folder, { recursive: true })
  ref = { ...artifactRef(artifact.folder, artifact.manifest), folder }
}

function createVersions(): Versions {
  return new Versions({
    artifactFolder: () => ref.folder,
    verify: () => Promise.resolve(artifact.manifest),
    openEverywhere: (opened) => pool.openEverywhere(opened),
    closeEverywhere: (closed) => pool.closeEverywhere(closed),
    onState: () => undefined,
    onDamaged: () => undefined,
  })
}

describe('no file of a version stays open', () => {
  const files = readFilesInOrder()

  test.each(files)('if %s is damaged', async (name) => {
    truncateSync(join(ref.folder, name), 1)
    await expect(createVersions().prepare(artifact.versionId, Buffer.alloc(32))).rejects.toThrow()
    expect(openFiles(ref.folder)).toEqual([])
  })

  test('if a later thread cannot open it', async () => {
    copyTo('a-later-thread-cannot-open')
    await expect(createVersions().prepare(artifact.versionId, Buffer.alloc(32))).rejects.toThrow('the thread failed')
    expect(openFiles(ref.folder)).toEqual([])
  })

  test('if an earlier thread cannot close it', async () => {
    copyTo('the-first-thread-cannot-close')
    const versions = createVersions()
    await versions.prepare(artifact.versionId, Buffer.alloc(32))
    expect(openFiles(ref.folder).length).toBeGreaterThan(0)
    await expect(versions.release(artifact.versionId)).rejects.toThrow('the thread failed')
    expect(openFiles(ref.folder)).toEqual([])
  })
})

/** Files that a thread reads when it opens a version; a damaged one is noticed. */
function readFilesInOrder(): readonly string[] {
  return [
    'passages.offsets',
    'passages.sha256',
    'passages.jsonl',
    'facets.json',
    'facets.bin',
    'documents.bin',
    'lexical.json',
    'lexical.terms',
    'lexical.postings',
    'forward.json',
    'forward.offsets',
    'forward.pairs',
    'forward.tokens',
    'references.json',
    'references.bin',
    'rows.bin',
  ]
}
