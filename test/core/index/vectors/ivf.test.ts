import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { RADIUS_MIN_SHARE, ivfFault, ivfLayout } from '#core/index/vectors/ivf-layout.ts'
import { openIvf } from '#core/index/vectors/ivf-reader.ts'
import { sq4Score } from '#core/index/vectors/quantizer.ts'
import { openSq4 } from '#core/index/vectors/sq4-reader.ts'
import { openGraph } from '#core/index/vectors/graph.ts'
import { innerProductAt } from '#core/index/vectors/inner-product.ts'
import { rowsLayout } from '#core/index/vectors/layout.ts'
import { openVectorsWriter, type WrittenVectors } from '#core/index/vectors/writer.ts'
import { digestFile } from '#core/platform/hashed-file.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { seededRandom, unit } from '#test/support/passages.ts'
import { folderOfFile } from '#test/support/folder.ts'

const { seed } = inject('random')
const DIMENSIONS = 384
/** More than one batch. */
const ROWS = 3_000

const folder = folderOfFile()

async function written(
  rows: number,
  draw: (random: () => number) => Float32Array,
  queries: readonly Float32Array[] = [unit(new Float32Array(DIMENSIONS).fill(1))],
): Promise<{ readonly folder: string; readonly vectors: WrittenVectors }> {
  const own = mkdtempSync(join(folder, 'vectors-'))
  const random = seededRandom(seed)
  const writer = await openVectorsWriter({ folder: own, rows, dimensions: DIMENSIONS, pause: () => Promise.resolve() })
  for (let row = 0; row < rows; row++) await writer.add(Float32Array.from(unit(draw(random))))
  return { folder: own, vectors: await writer.finish(queries) }
}

const anyVector = (random: () => number): Float32Array =>
  Float32Array.from({ length: DIMENSIONS }, () => random() - 0.4)

