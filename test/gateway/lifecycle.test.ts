import { expect, test } from 'vitest'
import { createLifecycle } from '#gateway/lifecycle.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { connectionsMax } from '#gateway/config.ts'

test('it is idle when the last request is over, however often that is said', async () => {
  const lifecycle = createLifecycle()
  const [first, second] = [lifecycle.begin(), lifecycle.begin()]
  let idle = false
  const waiting = lifecycle.idle(10_000).then(() => (idle = true))
  first()
  first()
  await Promise.resolve()
  expect([lifecycle.inFlight(), idle]).toEqual([1, false])
  second()
  await waiting
  expect([lifecycle.inFlight(), idle]).toEqual([0, true])
})

test('waiting for idleness ends by itself', async () => {
  const lifecycle = createLifecycle()
  lifecycle.begin()
  await lifecycle.idle(1)
  expect(lifecycle.inFlight()).toBe(1)
})

test('connections of callers leave descriptors for the rest, and too few are refused with what to set', () => {
  const limits = (open: string): string =>
    `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${open}  ${open}  files\n`
  expect(connectionsMax(limits('1024'))).toBe(1_024 - GATEWAY_BOUNDS.descriptorsKept)
  expect(connectionsMax(limits('1048576'))).toBe(GATEWAY_BOUNDS.connectionsMax)
  expect(connectionsMax('')).toBe(GATEWAY_BOUNDS.connectionsMax)
  expect(() => connectionsMax(limits('256'))).toThrow('allow 320 at least')
})
