import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CELLS_RECALL, cellsFault, cellsLayout } from '#core/index/vectors/cells.ts'
import { openGraph } from '#core/index/vectors/graph.ts'
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
): Promise<{ readonly folder: string; readonly vectors: WrittenVectors }> {
  const own = mkdtempSync(join(folder, 'vectors-'))
  const random = seededRandom(seed)
  const writer = await openVectorsWriter({
    folder: own,
    rows,
    dimensions: DIMENSIONS,
    cellsFromBytes: 0,
    pause: () => Promise.resolve(),
  })
  for (let row = 0; row < rows; row++) await writer.add(Float32Array.from(unit(draw(random))))
  return { folder: own, vectors: await writer.finish(queries) }
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

test('every row lies in one place of one cell, by row within the cell', async () => {
  const { folder: own, vectors } = await written(ROWS, anyVector)
  const count = vectors.cells?.count ?? 0
  expect(count).toBeGreaterThan(Math.sqrt(ROWS))
  const bytes = readFileSync(join(own, 'cells.u32'))
  expect(cellsFault(bytes, ROWS, count)).toBeUndefined()
  const starts = new Uint32Array(new Uint8Array(bytes).buffer, 0, count + 1)
  const rows = new Uint32Array(new Uint8Array(bytes).buffer, cellsLayout(ROWS, count).rowsOffset, ROWS)
  for (let cell = 0; cell < count; cell++) {
    const members = [...rows.subarray(starts[cell], starts[cell + 1])]
    expect(members).toEqual(members.toSorted((a, b) => a - b))
  }
})

test('the cells of a search are measured with the queries given, filled up with rows to 200', async () => {
  const { vectors } = await written(800, anyVector, [unit(new Float32Array(DIMENSIONS).fill(1))])
  expect(vectors.cells?.queries).toBe(200)
  expect(vectors.cells?.recall).toBeGreaterThanOrEqual(CELLS_RECALL)
  const { probes = [0, 0, 0], count = 0 } = vectors.cells ?? {}
  expect([...probes, count]).toEqual([...probes, count].toSorted((a, b) => a - b))
  expect(vectors.cells?.deviations).toBeGreaterThan(0)
})

test('rows that are all the same are divided without fault', async () => {
  const { vectors } = await written(500, () => new Float32Array(DIMENSIONS).fill(1))
  expect(vectors.cells?.recall).toBe(1)
})

test('a graph other than the manifest describes is refused', async () => {
  const { folder: own, vectors } = await written(400, anyVector)
  const path = join(own, 'graph.usearch')
  const count = vectors.cells?.count ?? 0
  for (const [dimensions, points, connectivity] of [
    [DIMENSIONS, count + 1, 64],
    [DIMENSIONS - 1, count, 64],
    [DIMENSIONS, count, 16],
  ] as const)
    expect(() => openGraph(path, dimensions, points, connectivity)).toThrow(/not the graph/)
  expect(openGraph(path, DIMENSIONS, count, 64).nearest(unit(anyVector(seededRandom(1))), 5).points).toHaveLength(5)
})

test('cells that do not hold every passage once are refused', () => {
  const cells = (numbers: readonly number[]): Buffer => Buffer.from(Uint32Array.from(numbers).buffer)
  expect(cellsFault(cells([0, 1, 3, 2, 0, 1]), 3, 2)).toBeUndefined()
  for (const [numbers, message] of [
    [[0, 1, 3, 2, 0], /does not fit/],
    [[1, 2, 3, 2, 0, 1], /follow each other/],
    [[0, 3, 3, 2, 0, 1], /follow each other/],
    [[0, 1, 2, 2, 0, 1], /end with the passages/],
    [[0, 1, 3, 2, 0, 2], /every passage once/],
    [[0, 1, 3, 2, 0, 3], /every passage once/],
  ] as const)
    expect(cellsFault(cells(numbers), 3, 2)).toMatch(message)
})
