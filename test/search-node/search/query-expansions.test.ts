import { describe, expect, test } from 'vitest'
import { predictorOf } from '#core/domain/predictors.ts'
import type { SearchResult } from '#core/domain/search.ts'
import type { PlacedExpansion } from '#core/index/query-expansions/writer.ts'
import { compareExpansions } from '#search-node/search/candidates/query-expansions/search.ts'
import { questionOn, seededRandom, wordedRows } from '#test/support/passages.ts'
import { EVERYTHING, type Searchable } from '#test/support/search.ts'
import { openCorpus } from '#test/support/fixtures.ts'

const rows = wordedRows({ rows: 200, dimensions: 8, seed: 3, clusters: 10 })

/** Of everyday words that no passage holds; row 17 has two, and rows 40 and 41 the same one. */
const QUESTIONS: readonly Omit<PlacedExpansion, 'id' | 'lang'>[] = [
  { row: 17, q: 'Can my landlord keep the deposit?' },
  { row: 17, q: 'Who gets the flat deposit back when tenants quarrel loudly?' },
  { row: 40, q: 'How long may a shop keep my photo?' },
  { row: 41, q: 'How long may a shop keep my photo?' },
  { row: 90, q: 'Wie lange darf der Laden mein Foto behalten?' },
  { row: 150, q: `${questionOn(3, seededRandom(5))} deposit` },
]
const queryExpansions = QUESTIONS.map((question, at) => ({
  ...question,
  id: rows[question.row]?.record.source_id ?? '',
  lang: at === 4 ? 'de' : 'en',
}))

const corpus = await openCorpus({ rows, embedding: null, queryExpansions })
const without = await openCorpus({ rows, embedding: null })

const rowsOf = ({ passages }: SearchResult): readonly number[] => passages.map(({ row }) => row)
const only = ({ predictors }: SearchResult): number | undefined => predictorOf(predictors, 'search_questions_only')

describe('search questions', () => {
  test('find a passage that shares no word with the question', async () => {
    const text = 'May the landlord keep a deposit?'
    expect(rowsOf(await without.ask({ text }))).toEqual([])
    const found = await corpus.ask({ text })
    expect(rowsOf(found)).toHaveLength(4)
    expect(found.passages[0]).toMatchObject({ row: 17, text: rows[17]?.record.text })
  })

  test('find a passage by a question in another language than its text', async () => {
    expect(rowsOf(await corpus.ask({ text: 'Laden Foto behalten' }))[0]).toBe(90)
  })

  test('are never in a reply', async () => {
    const reply = JSON.stringify(await corpus.ask({ text: 'landlord deposit photo shop' }))
    for (const word of ['landlord', 'deposit', 'photo']) expect(reply).not.toContain(word)
  })

  test('find no passage that the filters exclude', async () => {
    const filters = { ...EVERYTHING, documents: [rows[40]?.record.document.id ?? ''] }
    const found = await corpus.ask({ text: 'How long may a shop keep my deposit?', filters, limit: 50 })
    expect(rowsOf(found)).toEqual([40, 41])
    const onlyRows = new Uint8Array(25)
    onlyRows[5] = 0b10
    expect(rowsOf(await corpus.ask({ text: 'photo shop deposit', onlyRows }))).toEqual([41])
  })

  test('fill a reply that asks for more passages than the first round finds', async () => {
    const found = await corpus.ask({ text: 'deposit photo', limit: 200 })
    expect(rowsOf(found).toSorted((a, b) => a - b)).toEqual([17, 40, 41, 150])
  })

  test('leave a question as it is that shares no word with any of them', async () => {
    const text = questionOn(7, seededRandom(9))
    const [own, other] = [await corpus.ask({ text }), await without.ask({ text })]
    expect(rowsOf(own)).toEqual(rowsOf(other))
    expect(own.predictors).toEqual(other.predictors)
  })

  test('are told to the decision where they hold more of a question than the first passage does', async () => {
    expect(only(await corpus.ask({ text: 'Can my landlord keep the deposit?' }))).toBeGreaterThan(0.3)
    expect(only(await corpus.ask({ text: rows[60]?.record.text ?? '' }))).toBe(0)
    expect(only(await without.ask({ text: 'Can my landlord keep the deposit?' }))).toBe(0)
  })
})

describe('the share of a search question', () => {
  const reader = (): NonNullable<Searchable['mapping']['queryExpansions']> => {
    const { queryExpansions: found } = corpus.mapping
    if (found === undefined) throw new Error('the version has no search questions')
    return found
  }
  const EVERY_ROW = new Uint32Array(7).fill(0xffff_ffff)

  test('is that of the best one of the passage, and does not depend on other candidates', () => {
    const compared = compareExpansions(reader(), 'landlord deposit')
    const all = compared.shares(Uint32Array.from([16, 17, 18, 150]))
    expect(all[0]).toBe(0)
    expect(all[1]).toBeGreaterThan(all[3] ?? 1)
    expect(all[1]).toBeLessThan(1)
    expect([...compared.shares(Uint32Array.from([17]))]).toEqual([all[1]])
    const best = compared.best(EVERY_ROW, 1)
    expect([...best.ids]).toEqual([17])
    expect([...best.scores]).toEqual([all[1]])
  })

  test('is equal for equal questions, and the lower row comes first', () => {
    const { ids, scores } = compareExpansions(reader(), 'photo shop').best(EVERY_ROW, 2)
    expect([...ids]).toEqual([40, 41])
    expect(scores[0]).toBe(scores[1])
  })

  test('is 0 for a question without a word that they hold', () => {
    for (const text of ['zyzzyva', 'the of a', '']) {
      const compared = compareExpansions(reader(), text)
      expect([...compared.shares(Uint32Array.from([17, 40]))]).toEqual([0, 0])
      expect(compared.best(EVERY_ROW, 5).ids).toHaveLength(0)
    }
  })
})
