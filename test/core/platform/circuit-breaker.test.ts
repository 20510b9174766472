import { expect, test } from 'vitest'
import { guardedModel, ModelError } from '#core/platform/json-endpoint.ts'

const NO_SIGNAL = new AbortController().signal

test('an endpoint is asked again once the pause is over, and without limit once it answers', async () => {
  let [nowMs, fails] = [0, true]
  const guarded = guardedModel('the model', ModelError, { failuresMax: 5, pauseMs: 5_000 }, () => nowMs)
  const call = (): Promise<string> => (fails ? Promise.reject(new Error('failed')) : Promise.resolve('answer'))
  const ask = (signal = NO_SIGNAL): Promise<string> => guarded(signal, call).catch((error: Error) => error.message)
  // A caller that hangs up says nothing about the endpoint.
  for (let count = 0; count < 5; count++) await ask(AbortSignal.abort())
  for (let count = 0; count < 5; count++) expect(await ask()).toBe('failed')
  fails = false
  expect(await ask()).toContain('left alone')
  nowMs = 5_000
  const [first, other] = [ask(), ask()]
  expect([await first, await other]).toEqual(['answer', expect.stringContaining('left alone')])
  expect(await ask()).toBe('answer')
})
