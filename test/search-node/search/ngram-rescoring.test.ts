import { describe, expect, test } from 'vitest'
import type { SearchResult } from '#core/domain/search.ts'
import { createIndexVersion } from '#search-node/search/index-version.ts'
import { search } from '#search-node/search/pipeline.ts'
import { wordedRows, type PassageTraits } from '#test/support/passages.ts'
import { UNLIMITED, inputOf, type Searchable } from '#test/support/search.ts'
import { openCorpus } from '#test/support/fixtures.ts'

/** Of equal length; only the second holds the parts of the compound that is asked for. */
const WITHOUT_PARTS = 'Die Farbe der Wand beträgt im Haus drei Monate.'
const WITH_PARTS = 'Die Frist der Kündigung beträgt im Haus drei Monate.'
const QUESTION = 'Kündigungsfrist von drei Monaten'

/** The same texts, as if they were in either language. */
const texts = new Map([
  [14, WITHOUT_PARTS],
  [15, WITH_PARTS],
  [34, WITH_PARTS],
  [35, WITHOUT_PARTS],
])
async function corpusIn(language: string): Promise<Searchable> {
  const traits = (n: number): PassageTraits => {
    const text = texts.get(n)
    return text === undefined ? { language } : { language, text }
  }
  const rows = wordedRows({ rows: 60, dimensions: 8, seed: 7, clusters: 6, traits })
  return openCorpus({ embedding: null, rows })
}
const corpora = { de: await corpusIn('de'), en: await corpusIn('en') }
const ask = (language: keyof typeof corpora, text: string): Promise<SearchResult> =>
  corpora[language].ask({ text, limit: 10 })
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
    const { candidates, statistics } = createIndexVersion(corpora.de.mapping)
    const without = { candidates, statistics: { ...statistics, hasCompounds: undefined } }
    const plain = await search(without, inputOf({ text: QUESTION }), UNLIMITED)
    const reply = await ask('de', QUESTION)
    expect(reply.predictors).toEqual(plain.predictors)
    expect(reply.passages[0]?.score).not.toBe(plain.passages[0]?.score)
  })
})
