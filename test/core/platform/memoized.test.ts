import { expect, test } from 'vitest'
import { memoized } from '#core/platform/memoized.ts'

test('a value is computed once for a text, an undefined one too, until the memory is full', () => {
  const asked: string[] = []
  const lengthOf = memoized((text) => {
    asked.push(text)
    return text === '' ? undefined : text.length
  }, 2)
  expect(['', 'ab', '', 'ab'].map(lengthOf)).toEqual([undefined, 2, undefined, 2])
  expect(asked).toEqual(['', 'ab'])
  expect(['abc', '', 'abc'].map(lengthOf)).toEqual([3, undefined, 3])
  expect(asked).toEqual(['', 'ab', 'abc', ''])
})

test('a text that would take much memory is not kept', () => {
  let asked = 0
  const lengthOf = memoized((text) => {
    asked += 1
    return text.length
  }, 2)
  const long = 'a'.repeat(20_000)
  expect([long, long].map(lengthOf)).toEqual([20_000, 20_000])
  expect(asked).toBe(2)
})
