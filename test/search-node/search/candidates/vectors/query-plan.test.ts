import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PLAN_COSTS } from '#search-node/search/candidates/vectors/probe.ts'

const { scanNs, listsNs } = PLAN_COSTS
const rowBytes = 208

test('some lists cost less than a scan of a million rows, and more than one of a few thousand', () => {
  const lists = listsNs(600, { rows: 150_000, allowed: 150_000, rowBytes })
  expect(lists).toBeLessThan(scanNs({ rows: 1_000_000, allowed: 1_000_000, rowBytes }))
  expect(lists).toBeGreaterThan(scanNs({ rows: 5_000, allowed: 5_000, rowBytes }))
})

test('a scan of scattered rows costs less than one of all rows, and no less than one of as many adjacent rows', () => {
  const shape = fc.record({
    rows: fc.integer({ min: 2_048, max: 10_000_000 }),
    bytes: fc.integer({ min: 2, max: 130 }).map((blocks) => blocks * 16),
    share: fc.double({ min: 0.001, max: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(shape, ({ rows, bytes, share }) => {
      const allowed = Math.max(1, Math.floor(share * rows))
      const scattered = scanNs({ rows, allowed, rowBytes: bytes })
      expect(scattered).toBeLessThanOrEqual(scanNs({ rows, allowed: rows, rowBytes: bytes }) * (1 + 1e-9))
      expect(scattered).toBeGreaterThanOrEqual(scanNs({ rows: allowed, allowed, rowBytes: bytes }) * (1 - 1e-9))
    }),
  )
})
