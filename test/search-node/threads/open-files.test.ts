import { cpSync, mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { artifactRef } from '#core/index/format/reader.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import { SearchPool } from '#search-node/threads/pool.ts'
import { startScoringWorker } from '#search-node/threads/workers.ts'
import type { ScoringWorker } from '#search-node/threads/workers.ts'
import { Versions } from '#search-node/versions.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import type { TestArtifact } from '#test/support/artifact.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { testRows } from '#test/support/passages.ts'

let root: string
let artifact: TestArtifact
let ref: ArtifactRef
const workers: ScoringWorker[] = []

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'open-files-'))
  artifact = await buildTestArtifact({
    store: root,
    rows: testRows({ rows: 60, dimensions: 16, seed: 5, traits: (n) => ({ references: [`rulebook:bee#${n}`] }) }),
    privateKeyDer: signingKeys().privateKeyDer,
  })
  workers.push(startScoringWorker(), startScoringWorker())
})
beforeEach(() => {
  const folder = mkdtempSync(join(root, 'copy-'))
  cpSync(artifact.folder, folder, { recursive: true })
  ref = { ...artifactRef(artifact.folder, artifact.manifest), folder }
})
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.end()))
  rmSync(root, { recursive: true, force: true })
})

/** Files of a folder that this process holds open, on any thread. */
function openFiles(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(join('/proc/self/fd', descriptor))
      return path.startsWith(folder) ? [path.slice(folder.length + 1)] : []
    } catch {
      return []
    }
  })
}

function versionsOn(pool: SearchPool): Versions {
  return new Versions({
    artifactFolder: () => ref.folder,
    verify: () => Promise.resolve(artifact.manifest),
    openEverywhere: (opened) => pool.openEverywhere(opened),
    closeEverywhere: (closed) => pool.closeEverywhere(closed),
    onDamaged: () => undefined,
  })
}

function failing(change: Partial<ScoringWorker>): ScoringWorker {
  const done = (): Promise<void> => Promise.resolve()
  return {
    search: () => Promise.reject(new Error('no search')),
    open: () => Promise.resolve(new Map()),
    close: done,
    end: done,
    ...change,
  }
}

const fails = (): Promise<never> => Promise.reject(new Error('the thread failed'))

describe('no file of a version stays open', () => {
  const files = readFilesInOrder()

  test.each(files)('if %s is damaged', async (name) => {
    truncateSync(join(ref.folder, name), 1)
    await expect(versionsOn(new SearchPool(workers, 8)).prepare(artifact.versionId, Buffer.alloc(32))).rejects.toThrow()
    expect(openFiles(ref.folder)).toEqual([])
  })

  test('if a later thread cannot open it', async () => {
    const pool = new SearchPool([...workers, failing({ open: fails })], 8)
    await expect(versionsOn(pool).prepare(artifact.versionId, Buffer.alloc(32))).rejects.toThrow('the thread failed')
    expect(openFiles(ref.folder)).toEqual([])
  })

  test('if an earlier thread cannot close it', async () => {
    const pool = new SearchPool([failing({ close: fails }), ...workers], 8)
    const versions = versionsOn(pool)
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
