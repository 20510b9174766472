import { beforeAll, describe, expect, test } from 'vitest'
import { buildCells } from '#core/index/vectors/cells-writer.ts'
import type { WrittenCells } from '#core/index/vectors/cells-writer.ts'
import { cellsFault } from '#core/index/vectors/cells-check.ts'
import { cellsLayout } from '#core/index/vectors/layout.ts'
import type { QuantizedVectors } from '#core/index/vectors/nearest.ts'
import { quantize } from '#core/index/vectors/quantize.ts'
import { seededRandom } from '#test/support/artifact.ts'

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
console.log(`TEST_SEED=${seed}`)
const DIMENSIONS = 32
const CLUSTERS = 40

/** Vectors around centres, int8. */
function clustered(rows: number, more: Partial<QuantizedVectors> = {}): QuantizedVectors {
  const random = seededRandom(seed)
  const centres = Float32Array.from({ length: CLUSTERS * DIMENSIONS }, () => random() - 0.5)
  const vectors = Float32Array.from({ length: rows * DIMENSIONS }, (_, at) => {
    const cluster = (Math.floor(at / DIMENSIONS) * 7) % CLUSTERS
    return (centres[cluster * DIMENSIONS + (at % DIMENSIONS)] ?? 0) + (random() - 0.5) * 0.3
  })
  return {
    values: quantize(vectors, DIMENSIONS),
    dimensions: DIMENSIONS,
    threads: 1,
    pause: () => Promise.resolve(),
    ...more,
  }
}

const bytesOf = ({ table, slots }: WrittenCells): Buffer => Buffer.concat([table, ...slots()])

describe('rows that lie in clusters', () => {
  const ROWS = 5_000
  let written: WrittenCells
  beforeAll(async () => {
    written = await buildCells(clustered(ROWS), ROWS)
  })

  test('every row lies in one slot of one cell, by row within the cell', () => {
    expect(cellsFault(Buffer.from(written.table), ROWS, DIMENSIONS, written)).toBeUndefined()
    const { startsOffset, rowsOffset } = cellsLayout(ROWS, DIMENSIONS, written)
    const rows = new Uint32Array(written.table.buffer, rowsOffset, ROWS)
    const starts = new Uint32Array(written.table.buffer, startsOffset, written.cells + 1)
    for (let cell = 0; cell < written.cells; cell++) {
      const members = [...rows.subarray(starts[cell], starts[cell + 1])]
      expect(members).toEqual(members.toSorted((a, b) => a - b))
    }
  })

  test('cells are about twice as many as the root of the rows, and few of them mix clusters', () => {
    expect(written.cells).toBeGreaterThan(Math.sqrt(ROWS))
    expect(written.cells).toBeLessThan(3 * Math.sqrt(ROWS))
    const { startsOffset, rowsOffset } = cellsLayout(ROWS, DIMENSIONS, written)
    const rows = new Uint32Array(written.table.buffer, rowsOffset, ROWS)
    const starts = new Uint32Array(written.table.buffer, startsOffset, written.cells + 1)
    let alike = 0
    for (let cell = 0; cell < written.cells; cell++) {
      const clusters = [...rows.subarray(starts[cell], starts[cell + 1])].map((row) => (row * 7) % CLUSTERS)
      alike += Math.max(
        ...[...new Set(clusters)].map((cluster) => clusters.filter((other) => other === cluster).length),
      )
    }
    expect(alike / ROWS).toBeGreaterThan(0.9)
  })

  test('the same rows give the same bytes, whatever the number of threads', async () => {
    expect(bytesOf(await buildCells(clustered(ROWS, { threads: 2 }), ROWS)).equals(bytesOf(written))).toBe(true)
  })

  test('a stop is heard while cells are made', async () => {
    let turns = 0
    const pause = (): Promise<void> =>
      ++turns > 5 ? Promise.reject(new Error('the build was stopped')) : Promise.resolve()
    await expect(buildCells(clustered(ROWS, { pause }), ROWS)).rejects.toThrow('the build was stopped')
  })
})

test('few rows are one cell', async () => {
  for (const rows of [1, 2, 500]) {
    const written = await buildCells(clustered(rows))
    expect(written).toMatchObject({ cells: 1, head: DIMENSIONS })
    expect(cellsFault(Buffer.from(written.table), rows, DIMENSIONS, written)).toBeUndefined()
  }
})

test('rows that are all the same are divided without fault', async () => {
  const values = new Int8Array(5_000 * DIMENSIONS).fill(127)
  const written = await buildCells({ ...clustered(1), values }, 5_000)
  expect(cellsFault(Buffer.from(written.table), 5_000, DIMENSIONS, written)).toBeUndefined()
})
