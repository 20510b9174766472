import { writeFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import type { Embedder, EmbeddingRole } from '#core/embedding/embedder.ts'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { embedSampleQueries } from '#jobs/version-build/artifact.ts'
import { passagesFile } from '#jobs/version-build/sort.ts'
import { testPassage } from '#test/support/passages.ts'
import { WORD_EMBEDDER } from '#test/support/word-vectors.ts'
import { folderOfTest } from '#test/support/folder.ts'

let workFolder: string
beforeEach(() => {
  workFolder = folderOfTest()
})

async function sampled(texts: readonly string[]) {
  const lines = texts.map((text, n) => `${JSON.stringify(testPassage(n, { text }))}\n`)
  writeFileSync(passagesFile(workFolder), lines.join(''))
  const asked: string[] = []
  const roles = new Set<EmbeddingRole>()
  const embedder: Embedder = {
    space: WORD_EMBEDDER.space,
    embed(batch, role, signal) {
      expect(batch.length).toBeLessThanOrEqual(EMBEDDING_BOUNDS.embedBatchTexts)
      asked.push(...batch)
      roles.add(role)
      return WORD_EMBEDDER.embed(batch, role, signal)
    },
  }
  const { signal } = new AbortController()
  return { vectors: await embedSampleQueries({ workFolder, signal }, texts.length, embedder), texts: asked, roles }
}

test.each([1, 2, 99, 100, 101, 257, 1_000])(
  '%d passages give evenly spaced queries, at most a hundred',
  async (rows) => {
    const { texts, roles, vectors } = await sampled(Array.from({ length: rows }, (_, n) => `number ${n}`))
    expect(texts).toHaveLength(Math.min(rows, BUILD_BOUNDS.cosineQueries))
    expect(vectors).toHaveLength(texts.length)
    expect([...roles]).toEqual(['query'])
    const numbers = texts.map((text) => Number(text.split(' ')[1]))
    expect(numbers[0]).toBe(0)
    const gaps = numbers.slice(1).map((number, at) => number - (numbers[at] ?? 0))
    const step = Math.max(1, rows / BUILD_BOUNDS.cosineQueries)
    for (const gap of gaps) expect(Math.abs(gap - step)).toBeLessThan(1)
  },
)

test('a query is the opening of a passage, cut between words, in one line, and well-formed', async () => {
  const { texts } = await sampled([
    'A  short\npassage.',
    `The controller ${'provides information '.repeat(20)}`,
    'x'.repeat(500),
    `${'x'.repeat(79)}𝔞𝔞`,
  ])
  expect(texts[0]).toBe('A short passage.')
  expect(texts[1]).toMatch(/^The controller (provides information ?)+(provides)?$/)
  expect(texts[2]).toBe('x'.repeat(80))
  for (const text of texts) {
    expect(text.length).toBeLessThanOrEqual(80)
    expect(text.isWellFormed()).toBe(true)
  }
})
