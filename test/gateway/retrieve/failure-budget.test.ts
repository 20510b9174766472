import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { createFailureBudget } from '#gateway/retrieve/failure-budget.ts'

const MAX = GATEWAY_BOUNDS.failedKeysPerAddressPerMinute

test('the budget of an address is spent after its last failure and renewed a minute after the first', () => {
  let nowMs = 1
  const budget = createFailureBudget(() => nowMs)
  const [one, other] = ['192.0.2.1', '192.0.2.2']
  for (let n = 1; n < MAX; n++) budget.count(one)
  expect(budget.isSpent(one)).toBe(false)
  nowMs = 60_000
  budget.count(one)
  expect([budget.isSpent(one), budget.isSpent(other)]).toEqual([true, false])
  nowMs = 60_002
  expect(budget.isSpent(one)).toBe(false)
})

/** Whether failures from one address spend the budget of the other. */
function sharesBudget(one: string, other: string): boolean {
  const budget = createFailureBudget(() => 1)
  for (let n = 0; n < MAX; n++) budget.count(one)
  return budget.isSpent(other)
}

const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16))
const groups = fc.tuple(group, group, group, group).map((four) => four.join(':'))
const networks = fc.tuple(group, group, group).map((three) => ['2001', ...three].join(':'))

test('all addresses of one IPv6 /64 share one budget, however they are written', () => {
  fc.assert(
    fc.property(networks, groups, groups, (network, one, other) => {
      expect(sharesBudget(`${network}:${one}`, `${network}:${other}`.toUpperCase())).toBe(true)
    }),
  )
  expect(sharesBudget('2001:db8::1', '2001:0db8:0:0:ffff:ffff:ffff:ffff')).toBe(true)
  expect(sharesBudget('fe80::1%eth0', 'fe80::2')).toBe(true)
})

test('addresses of two IPv6 /64, and two IPv4 addresses, have a budget each', () => {
  expect(sharesBudget('2001:db8::1', '2001:db8:0:1::1')).toBe(false)
  expect(sharesBudget('192.0.2.1', '192.0.2.2')).toBe(false)
  expect(sharesBudget('192.0.2.1', '2001:db8::1')).toBe(false)
})

test('an IPv4-mapped IPv6 address counts as its IPv4 address', () => {
  expect(sharesBudget('::ffff:192.0.2.1', '192.0.2.1')).toBe(true)
  expect(sharesBudget('::ffff:c000:201', '192.0.2.1')).toBe(true)
  expect(sharesBudget('::ffff:192.0.2.1', '::ffff:192.0.2.2')).toBe(false)
})

test('text that is no address shares one budget, so that invented text takes no further memory', () => {
  expect(sharesBudget('unknown', 'x'.repeat(10_000))).toBe(true)
  expect(sharesBudget('unknown', '192.0.2.1')).toBe(false)
})

test('it remembers a bounded number of addresses: the one that was not seen for longest is forgotten first', () => {
  const budget = createFailureBudget(() => 1)
  const addressOf = (n: number): string => `10.0.${n >> 8}.${n & 255}`
  for (let n = 0; n < MAX; n++) budget.count('192.0.2.1')
  for (let n = 1; n < GATEWAY_BOUNDS.failureAddressesMax; n++) budget.count(addressOf(n))
  expect(budget.isSpent('192.0.2.1')).toBe(true)
  for (let n = 1; n < GATEWAY_BOUNDS.failureAddressesMax; n++) budget.count(addressOf(n))
  expect(budget.isSpent('192.0.2.1')).toBe(true)
  for (let n = 1; n <= GATEWAY_BOUNDS.failureAddressesMax; n++) budget.count(addressOf(n))
  expect(budget.isSpent('192.0.2.1')).toBe(false)
})
