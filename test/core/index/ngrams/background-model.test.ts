import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ngramHashes } from '#core/index/analysis/ngrams.ts'
import { rowOrder } from '#core/index/format/row-checks.ts'
import { aboveBackground, coverageOf, ngramQuestion, heldNgrams } from '#core/index/ngrams/coverage.ts'
import { DEFAULT_BACKGROUND_MODEL } from '#core/index/ngrams/background-model.ts'
import { decodedFrequency, encodedFrequency, type BackgroundModel } from '#core/index/ngrams/layout.ts'
import { testPassage } from '#test/support/passages.ts'
import { searchable } from '#test/support/search.ts'

const SYLLABLES = ['ba', 'do', 'ki', 'lu', 'mo', 'na', 'pu', 'ro', 'ti', 'vu']
const word = (n: number): string => [...String(n)].map((digit) => SYLLABLES[Number(digit)] ?? '').join('')

/** A version without vectors, of one text a passage. */
async function version(
  texts: readonly string[],
): Promise<{ readonly background: BackgroundModel; frequency(word: string): number }> {
  const vector = Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0)
  const rows = texts
    .map((text, n) => ({ record: testPassage(n, { text, heading: '' }), vector }))
    .sort((a, b) => rowOrder(a.record, b.record))
  using ending = new DisposableStack()
  const corpus = ending.adopt(await searchable({ rows, embedding: null }), (it) => it.close())
  const { background, frequency } = corpus.mapping.ngrams
  const counts = new Map(
    texts.flatMap((text) => text.split(' ')).map((each) => [each, frequency(ngramHashes(each)[0] ?? 0)]),
  )
  return { background, frequency: (each) => counts.get(each) ?? Number.NaN }
}
/** Passages of ten words: `shared` of them are the same in every document, the others occur once. */
const texts = (passages: number, shared: number): string[] =>
  Array.from({ length: passages }, (_, n) =>
    Array.from({ length: 10 }, (__, at) =>
      at < shared ? word(1_000 + (n % 10) * 10 + at) : word(10_000 + n * 10 + at),
    ).join(' '),
  )
const levelOf = ({ background }: { readonly background: BackgroundModel }, information: number): number =>
  -aboveBackground({ words_best: 0, grams_best: 0, grams_mass: 0, document_share: 0 }, information, background)
    .grams_best

describe('the background model of a version', () => {
  test('is high where documents say much the same, low where passages have words of their own or copies', async () => {
    const [alike, apart] = [await version(texts(60, 7)), await version(texts(60, 0))]
    expect(levelOf(alike, 60)).toBeGreaterThan(0.6)
    expect(levelOf(apart, 60)).toBeLessThan(0.45)
    // A copy answers what its passage answers, so it is no background.
    expect(levelOf(await version(texts(60, 10)), 60)).toBeLessThan(0.45)
    expect(alike.background.questions).toBeGreaterThan(100)
  })

  test('is the same for the same passages, and falls with what a question asks', async () => {
    const [one, again] = [await version(texts(60, 3)), await version(texts(60, 3))]
    expect(again.background).toEqual(one.background)
    expect(levelOf(one, 400)).toBeLessThan(levelOf(one, 20))
  })

  test('of fewer than eight passages is the default, which is named', async () => {
    expect((await version(texts(7, 3))).background).toEqual(DEFAULT_BACKGROUND_MODEL)
    expect(DEFAULT_BACKGROUND_MODEL.questions).toBe(0)
  })

  test('of a single document is measured too: the passage of a question is withheld', async () => {
    const { background } = await version(texts(9, 3))
    expect(background.questions).toBeGreaterThan(100)
  })
})

describe('n-grams of a version', () => {
  test('are counted by passages, about and hardly ever too low', async () => {
    const { frequency } = await version(['badoki lumona', 'badoki puroti', 'badoki badoki', ...texts(8, 0)])
    expect(frequency('badoki')).toBeGreaterThan(2.7)
    expect(frequency('lumona')).toBeGreaterThan(0.9)
    fc.assert(
      fc.property(fc.nat({ max: 1_000_000 }), (rows) => {
        expect(Math.abs(decodedFrequency(encodedFrequency(rows)) - rows)).toBeLessThanOrEqual(0.05 * (rows + 1))
      }),
    )
  })

  test('weigh by how rare they are, and the share that a text holds is what its definition gives', () => {
    const words = fc.array(fc.constantFrom('anchor', 'anchors', 'ballast', 'in', '奴隷'), { maxLength: 6 })
    const frequency = (hash: number): number => Math.abs(hash % 40)
    fc.assert(
      fc.property(words, words, (asked, text) => {
        const question = ngramQuestion(asked, { rows: 50, frequency })
        const held = new Set(ngramHashes(text.join(' ')))
        const distinct = [...new Set(ngramHashes(asked.join(' ')))]
        const weight = (hash: number): number => Math.log(1 + (50.5 - frequency(hash)) / (frequency(hash) + 0.5))
        const sum = (hashes: readonly number[]): number => hashes.reduce((total, hash) => total + weight(hash), 0)
        const share = distinct.length === 0 ? 0 : sum(distinct.filter((hash) => held.has(hash))) / sum(distinct)
        expect(question.information).toBeCloseTo(sum(distinct), 9)
        expect(heldNgrams(question, ngramHashes(text.join(' ')))).toBeCloseTo(share, 9)
      }),
    )
  })

  test('of the first passages count by the best of them and on average', () => {
    expect(coverageOf([0.2, 0.6], [0.1, 0.5], 0.3)).toEqual({
      words_best: 0.6,
      grams_best: 0.5,
      grams_mass: 0.3,
      document_share: 0.3,
    })
    expect(coverageOf([], [], 0)).toEqual({ words_best: 0, grams_best: 0, grams_mass: 0, document_share: 0 })
  })
})