test('two processes write the same bytes of a graph', async () => {
  const script = new URL('./write-graph.ts', import.meta.url)
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

test('every row lies in one position of one list, by row within the list', async () => {
  const { folder: own, vectors } = await written(ROWS, anyVector)
  const count = vectors.ivf.count
  expect(count).toBeGreaterThan(Math.sqrt(ROWS))
  const bytes = readFileSync(join(own, 'clusters.u32'))
  expect(ivfFault(bytes, ROWS, count)).toBeUndefined()
  const starts = new Uint32Array(new Uint8Array(bytes).buffer, 0, count + 1)
  const rows = new Uint32Array(new Uint8Array(bytes).buffer, ivfLayout(ROWS, count).rowsOffset, ROWS)
  for (let list = 0; list < count; list++) {
    const members = [...rows.subarray(starts[list], starts[list + 1])]
    expect(members).toEqual(members.toSorted((a, b) => a - b))
  }
})

test('a build measures how many lists a search has to probe', async () => {
  const { vectors } = await written(800, anyVector, [unit(new Float32Array(DIMENSIONS).fill(1))])
  const { nprobe, count, deviations } = vectors.ivf
  expect(nprobe).toBeGreaterThan(0)
  expect(nprobe).toBeLessThanOrEqual(count)
  expect(deviations).toBeGreaterThan(0)
})

test.each([1, 2, 9])('a version of %i rows has lists and a graph', async (rows) => {
  const { folder: own, vectors } = await written(rows, anyVector)
  const reader = openIvf(own, rows, DIMENSIONS, vectors.ivf, createResidentParts())
  expect([...reader.rows].toSorted((a, b) => a - b)).toEqual(Array.from({ length: rows }, (_, row) => row))
  const query = anyVector(seededRandom(seed + 2))
  expect(reader.nearest(query, vectors.ivf.count)).toHaveLength(vectors.ivf.count)
  reader.close()
})

test('rows that are all the same are divided without fault', async () => {
  const { vectors } = await written(500, () => new Float32Array(DIMENSIONS).fill(1))
  expect(vectors.ivf.nprobe).toBeLessThanOrEqual(vectors.ivf.count)
})

test('a graph other than the manifest describes is refused', async () => {
  const { folder: own, vectors } = await written(400, anyVector)
  const path = join(own, 'graph.usearch')
  const count = vectors.ivf.count
  for (const [dimensions, points, connectivity] of [
    [DIMENSIONS, count + 1, 64],
    [DIMENSIONS + 1, count, 64],
    [DIMENSIONS, count, 16],
  ] as const)
    expect(() => openGraph(path, dimensions, points, connectivity)).toThrow(/not the graph/)
  const query = Float32Array.from(unit(anyVector(seededRandom(1))))
  expect(openGraph(path, DIMENSIONS, count, 64).nearest(query, 5)).toHaveLength(5)
})

test('lists that do not hold every passage once are refused', () => {
  /** Of two lists. */
  const table = (starts: readonly number[], radii: readonly number[], rows: readonly number[]): Buffer =>
    Buffer.concat(
      [Uint32Array.from(starts), Float32Array.from(radii), Uint32Array.from(rows)].map(({ buffer }) =>
        Buffer.from(buffer),
      ),
    )
  expect(ivfFault(table([0, 1, 3], [0, 0.5], [2, 0, 1]), 3, 2)).toBeUndefined()
  for (const [starts, radii, rows, message] of [
    [[0, 1, 3], [0, 0.5], [2, 0], /does not fit/],
    [[1, 2, 3], [0, 0.5], [2, 0, 1], /follow each other/],
    [[0, 3, 3], [0, 0.5], [2, 0, 1], /follow each other/],
    [[0, 1, 2], [0, 0.5], [2, 0, 1], /end with the passages/],
    [[0, 1, 3], [0, 1.5], [2, 0, 1], /a radius that no rows/],
    [[0, 1, 3], [Number.NaN, 0.5], [2, 0, 1], /a radius that no rows/],
    [[0, 1, 3], [0, 0.5], [2, 0, 2], /every passage once/],
    [[0, 1, 3], [0, 0.5], [2, 0, 3], /every passage once/],
  ] as const)
    expect(ivfFault(table(starts, radii, rows), 3, 2)).toMatch(message)
})

test('the product of a query with a centroid is that with the mean of its rows, up to the error of SQ4', async () => {
  const { folder: own, vectors } = await written(ROWS, anyVector)
  const { ivf } = vectors
  using opened = new DisposableStack()
  const reader = openIvf(own, ROWS, DIMENSIONS, ivf, createResidentParts())
  opened.defer(() => reader.close())
  const sq4 = openSq4({ path: join(own, 'vectors.sq4') }, ROWS, DIMENSIONS)
  opened.defer(() => sq4.close())
  const rows = new Float32Array(new Uint8Array(readFileSync(join(own, 'vectors.f32'))).buffer)
  const query = Float32Array.from(unit(anyVector(seededRandom(seed + 1))))
  const cosines = Array.from({ length: ROWS }, (_, row) => innerProductAt(rows, row * DIMENSIONS, query))
  const { query: quantized } = sq4.scan(query, { candidates: 0, threshold: 1 })
  const products = reader.products(quantized)
  const centroids = new Uint8Array(readFileSync(join(own, 'centroids.sq4')))
  const { rowBytes } = rowsLayout(ivf.count, DIMENSIONS)
  for (let list = 0; list < ivf.count; list++) {
    const members = [...reader.rows.subarray(reader.starts[list], reader.starts[list + 1])]
    const expected = average(members.map((row) => cosines[row] ?? 0)) - average(cosines)
    const productOf = (score: number): number => (score - quantized.offset) / quantized.scorePerCosine
    const product = productOf(sq4Score(quantized, centroids, list * rowBytes))
    expect(Math.abs(product - expected)).toBeLessThan((6 * quantized.error) / quantized.scorePerCosine)
    expect(products[list]).toBe(Math.fround(product))
  }
})

test('the radius of a list is the root of the mean squared distance of its rows from their mean', async () => {
  const { folder: own, vectors } = await written(ROWS, anyVector)
  const { ivf } = vectors
  const reader = openIvf(own, ROWS, DIMENSIONS, ivf, createResidentParts())
  const bytes = readFileSync(join(own, 'vectors.f32'))
  const rows = new Float32Array(new Uint8Array(bytes).buffer)
  const spread = Array.from({ length: ivf.count }, (_, list) => {
    const members = [...reader.rows.subarray(reader.starts[list], reader.starts[list + 1])]
    const vectorsOf = members.map((row) => rows.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS))
    const mean = Array.from({ length: DIMENSIONS }, (_unused, d) => average(vectorsOf.map((vector) => vector[d] ?? 0)))
    return Math.sqrt(
      average(vectorsOf.map((vector) => mean.reduce((sum, m, d) => sum + ((vector[d] ?? 0) - m) ** 2, 0))),
    )
  })
  const least = average(spread) * RADIUS_MIN_SHARE
  for (const [list, radius] of spread.entries()) expect(reader.radii[list]).toBeCloseTo(Math.max(least, radius), 4)
})

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
