import { expect, test } from 'vitest'
import { firstPlan, nextPlan } from '#search-node/search/plan.ts'
import type { PlanInput } from '#search-node/search/plan.ts'
import { seededRandom } from '#test/support/artifact.ts'

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
console.log(`TEST_SEED=${seed}`)
const base: PlanInput = { passages: 100_000, dimensions: 768, allowed: 100_000, runs: 1, limit: 5, expansion: 64 }

test('an unfiltered search asks the graph for as many neighbours as the profile says', () => {
  expect(firstPlan(base)).toEqual({ kind: 'graph', neighbours: 64 })
  expect(firstPlan({ ...base, expansion: 200 })).toEqual({ kind: 'graph', neighbours: 200 })
})

test('a wide filter asks for more neighbours, a narrow one is scored exactly', () => {
  expect(firstPlan({ ...base, allowed: 22_000, runs: 2 })).toEqual({ kind: 'graph', neighbours: 76 })
  expect(firstPlan({ ...base, allowed: 1_800, runs: 2 })).toEqual({ kind: 'exact' })
})

test('rows that lie apart are dearer to score exactly', () => {
  expect(firstPlan({ ...base, allowed: 8_000, runs: 2 })).toEqual({ kind: 'exact' })
  expect(firstPlan({ ...base, allowed: 8_000, runs: 7_000 })).toEqual({ kind: 'graph', neighbours: 209 })
})

test('an answer in whose nearest quarter no row is allowed is not trusted, whatever it holds further out', () => {
  const filtered = { ...base, allowed: 22_000, runs: 2 }
  expect(nextPlan({ first: 20, lastNeeded: 30 }, 80, filtered)).toEqual({ kind: 'exact' })
  expect(nextPlan({ first: undefined, lastNeeded: undefined }, 80, filtered)).toEqual({ kind: 'exact' })
})

test('an answer is taken if its nearer half holds enough, else the search looks wider', () => {
  const filtered = { ...base, allowed: 22_000, runs: 2 }
  expect(nextPlan({ first: 3, lastNeeded: 39 }, 80, filtered)).toBeUndefined()
  expect(nextPlan({ first: 3, lastNeeded: 40 }, 80, filtered)).toEqual({ kind: 'graph', neighbours: 160 })
})

test('however the graph answers, a search ends after a few plans', () => {
  const random = seededRandom(seed)
  const below = (max: number): number => Math.ceil(random() * max)
  for (let n = 0; n < 5_000; n++) {
    const passages = below(10 ** below(7))
    const allowed = below(passages)
    const input: PlanInput = {
      passages,
      dimensions: 8 * below(512),
      allowed,
      runs: below(allowed),
      limit: Math.min(allowed, below(100)),
      expansion: below(4_096),
    }
    let plan = firstPlan(input)
    let steps = 0
    while (plan.kind === 'graph') {
      expect(plan.neighbours).toBeLessThan(passages)
      plan = nextPlan({ first: 0, lastNeeded: undefined }, plan.neighbours, input) ?? { kind: 'exact' }
      steps += 1
    }
    expect(steps).toBeLessThanOrEqual(13)
  }
})
