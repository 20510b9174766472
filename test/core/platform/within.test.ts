import { expect, test } from 'vitest'
import { within } from '#core/platform/within.ts'

test('work that ends in time decides, whether it succeeds or fails', async () => {
  await expect(within(60_000, 'too late', Promise.resolve(7))).resolves.toBe(7)
  await expect(within(60_000, 'too late', Promise.reject(new Error('its own')))).rejects.toThrow('its own')
})

test('work that takes longer is given up, and its later failure is no unhandled rejection', async () => {
  const unhandled: unknown[] = []
  const record = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', record)
  try {
    const work = Promise.withResolvers<never>()
    await expect(within(1, 'too late', work.promise)).rejects.toThrow('too late')
    work.reject(new Error('afterwards'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', record)
  }
})

test('no timer is left behind', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  await Promise.all(Array.from({ length: 50 }, () => within(60_000, 'too late', Promise.resolve())))
  await new Promise((resolve) => setImmediate(resolve))
  expect(timers()).toBeLessThanOrEqual(before)
})
