import { expect, test } from 'vitest'
import { z } from 'zod'
import { knownModel } from '#core/embedding/known-models.ts'
import CARDS from './known-models.json' with { type: 'json' }

test.each(z.array(z.tuple([z.string(), z.string(), z.string(), z.number()])).parse(CARDS))(
  '%s is known as its card describes it',
  (name, query_prefix, passage_prefix, tokensMax) => {
    expect(knownModel(name)).toEqual({ query_prefix, passage_prefix, tokensMax })
  },
)

test('of another model nothing is known', () => {
  for (const name of ['some-model', 'text-embedding-004', 'e50', 'mistral-embed', 'one5', ''])
    expect(knownModel(name), name).toBeUndefined()
})
