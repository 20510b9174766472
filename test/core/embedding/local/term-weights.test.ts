import { expect, test } from 'vitest'
import { termWeights } from '#core/embedding/local/term-weights.ts'

function weightOf(text: string, stem: string): number {
  return termWeights(text).get(stem) ?? 0
}

test('a function word weighs less than a common legal word, and that less than a rare word', () => {
  const text = 'by regulation, whistleblowing'
  expect(weightOf(text, 'by')).toBeGreaterThan(0)
  expect(weightOf(text, 'by')).toBeLessThan(weightOf(text, 'regulatio'))
  expect(weightOf(text, 'regulatio')).toBeLessThan(weightOf(text, 'whistleblow'))
})

test('function words of all three languages are recognised in their own spelling', () => {
  for (const word of ['which', 'für', 'über', 'können', 'où', 'été', 'même'])
    expect([...termWeights(word).values()]).toEqual([0.1])
})

test('weight grows with occurrences, and less each time', () => {
  const [once, twice, thrice] = ['escrow', 'escrow escrow', 'escrow escrow escrow'].map((text) =>
    weightOf(text, 'escrow'),
  )
  expect(twice).toBeGreaterThan(once ?? Infinity)
  expect((thrice ?? 0) - (twice ?? 0)).toBeLessThan((twice ?? 0) - (once ?? 0))
})

test('the heading counts more than the text below it', () => {
  expect(weightOf('Escrow\nrelease of keys', 'escrow')).toBeGreaterThan(weightOf('Keys\nrelease of escrow', 'escrow'))
})

test('a text without words has no terms', () => {
  expect(termWeights(' —…\n § ').size).toBe(0)
})
