import { expect, test } from 'vitest'
import { excerptFor } from '#core/reading/excerpt.ts'

const filler = (count: number): string => 'lorem ipsum dolor sit amet. '.repeat(count)

test('a text within the bound is whole', () => {
  const text = 'x'.repeat(1_600)
  expect(excerptFor('x', text)).toBe(text)
})

test('a long text keeps its lead-in and the place that holds the words of the question, within the bound', () => {
  const text = `The following are exempt: ${filler(60)} Dredging vessels of harbours are exempt. ${filler(60)}`
  const excerpt = excerptFor('Are dredging vessels exempt?', text)
  expect(excerpt.length).toBeLessThanOrEqual(1_600)
  expect(excerpt.startsWith('The following are exempt:')).toBe(true)
  expect(excerpt).toContain('Dredging vessels of harbours')
})

test('a place near the beginning or at the end is found, and no character is cut in half', () => {
  for (const text of [`Dredging. ${filler(150)}`, `${filler(150)} Dredging.`, `Dredging ${'𝒳'.repeat(2_000)}`]) {
    const excerpt = excerptFor('dredging', text)
    expect(excerpt.length).toBeLessThanOrEqual(1_600)
    expect(excerpt.isWellFormed()).toBe(true)
    expect(excerpt).toContain('Dredging')
  }
})
