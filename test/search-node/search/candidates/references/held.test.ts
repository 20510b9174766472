import { expect, test } from 'vitest'
import { resolve } from './resolved.ts'

test('a number without a word for its kind counts if the corpus holds it, and is no reference otherwise', () => {
  const corpus = [{ references: ['celex:32016R0679#17'] }, { references: ['de:bgb#433/1'] }]
  for (const [query, row] of [
    ['GDPR 17', 0],
    ['433 Abs. 1 BGB', 1],
  ] as const)
    expect([...resolve(query, corpus).ids.keys()], query).toEqual([row])
  for (const query of ['GDPR 18', '434 BGB'])
    expect(resolve(query, corpus)).toEqual({ ids: new Map(), unsupported: [], remainder: query })
})
