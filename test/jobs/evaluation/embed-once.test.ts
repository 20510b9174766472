import { expect, test } from 'vitest'
import type { Embedder } from '#core/embedding/embedder.ts'
import { embedOnce } from '#jobs/evaluation/ask.ts'
import { spaceOf } from '#test/support/artifact.ts'

const { signal } = new AbortController()

/** The vector of a text says how long it is. */
function recording(): { readonly embedder: Embedder; readonly sent: (readonly string[])[] } {
  const sent: (readonly string[])[] = []
  const embedder: Embedder = {
    space: spaceOf(2),
    embed: async (texts, role) => {
      sent.push([role, ...texts])
      const vectors = texts.map((text) => Float32Array.of(text.length, role === 'query' ? 1 : 0))
      return await Promise.resolve({ vectors, tokens: 7, overlong: 0 })
    },
  }
  return { embedder: embedOnce(embedder), sent }
}

test('a text is embedded once in each role, and its vector comes back at each of its places', async () => {
  const { embedder, sent } = recording()
  const first = await embedder.embed(['a', 'bcd', 'a'], 'query', signal)
  expect(first).toEqual({
    vectors: [Float32Array.of(1, 1), Float32Array.of(3, 1), Float32Array.of(1, 1)],
    tokens: 7,
    overlong: 0,
  })
  expect((await embedder.embed(['bcd', 'ef'], 'query', signal)).vectors).toEqual([
    Float32Array.of(3, 1),
    Float32Array.of(2, 1),
  ])
  expect(await embedder.embed(['ef', 'a'], 'query', signal)).toEqual({
    vectors: [Float32Array.of(2, 1), Float32Array.of(1, 1)],
    tokens: null,
    overlong: 0,
  })
  await embedder.embed(['a'], 'passage', signal)
  expect(sent).toEqual([
    ['query', 'a', 'bcd'],
    ['query', 'ef'],
    ['passage', 'a'],
  ])
})

test('a failure is passed on and remembers nothing', async () => {
  let failing = true
  const embedder = embedOnce({
    space: spaceOf(2),
    embed: async () => {
      if (failing) throw new Error('down')
      return await Promise.resolve({ vectors: [Float32Array.of(1, 0)], tokens: null, overlong: 0 })
    },
  })
  await expect(embedder.embed(['a'], 'query', signal)).rejects.toThrow('down')
  failing = false
  expect((await embedder.embed(['a'], 'query', signal)).vectors).toEqual([Float32Array.of(1, 0)])
})
