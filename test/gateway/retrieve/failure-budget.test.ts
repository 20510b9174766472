import { expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import { createFailureBudget } from '#gateway/retrieve/failure-budget.ts'

const MAX = BOUNDS.failedKeysPerAddressPerMinute

test('the budget of an address is spent after its last failure and renewed a minute after the first', () => {
  let nowMs = 0
  const budget = createFailureBudget(() => nowMs)
  for (let n = 1; n < MAX; n++) budget.count('a')
  expect(budget.isSpent('a')).toBe(false)
  nowMs = 59_999
  budget.count('a')
  expect([budget.isSpent('a'), budget.isSpent('b')]).toEqual([true, false])
  nowMs = 60_000
  expect(budget.isSpent('a')).toBe(false)
})

test('it remembers a bounded number of addresses: the oldest is forgotten first', () => {
  const budget = createFailureBudget(() => 0)
  for (let n = 0; n < MAX; n++) budget.count('first')
  for (let n = 1; n < BOUNDS.failureAddressesMax; n++) budget.count(`address ${n}`)
  expect(budget.isSpent('first')).toBe(true)
  budget.count('one too many')
  expect(budget.isSpent('first')).toBe(false)
})
