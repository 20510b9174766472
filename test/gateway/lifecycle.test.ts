import { expect, test } from 'vitest'
import { createLifecycle } from '#gateway/lifecycle.ts'

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
