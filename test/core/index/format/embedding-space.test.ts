import { expect, test } from 'vitest'
import { spaceKey } from '#core/embedding/embedder.ts'
import { embeddingSpaceSchema, type EmbeddingSpace } from '#core/index/format/manifest.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { spaceOf } from '#test/support/artifact.ts'

const REMOTE = spaceOf(384, { provider: 'openai', model: 'some-model' })

test('a stored space names every field', () => {
  expect(embeddingSpaceSchema.parse(REMOTE)).toEqual(REMOTE)
  for (const field of Object.keys(REMOTE))
    expect(embeddingSpaceSchema.safeParse({ ...REMOTE, [field]: undefined }).success, field).toBe(false)
})

test('two spaces have one key only if every field is the same', () => {
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
  expect(spaceKey({ ...space })).toBe(spaceKey(space))
  for (const change of others) expect(spaceKey({ ...space, ...change })).not.toBe(spaceKey(space))
})

test('a prefix is bounded', () => {
  const long = 'p'.repeat(INDEX_BOUNDS.embeddingPrefixCharactersMax + 1)
  expect(embeddingSpaceSchema.safeParse({ ...REMOTE, query_prefix: long.slice(1) }).success).toBe(true)
  expect(embeddingSpaceSchema.safeParse({ ...REMOTE, query_prefix: long }).success).toBe(false)
  expect(embeddingSpaceSchema.safeParse({ ...REMOTE, passage_prefix: long }).success).toBe(false)
})
