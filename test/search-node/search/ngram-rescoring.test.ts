import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SearchResult } from '#core/domain/search.ts'
import { createIndexVersion } from '#search-node/search/index-version.ts'
import { search } from '#search-node/search/pipeline.ts'
import { wordedRows } from '#test/support/passages.ts'
import type { PassageTraits } from '#test/support/passages.ts'
import { UNLIMITED, inputOf, searchable } from '#test/support/search.ts'
import type { Searchable } from '#test/support/search.ts'

/** Of equal length; only the second holds the parts of the compound that is asked for. */
const WITHOUT_PARTS = 'Die Farbe der Wand beträgt im Haus drei Monate.'
const WITH_PARTS = 'Die Frist der Kündigung beträgt im Haus drei Monate.'
const QUESTION = 'Kündigungsfrist von drei Monaten'
const LANGUAGES = ['de', 'en'] as const

/** The same texts, as if they were in either language. */
const corpora = new Map<string, Searchable>()
beforeAll(async () => {
  const texts = new Map([
    [14, WITHOUT_PARTS],
    [15, WITH_PARTS],
    [34, WITH_PARTS],
    [35, WITHOUT_PARTS],
  ])
  for (const language of LANGUAGES) {
    const traits = (n: number): PassageTraits => {
      const text = texts.get(n)
      return text === undefined ? { language } : { language, text }
    }
    const rows = wordedRows({ rows: 60, dimensions: 8, seed: 7, clusters: 6, traits })
    corpora.set(language, await searchable({ embedding: null, rows }))
  }
})
afterAll(() => {
  for (const corpus of corpora.values()) corpus.close()
})

function corpusIn(language: string): Searchable {
  const corpus = corpora.get(language)
  if (corpus === undefined) throw new Error(`there is no corpus in ${language}`)
  return corpus
}
const ask = (language: string, text: string): Promise<SearchResult> => corpusIn(language).ask({ text, limit: 10 })
const textsOf = ({ passages }: SearchResult): readonly string[] => passages.map(({ text }) => text)

describe('character n-grams', () => {
  test('put the parts of a compound first in a language that writes compounds', async () => {
    expect(textsOf(await ask('de', QUESTION))).toEqual([WITH_PARTS, WITH_PARTS, WITHOUT_PARTS, WITHOUT_PARTS])
  })

  test('count in no other language', async () => {
    const { passages } = await ask('en', QUESTION.replace('Monaten', 'Monate'))
    expect(new Set(passages.map(({ score }) => score.toFixed(6))).size).toBe(1)
  })

  test('find no passage by themselves', async () => {
    expect(textsOf(await ask('de', 'Kündigungsfristen'))).toEqual([])
  })

  test('change no predictor', async () => {
    const { candidates, statistics } = createIndexVersion(corpusIn('de').mapping)
    const without = { candidates, statistics: { ...statistics, hasCompounds: undefined } }
    const plain = await search(without, inputOf({ text: QUESTION }), UNLIMITED)
    const reply = await ask('de', QUESTION)
    expect(reply.predictors).toEqual(plain.predictors)
    expect(reply.passages[0]?.score).not.toBe(plain.passages[0]?.score)
  })
})
