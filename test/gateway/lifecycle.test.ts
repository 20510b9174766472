import { expect, it } from 'vitest'
import { newLifecycle } from '#gateway/lifecycle.ts'

it('it is idle when the last exchange is over, however often that is said', async () => {
  const lifecycle = newLifecycle()
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

it('waiting for idleness ends by itself', async () => {
  const lifecycle = newLifecycle()
  lifecycle.begin()
  await lifecycle.idle(1)
  expect(lifecycle.inFlight()).toBe(1)
})
