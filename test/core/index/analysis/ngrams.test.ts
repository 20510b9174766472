import { expect, test } from 'vitest'
import { forgetNgrams, ngramBeginnings, ngramHashes } from '#core/index/analysis/ngrams.ts'
import { indexWords } from '#core/index/analysis/index-words.ts'
import { tokenHash } from '#core/index/lexical/token-hash.ts'

const ngramsOf = (text: string): ReadonlySet<number> => new Set(ngramHashes(indexWords(text).join(' ')))

test('a word gives its groups of four and five letters with the spaces around it, a short word itself', () => {
  expect(ngramHashes('abcd')).toHaveLength(3 + 2)
  expect(ngramHashes('ab')).toHaveLength(1)
  expect(ngramHashes('')).toHaveLength(0)
  expect([ngramHashes('abcd'), forgetNgrams()][0]).toEqual(new Int32Array(5))
  expect([...ngramHashes('a')]).not.toEqual([...ngramHashes('b')])
})

test('a compound holds most groups of a word that is part of it, and a word of other letters none', () => {
  const compound = ngramsOf('Kündigungsfristen')
  const shared = (word: string): number => [...ngramsOf(word)].filter((hash) => compound.has(hash)).length
  expect(shared('Kündigung') / ngramsOf('Kündigung').size).toBeGreaterThan(0.7)
  expect(shared('Frist') / ngramsOf('Frist').size).toBeGreaterThan(0.4)
  expect(shared('Umsatz')).toBe(0)
})

test('pairs of letters of a script without spaces are whole, as words are indexed', () => {
  const words = indexWords('奴隷制度')
  expect(words.length).toBeGreaterThan(1)
  expect(ngramHashes(words.join(' '))).toHaveLength(words.length)
})

test('no group has the hash 0, which hash tables use for a free slot', () => {
  const words = Array.from({ length: 2_000 }, (_, n) => `${n}${tokenHash('en', String(n))}`)
  expect(ngramHashes(words.join(' '))).not.toContain(0)
})

test('among the beginnings of a question, a text keeps every n-gram that they share, and few others', () => {
  const text = 'die kündigungsfristen in a 33 über 奴隷 隷制 brandversicherung jahres abschlußprüfer'
  for (const question of ['kündigung frist', 'a 33', '隷制', 'prüfer brand', 'x', '']) {
    const [asked, among] = [new Set(ngramHashes(question)), [...ngramHashes(text, ngramBeginnings(question))]]
    expect(among.filter((hash) => asked.has(hash))).toEqual([...ngramHashes(text)].filter((hash) => asked.has(hash)))
    expect(among.length).toBeLessThan(ngramHashes(text).length / 2)
  }
})
