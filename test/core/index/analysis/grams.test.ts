import { expect, test } from 'vitest'
import { gramHashes } from '#core/index/analysis/grams.ts'
import { indexWords } from '#core/index/analysis/index-words.ts'
import { tokenHash } from '#core/index/lexical/token-hash.ts'

const gramsOf = (text: string): ReadonlySet<number> => new Set(gramHashes(indexWords(text)))

test('a word gives its groups of four and five letters with the spaces around it, a short word itself', () => {
  expect(gramHashes(['abcd'])).toHaveLength(3 + 2)
  expect(gramHashes(['ab'])).toHaveLength(1)
  expect(gramHashes([])).toHaveLength(0)
  expect([...gramHashes(['a'])]).not.toEqual([...gramHashes(['b'])])
})

test('a compound holds most groups of a word that is part of it, and a word of other letters none', () => {
  const compound = gramsOf('Kündigungsfristen')
  const shared = (word: string): number => [...gramsOf(word)].filter((hash) => compound.has(hash)).length
  expect(shared('Kündigung') / gramsOf('Kündigung').size).toBeGreaterThan(0.7)
  expect(shared('Frist') / gramsOf('Frist').size).toBeGreaterThan(0.4)
  expect(shared('Umsatz')).toBe(0)
})

test('pairs of letters of a script without spaces are whole, as words are indexed', () => {
  const words = indexWords('奴隷制度')
  expect(words.length).toBeGreaterThan(1)
  expect(gramHashes(words)).toHaveLength(words.length)
})

test('no group has the hash 0, which hash tables use for a free slot', () => {
  const words = Array.from({ length: 2_000 }, (_, n) => `${n}${tokenHash('en', String(n))}`)
  expect(gramHashes(words)).not.toContain(0)
})
