import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDigestSet } from '#core/credentials/digest-set.ts'

const digests = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes))

test('a digest is in the set exactly if it is one of its digests', () => {
  fc.assert(
    fc.property(fc.array(digests), fc.array(digests), (held, others) => {
      const set = createDigestSet(Buffer.concat(held.toSorted((a, b) => a.compare(b))))
      expect(set.size).toBe(held.length)
      for (const digest of held) expect(set.has(digest)).toBe(true)
      for (const other of others) expect(set.has(other)).toBe(held.some((digest) => digest.equals(other)))
    }),
  )
})

test('neighbours of a digest are not in the set', () => {
  const [low, held, high] = [1, 2, 3].map((last) => Buffer.alloc(32).fill(last, 31))
  if (low === undefined || held === undefined || high === undefined) throw new Error('three digests were made')
  const set = createDigestSet(held)
  expect([set.has(low), set.has(held), set.has(high)]).toEqual([false, true, false])
})

test('bytes that end within a digest are refused', () => {
  expect(() => createDigestSet(Buffer.alloc(33))).toThrow(RangeError)
})
