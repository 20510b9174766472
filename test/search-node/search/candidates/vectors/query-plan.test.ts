import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PLAN_COSTS } from '#search-node/search/candidates/vectors/query-plan.ts'

const { scanNs, graphNs } = PLAN_COSTS
const CODE_BYTES = 208

test('a graph costs less than a scan of a million rows, and more than one of a few thousand', () => {
  expect(graphNs(1_024, 384)).toBeLessThan(scanNs(1_000_000, 1_000_000, CODE_BYTES))
  expect(graphNs(1_024, 384)).toBeGreaterThan(scanNs(5_000, 5_000, CODE_BYTES))
})

test('a scan of scattered rows costs less than one of all rows, and no less than one of as many adjacent rows', () => {
  const shape = fc.record({
    passages: fc.integer({ min: 2_048, max: 10_000_000 }),
    rowBytes: fc.integer({ min: 2, max: 130 }).map((blocks) => blocks * 16),
    share: fc.double({ min: 0.001, max: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(shape, ({ passages, rowBytes, share }) => {
      const allowed = Math.max(1, Math.floor(share * passages))
      const scattered = scanNs(passages, allowed, rowBytes)
      expect(scattered).toBeLessThanOrEqual(scanNs(passages, passages, rowBytes) * (1 + 1e-9))
      expect(scattered).toBeGreaterThanOrEqual(scanNs(allowed, allowed, rowBytes) * (1 - 1e-9))
    }),
  )
})
