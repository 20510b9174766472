import { expect, test } from 'vitest'
import { withTimeout } from '#core/platform/with-timeout.ts'

test('work that ends in time decides, whether it succeeds or fails', async () => {
  await expect(withTimeout(60_000, 'too late', Promise.resolve(7))).resolves.toBe(7)
  await expect(withTimeout(60_000, 'too late', Promise.reject(new Error('its own')))).rejects.toThrow('its own')
})

test('work that takes longer is given up, and its later failure is no unhandled rejection', async () => {
  const unhandled: unknown[] = []
  const record = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', record)
  using ending = new DisposableStack()
  ending.defer(() => process.off('unhandledRejection', record))
  const work = Promise.withResolvers<never>()
  await expect(withTimeout(1, 'too late', work.promise)).rejects.toThrow('too late')
  work.reject(new Error('afterwards'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(unhandled).toEqual([])
})

test('no timer is left behind', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  await Promise.all(Array.from({ length: 50 }, () => withTimeout(60_000, 'too late', Promise.resolve())))
  await new Promise((resolve) => setImmediate(resolve))
  expect(timers()).toBeLessThanOrEqual(before)
})
