import { expect, inject, test, vi } from 'vitest'
import { artifactRef, openIndex } from '#core/index/format/reader.ts'
import type { IvfReader } from '#core/index/vectors/ivf-reader.ts'
import type { Sq4Scan } from '#core/index/vectors/sq4-scan.ts'
import { sq4Layout } from '#core/index/vectors/layout.ts'
import { countRange } from '#core/index/bitset.ts'
import { IvfProbe, type ProbeQuery, PLAN_COSTS } from '#search-node/search/candidates/vectors/probe.ts'
import { buildTestArtifact, vectorsOf } from '#test/support/artifact.ts'
import { testRows } from '#test/support/passages.ts'
import { folderOfTest } from '#test/support/folder.ts'

const { seed } = inject('random')
const ROWS = 4_000
const DIMENSIONS = 64

/** Counts the positions that are scored. */
function counted(scan: Sq4Scan): () => number {
  const add = vi.spyOn(scan, 'add')
  const addAndMeasure = vi.spyOn(scan, 'addAndMeasure')
  return () =>
    [...add.mock.calls, ...addAndMeasure.mock.calls].reduce(
      (sum, [bits, from, to]) => sum + countRange(bits, from, to),
      0,
    )
}

interface Opened {
  readonly ivf: IvfReader
  readonly scan: Sq4Scan
  readonly asked: ProbeQuery
}

async function withLists(use: (opened: Opened) => void): Promise<void> {
  const store = folderOfTest()
  const rows = testRows({ rows: ROWS, dimensions: DIMENSIONS, seed, clusters: 40 })
  const { folder, manifest } = await buildTestArtifact({ store, rows, name: 'near' })
  const index = openIndex(artifactRef(folder, manifest))
  const { sq4, ivf } = vectorsOf(index)
  const query = rows[0]?.vector ?? new Float32Array(DIMENSIONS)
  use({
    ivf,
    scan: sq4.scan(query, { candidates: 20, threshold: 10 }),
    asked: {
      query,
      positions: new Uint32Array(ROWS / 32).fill(0xffff_ffff),
      all: { rows: ROWS, allowed: ROWS, rowBytes: sq4Layout(ROWS, DIMENSIONS).rowBytes },
      rowsScoredMin: 20,
      costs: { ...PLAN_COSTS, scanNs: () => Number.MAX_VALUE },
    },
  })
  index.close()
}

const rowsFound = (ivf: IvfReader, scan: Sq4Scan): number[] =>
  Array.from(scan.rows(), (position) => ivf.rows[position] ?? 0)

test('lists that can hold no wanted row are not scanned', async () => {
  await withLists(({ ivf, scan, asked }) => {
    const scored = counted(scan)
    expect(new IvfProbe({ ...ivf, deviations: 0.5 }, scan, asked).run()).toBeUndefined()
    expect(scored()).toBeGreaterThanOrEqual(1_000)
    expect(scored()).toBeLessThan(ROWS * 0.9)
  })
})

test('lists that may hold a wanted row are scanned, also if the graph does not find them', async () => {
  await withLists(({ ivf, scan, asked }) => {
    const products = [...ivf.products(scan.query)]
    const farthest = products.map((_, at) => at).toSorted((a, b) => (products[a] ?? 0) - (products[b] ?? 0))
    const misled = { ...ivf, nearest: () => Uint32Array.from(farthest.slice(0, farthest.length / 2)) }
    expect(new IvfProbe(misled, scan, asked).run()).toBeUndefined()
    expect(rowsFound(ivf, scan)).toContain(0)
  })
})

test('where lists cost more than a scan, what is left to scan holds no position twice', async () => {
  await withLists(({ ivf, scan, asked }) => {
    const scored = counted(scan)
    const costs = { ...asked.costs, listsNs: (count: number) => (count < 10 ? 0 : Infinity) }
    const left = new IvfProbe({ ...ivf, deviations: 20 }, scan, { ...asked, costs }).run()
    const before = scored()
    scan.add(left ?? asked.positions, 0, ROWS)
    expect(before).toBeGreaterThan(0)
    expect(scored()).toBe(ROWS)
    expect(rowsFound(ivf, scan)).toContain(0)
  })
})
