import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { passagesIn } from '#core/index/passages/records.ts'
import { withSourceIds } from '#jobs/evaluation/source-ids.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { folderOfFile } from '#test/support/folder.ts'

const ROWS = [0, 19, 7, 0]
const store = folderOfFile()

test('ids that are noted while passages are streamed are not read again', async () => {
  const rows = testRows({ rows: 20, dimensions: 8, seed: 2 })
  const built = await buildTestArtifact({ store, rows, privateKeyDer: signingKeys().privateKeyDer, name: 'noted' })
  const path = join(built.folder, 'passages.jsonl')
  const artifact = { ...built.manifest, folder: built.folder, damaged: (error: Error) => error }
  await withSourceIds(artifact, async (sourceIdOf, note) => {
    const ids: string[] = []
    for await (const { source_id: id } of note(passagesIn(path))) ids.push(id)
    writeFileSync(path, readFileSync(path).fill(0x20, 10))
    expect(ROWS.map(sourceIdOf)).toEqual(ROWS.map((row) => ids[row]))
  })
})

test('the id of a row is that of its passage, and an altered passage is refused', async () => {
  const rows = testRows({ rows: 20, dimensions: 8, seed: 1 })
  const built = await buildTestArtifact({ store, rows, privateKeyDer: signingKeys().privateKeyDer, name: 'ids' })
  const path = join(built.folder, 'passages.jsonl')
  const ids: string[] = []
  for await (const { source_id: id } of passagesIn(path)) ids.push(id)
  const artifact = {
    ...built.manifest,
    folder: built.folder,
    damaged: ({ message }: Error) => new Error(`damaged: ${message}`),
  }
  await withSourceIds(artifact, async (sourceIdOf) => {
    expect(ROWS.map(sourceIdOf)).toEqual(ROWS.map((row) => ids[row]))
    writeFileSync(path, readFileSync(path).fill(0x20, 10, 20))
    expect(() => sourceIdOf(1)).not.toThrow()
    expect(() => sourceIdOf(0)).not.toThrow()
    await Promise.resolve()
  })
  await expect(withSourceIds(artifact, async (sourceIdOf) => await Promise.resolve(sourceIdOf(0)))).rejects.toThrow(
    'damaged: A passage of passages.jsonl was altered',
  )
})
