import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { artifactRef, openIndex } from '#core/index/format/reader.ts'
import type { CodesScan } from '#core/index/vectors/codes-scan.ts'
import { codesLayout } from '#core/index/vectors/layout.ts'
import { countWithin } from '#core/platform/bitset.ts'
import { scanNearCells } from '#search-node/search/candidates/vectors/near-cells.ts'
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

test('cells that can hold no wanted row are not scanned, also when every cell has been looked at', async () => {
  const store = mkdtempSync(join(tmpdir(), 'near-cells-'))
  const rows = testRows({ rows: ROWS, dimensions: DIMENSIONS, seed, clusters: 40 })
  const { folder, manifest } = await buildTestArtifact({ store, rows, privateKeyDer, name: 'near', cells: true })
  const { codes, cells, close } = openIndex(artifactRef(folder, manifest))
  if (cells === undefined) throw new Error('no cells')
  const query = rows[0]?.vector ?? new Float32Array(DIMENSIONS)
  const places = new Uint32Array(ROWS / 32).fill(0xffff_ffff)
  const { scan, scored } = counted(codes.scan(query, 20, 10))
  const left = scanNearCells({ ...cells, mostFrom: () => Infinity, deviations: 0.5 }, scan, {
    query,
    places,
    all: { rows: ROWS, allowed: ROWS, rowBytes: codesLayout(ROWS, DIMENSIONS).rowBytes },
    rowsScoredMin: 20,
    costs: { ...PLAN_COSTS, scanNs: () => Number.MAX_VALUE },
  })
  close()
  rmSync(store, { recursive: true, force: true })
  expect(left).toBeUndefined()
  expect(scored()).toBeGreaterThanOrEqual(1_000)
  expect(scored()).toBeLessThan(ROWS * 0.9)
})
