import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXPANSION_MAX, GRAPH_RECALL } from '#core/index/vectors/graph.ts'
import { openGraph } from '#core/index/vectors/graph-reader.ts'
import { openVectorsWriter } from '#core/index/vectors/writer.ts'
import type { WrittenVectors } from '#core/index/vectors/writer.ts'
import { digestFile } from '#core/platform/hashed-file.ts'
import { seededRandom, unit } from '#test/support/artifact.ts'

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
console.log(`TEST_SEED=${seed}`)
const DIMENSIONS = 384
/** More than one batch. */
const ROWS = 3_000

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'graph-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function written(
  rows: number,
  draw: (random: () => number) => Float32Array,
  queries: readonly Float32Array[] = [],
): Promise<{ readonly path: string; readonly vectors: WrittenVectors }> {
  const own = mkdtempSync(join(folder, 'vectors-'))
  const random = seededRandom(seed)
  const writer = await openVectorsWriter({
    folder: own,
    rows,
    dimensions: DIMENSIONS,
    graphFromBytes: 0,
    pause: () => Promise.resolve(),
  })
  for (let row = 0; row < rows; row++) await writer.add(Float32Array.from(unit(draw(random))))
  return { path: join(own, 'graph.usearch'), vectors: await writer.finish(queries) }
}

const anyVector = (random: () => number): Float32Array =>
  Float32Array.from({ length: DIMENSIONS }, () => random() - 0.4)

test('two processes write the same bytes of a graph', async () => {
  const script = new URL('../../../support/index/write-graph.ts', import.meta.url)
  const digests = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const path = join(folder, name)
      const child = spawn(process.execPath, [script.pathname, path, String(ROWS), String(DIMENSIONS), String(seed)], {
        stdio: ['ignore', 'inherit', 'inherit'],
      })
      expect(await once(child, 'exit')).toEqual([0, null])
      return digestFile(path)
    }),
  )
  expect(digests[1]).toEqual(digests[0])
})

test('the expansion of a graph is measured with the queries given, filled up with rows to 200', async () => {
  const { vectors } = await written(800, anyVector, [unit(new Float32Array(DIMENSIONS).fill(1))])
  expect(vectors.graph?.queries).toBe(200)
  expect(vectors.graph?.recall).toBeGreaterThanOrEqual(GRAPH_RECALL)
  expect(vectors.graph?.expansion).toBeLessThan(EXPANSION_MAX)
})

test('a graph other than the manifest describes is refused', async () => {
  const { path } = await written(100, anyVector)
  for (const [rows, dimensions, connectivity] of [
    [99, DIMENSIONS, 32],
    [100, DIMENSIONS - 1, 32],
    [100, DIMENSIONS, 16],
  ] as const)
    expect(() => openGraph(path, rows, dimensions, { connectivity })).toThrow(/not the graph/)
  expect(openGraph(path, 100, DIMENSIONS, { connectivity: 32 }).search(anyVector(seededRandom(1)), 100)).toHaveLength(
    100,
  )
})
