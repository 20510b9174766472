import { expect, test } from 'vitest'
import { createCircuitBreaker } from '#core/reading/circuit-breaker.ts'

test('it opens after failures in a row, lets one call through after the pause, and closes when that succeeds', async () => {
  let nowMs = 0
  const breaker = createCircuitBreaker({
    failuresMax: 2,
    pauseMs: 100,
    refusal: () => new Error('open'),
    nowMs: () => nowMs,
  })
  const fail = (): Promise<unknown> =>
    breaker
      .run(
        () => Promise.reject(new Error('failed')),
        () => true,
      )
      .catch(String)
  const succeed = (): Promise<unknown> =>
    breaker
      .run(
        () => Promise.resolve('done'),
        () => true,
      )
      .catch(String)
  expect([await fail(), await succeed(), await fail(), await fail()]).toEqual([
    'Error: failed',
    'done',
    'Error: failed',
    'Error: failed',
  ])
  expect(await succeed()).toBe('Error: open')
  nowMs = 100
  expect(await Promise.all([fail(), succeed()])).toEqual(['Error: failed', 'Error: open'])
  nowMs = 200
  expect([await succeed(), await succeed()]).toEqual(['done', 'done'])
})

test('an error that does not speak against the endpoint leaves it closed', async () => {
  const breaker = createCircuitBreaker({ failuresMax: 1, pauseMs: 100, refusal: () => new Error('open') })
  await breaker
    .run(
      () => Promise.reject(new Error('hung up')),
      () => false,
    )
    .catch(String)
  expect(
    await breaker.run(
      () => Promise.resolve('done'),
      () => true,
    ),
  ).toBe('done')
})
