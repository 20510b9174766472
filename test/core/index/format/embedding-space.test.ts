import { expect, test } from 'vitest'
import { sameSpace, spaceKey } from '#core/embedding/embedder.ts'
import { embeddingSpaceSchema, storedSpace } from '#core/index/format/manifest.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { spaceOf } from '#test/support/embedding-space.ts'

const REMOTE = { provider: 'openai', model: 'some-model', dimensions: 384 } as const

test('a stored space of release 0.2.0 reads as what that release did: no prefix, dimensions are requested', () => {
  expect(embeddingSpaceSchema.parse(REMOTE)).toEqual({
    ...REMOTE,
    query_prefix: '',
    passage_prefix: '',
    requests_dimensions: true,
  })
  expect(embeddingSpaceSchema.parse({ ...REMOTE, provider: 'local' }).requests_dimensions).toBe(false)
})

test('a space is read as it was stored, and stored as release 0.2.0 did where that release can reproduce it', () => {
  for (const provider of ['local', 'openai'] as const)
    for (const query_prefix of ['', 'query: '])
      for (const passage_prefix of ['', 'passage: '])
        for (const requests_dimensions of [false, true]) {
          const space = spaceOf(384, { provider, query_prefix, passage_prefix, requests_dimensions })
          expect(embeddingSpaceSchema.parse(storedSpace(space))).toEqual(space)
        }
  expect(storedSpace(spaceOf(384))).toEqual({ provider: 'local', model: 'test', dimensions: 384 })
  expect(storedSpace(spaceOf(384, { ...REMOTE, requests_dimensions: true }))).toEqual(REMOTE)
})

test('two spaces are the same only if every field is', () => {
  const space = spaceOf(384, { provider: 'openai' })
  const others: readonly Partial<EmbeddingSpace>[] = [
    { provider: 'local' },
    { model: 'another' },
    { dimensions: 383 },
    { query_prefix: 'query: ' },
    { passage_prefix: 'passage: ' },
    { requests_dimensions: true },
  ]
  expect(new Set(others.flatMap((change) => Object.keys(change)))).toEqual(new Set(Object.keys(space)))
  expect(sameSpace(space, { ...space })).toBe(true)
  for (const change of others) {
    expect(sameSpace(space, { ...space, ...change })).toBe(false)
    expect(spaceKey({ ...space, ...change })).not.toBe(spaceKey(space))
  }
})

test('a prefix is bounded', () => {
  const long = 'p'.repeat(BOUNDS.embeddingPrefixCharactersMax + 1)
  expect(embeddingSpaceSchema.safeParse({ ...REMOTE, query_prefix: long.slice(1) }).success).toBe(true)
  expect(embeddingSpaceSchema.safeParse({ ...REMOTE, query_prefix: long }).success).toBe(false)
  expect(embeddingSpaceSchema.safeParse({ ...REMOTE, passage_prefix: long }).success).toBe(false)
})
