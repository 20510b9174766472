import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { collectGarbage } from '#search-node/threads/collect-garbage.ts'
import { SearchPool } from '#search-node/threads/pool.ts'
import { Versions } from '#search-node/versions.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { testRows } from '#test/support/passages.ts'
import { UNLIMITED, inputOf } from '#test/support/search.ts'
import { openFiles } from './open-files.ts'
import { folderOfFile } from '#test/support/folder.ts'

const CYCLES = 40
/** Cycles after which the heaps of the threads have their size. */
const SETTLED_AFTER = 15
/** Of both threads together: 25 cycles that each kept a thirtieth of the version would exceed it. */
const GROWTH_MEGABYTES_MAX = 12
/** Of addresses: V8 reserves more than 4 GiB for each memory of WebAssembly, whatever it holds. */
const ADDRESSES_GROWTH_MEGABYTES_MAX = 8 * 1_024

const store = folderOfFile()

const artifact = await buildTestArtifact({ store, rows: testRows({ rows: 4_000, dimensions: 64, seed: 5 }) })
const pool = new SearchPool({ threads: 2, queueMax: 8 })
afterAll(async () => {
  await pool.end()
})

function mappings(): string[] {
  return readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.includes(artifact.folder))
}

function megabytes(field: 'RssAnon' | 'VmSize'): number {
  const [, kilobytes = ''] = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}

test('a version that is loaded and released 40 times leaves no file, no mapping and no memory', async () => {
  const versions = new Versions({
    artifactFolder: () => artifact.folder,
    verify: () => Promise.resolve(artifact.manifest),
    openEverywhere: (ref) => pool.openEverywhere(ref),
    closeEverywhere: (ref) => pool.closeEverywhere(ref),
    onState: () => undefined,
    onDamaged: () => undefined,
  })
  const { versionId } = artifact
  const vector = artifact.rows[7]?.vector
  let [settledMegabytes, settledAddresses] = [0, 0]
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    await versions.prepare(versionId, Buffer.alloc(32))
    expect(openFiles(artifact.folder)).not.toEqual([])
    expect(mappings().some((line) => line.endsWith('graph.usearch'))).toBe(true)
    const asked = [1, 5].map((limit) =>
      pool.search({ versionId, input: inputOf({ vector, text: 'rule 7', limit }) }, UNLIMITED),
    )
    await Promise.all(asked)
    await versions.release(versionId)
    expect([...openFiles(artifact.folder), ...mappings()]).toEqual([])
    // A node does so after each release; the heap of a test is larger.
    if (cycle % 10 === 9) await collectGarbage()
    if (cycle < SETTLED_AFTER) settledMegabytes = Math.max(settledMegabytes, megabytes('RssAnon'))
    if (cycle === SETTLED_AFTER - 1) settledAddresses = megabytes('VmSize')
  }
  expect(megabytes('RssAnon')).toBeLessThan(settledMegabytes + GROWTH_MEGABYTES_MAX)
  expect(megabytes('VmSize')).toBeLessThan(settledAddresses + ADDRESSES_GROWTH_MEGABYTES_MAX)
})
