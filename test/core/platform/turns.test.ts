import { expect, test } from 'vitest'
import { createTurns } from '#core/platform/turns.ts'

interface Work {
  readonly result: Promise<number>
  readonly end: (failure?: Error) => void
}

/** Starts pieces of work that end when they are told to, and notes which of them have begun. */
function createWorks(atOnceMax: number): { readonly start: () => Work; readonly begun: readonly number[] } {
  const inTurn = createTurns(atOnceMax)
  const begun: number[] = []
  let works = 0
  return {
    begun,
    start: () => {
      const number = works++
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      const result = inTurn(() => {
        begun.push(number)
        return promise
      })
      return { result, end: (failure) => (failure === undefined ? resolve(number) : reject(failure)) }
    },
  }
}

test('as many run as may, and the others begin in order when one ends, whether it succeeds or fails', async () => {
  const { start, begun } = createWorks(2)
  const [first, second, third, fourth] = [start(), start(), start(), start()]
  expect(begun).toEqual([0, 1])
  second.end(new Error('failed'))
  await expect(second.result).rejects.toThrow('failed')
  expect(begun).toEqual([0, 1, 2])
  const fifth = start()
  first.end()
  await expect(first.result).resolves.toBe(0)
  expect(begun).toEqual([0, 1, 2, 3])
  for (const work of [third, fourth, fifth]) work.end()
  await expect(Promise.all([third.result, fourth.result, fifth.result])).resolves.toEqual([2, 3, 4])
  const sixth = start()
  expect(begun).toEqual([0, 1, 2, 3, 4, 5])
  sixth.end()
  await sixth.result
})
