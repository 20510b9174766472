import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { artifactRef, openIndex } from '#core/index/format/reader.ts'
import type { CellsReader } from '#core/index/vectors/cells-reader.ts'
import type { CodesScan } from '#core/index/vectors/codes-scan.ts'
import { codesLayout } from '#core/index/vectors/layout.ts'
import { countWithin } from '#core/platform/bitset.ts'
import { scanNearCells } from '#search-node/search/candidates/vectors/near-cells.ts'
import type { CellQuery } from '#search-node/search/candidates/vectors/near-cells.ts'
import { PLAN_COSTS } from '#search-node/search/candidates/vectors/query-plan.ts'
import { buildTestArtifact, signingKeys, testRows } from '#test/support/artifact.ts'

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
console.log(`TEST_SEED=${seed}`)
const ROWS = 4_000
const DIMENSIONS = 64
const { privateKeyDer } = signingKeys()

/** Counts the places that are scored. */
function counted(scan: CodesScan): { readonly scan: CodesScan; readonly scored: () => number } {
  let scored = 0
  const count = (bits: Uint32Array, from: number, to: number): void => {
    scored += countWithin(bits, from, to)
  }
  return {
    scored: () => scored,
    scan: {
      ...scan,
      add(bits, from, to) {
        count(bits, from, to)
        scan.add(bits, from, to)
      },
      addAndMeasure(bits, from, to) {
        count(bits, from, to)
        return scan.addAndMeasure(bits, from, to)
      },
    },
  }
}

interface Opened {
  readonly cells: CellsReader
  readonly scan: CodesScan
  readonly asked: CellQuery
}

async function withCells(use: (opened: Opened) => void): Promise<void> {
  const store = mkdtempSync(join(tmpdir(), 'near-cells-'))
  const rows = testRows({ rows: ROWS, dimensions: DIMENSIONS, seed, clusters: 40 })
  const { folder, manifest } = await buildTestArtifact({ store, rows, privateKeyDer, name: 'near', cells: true })
  const { codes, cells, close } = openIndex(artifactRef(folder, manifest))
  if (cells === undefined) throw new Error('no cells')
  const query = rows[0]?.vector ?? new Float32Array(DIMENSIONS)
  use({
    cells,
    scan: codes.scan(query, { ranges: [{ count: 20, deviations: 3 }], threshold: 10 }),
    asked: {
      query,
      places: new Uint32Array(ROWS / 32).fill(0xffff_ffff),
      all: { rows: ROWS, allowed: ROWS, rowBytes: codesLayout(ROWS, DIMENSIONS).rowBytes },
      rowsScoredMin: 20,
      costs: { ...PLAN_COSTS, scanNs: () => Number.MAX_VALUE },
    },
  })
  close()
  rmSync(store, { recursive: true, force: true })
}

test('cells that can hold no wanted row are not scanned', async () => {
  await withCells(({ cells, scan: whole, asked }) => {
    const { scan, scored } = counted(whole)
    expect(scanNearCells({ ...cells, deviations: 0.5 }, scan, asked)).toBeUndefined()
    expect(scored()).toBeGreaterThanOrEqual(1_000)
    expect(scored()).toBeLessThan(ROWS * 0.9)
  })
})

test('cells that may hold a wanted row are scanned, also if the graph does not find them', async () => {
  await withCells(({ cells, scan, asked }) => {
    const products = [...cells.products(scan.query)]
    const farthest = products.map((_, cell) => cell).toSorted((a, b) => (products[a] ?? 0) - (products[b] ?? 0))
    const misled = { ...cells, nearest: () => Uint32Array.from(farthest.slice(0, farthest.length / 2)) }
    expect(scanNearCells(misled, scan, asked)).toBeUndefined()
    const found = scan.rows().map((place) => cells.rowOf[place] ?? 0)
    expect(found).toContain(0)
  })
})

test('where cells cost more than a scan, what is left to scan holds no place twice', async () => {
  await withCells(({ cells, scan: whole, asked }) => {
    const { scan, scored } = counted(whole)
    const costs = { ...asked.costs, cellsNs: (cellCount: number) => (cellCount < 10 ? 0 : Infinity) }
    const left = scanNearCells({ ...cells, deviations: 20 }, scan, { ...asked, costs })
    const before = scored()
    scan.add(left ?? asked.places, 0, ROWS)
    expect(before).toBeGreaterThan(0)
    expect(scored()).toBe(ROWS)
    expect(scan.rows().map((place) => cells.rowOf[place] ?? 0)).toContain(0)
  })
})
