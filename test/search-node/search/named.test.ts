import { describe, expect, onTestFinished, test } from 'vitest'
import { predictorOf, type Predictor } from '#core/domain/predictors.ts'
import type { FoundPassage, SearchResult } from '#core/domain/search.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { scoredList } from '#core/reading/scored-list.ts'
import { createIndexVersion } from '#search-node/search/index-version.ts'
import { search } from '#search-node/search/pipeline.ts'
import { EVERYTHING, RANKING, UNLIMITED, inputOf, searchable } from '#test/support/search.ts'
import { testPassage, testRows, type PassageTraits } from '#test/support/passages.ts'
import { openCorpus } from '#test/support/fixtures.ts'

const GDPR = 'celex:32016R0679'
/** Three articles of ten passages; each opens with a passage of its own, and nine paragraphs follow. */
const ARTICLES = [5, 6, 7]
const PROHIBITED = 'fines of 500 euros for pizza'

/** Passage `n`: an article's opening or a paragraph. Article 7 has two revisions, one after the other. */
function traitsOf(n: number): PassageTraits {
  const article = ARTICLES[Math.floor(n / 10)]
  if (article === undefined)
    return { text: `Pizza and pasta are food of the kind ${n}.`, provision: `other ${n}`, references: [] }
  const paragraph = n % 10
  const isRevised = article === 7
  const text = `Article ${article} paragraph ${paragraph}: processing of kind ${n}`
  return {
    references: [paragraph === 0 ? `${GDPR}#${article}` : `${GDPR}#${article}/${paragraph}`],
    text: article === 6 && paragraph === 9 ? `${text}, ${PROHIBITED}.` : `${text}.`,
    provision: isRevised ? `article 7, ${paragraph % 5}` : `article ${article}, ${paragraph}`,
    revision: isRevised && paragraph >= 5 ? 'new' : 'old',
    inForceFrom: isRevised && paragraph >= 5 ? '2025-01-01' : '2024-01-01',
    inForceTo: isRevised && paragraph < 5 ? '2025-01-01' : null,
  }
}

const rows = testRows({ rows: 60, dimensions: 16, seed: 31, traits: traitsOf })
const queries = rows.slice(0, 20).map(({ vector }) => vector)
const corpus = await openCorpus({ rows, queries, acts: [{ id: GDPR, aliases: ['GDPR'] }] })

const numberOf = ({ sourceId }: FoundPassage): number => Number(sourceId.split('#r')[1])
const numbers = ({ passages }: SearchResult): number[] => passages.map(numberOf)
const predictor = ({ predictors }: SearchResult, name: Predictor): number => predictorOf(predictors, name) ?? Number.NaN
const article = (number: number): string => `Article ${number} GDPR`

describe('the passages of a named provision', () => {
  test('come first, its opening before its paragraphs, in the order of the document', async () => {
    for (const text of [article(6), `What does ${article(6)} say?`, `${article(6)} and helicopters`]) {
      for (const limit of [1, 5, 10, 30]) {
        const reply = await corpus.ask({ text, limit })
        const expected = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19].slice(0, limit)
        expect(numbers(reply).slice(0, expected.length)).toEqual(expected)
        expect(reply.passages.map(({ named }) => named)).toEqual(reply.passages.map((_, at) => at < 10))
      }
    }
  })

  test('that a reply has no room for give way to the one that is asked about; the opening stays', async () => {
    for (const text of [`Does ${article(6)} set ${PROHIBITED}?`, `Pizza: ${article(6)}`]) {
      const numbersOf = async (limit: number): Promise<number[]> => numbers(await corpus.ask({ text, limit }))
      expect(await numbersOf(1)).toEqual([10])
      expect(await numbersOf(2)).toEqual([10, 19])
      expect(await numbersOf(5)).toEqual([10, 11, 12, 13, 19])
      expect((await numbersOf(30)).slice(0, 10)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
    }
  })

  test('keep that order with any vector and weight, and their scores decrease within (0.5, 1]', async () => {
    for (const { vector } of rows.slice(0, 10)) {
      for (const denseWeight of [0, 0.4, 1]) {
        const reply = await corpus.ask({ text: article(6), vector, limit: 30, ranking: { ...RANKING, denseWeight } })
        expect(numbers(reply).slice(0, 10)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
        const scores = reply.passages.map(({ score }) => score)
        expect(scores[0]).toBe(1)
        for (const [at, score] of scores.slice(1).entries()) expect(scores[at]).toBeGreaterThanOrEqual(score)
        expect(scores.slice(0, 10).every((score, at) => score > 0.5 && scores.indexOf(score) === at)).toBe(true)
        expect(scores.slice(10).every((score) => score >= 0 && score < 0.5)).toBe(true)
      }
    }
  })

  test('of several provisions share the list, in the order of the question', async () => {
    const text = `How do ${article(6)} and ${article(5)} differ?`
    expect(numbers(await corpus.ask({ text, limit: 5 }))).toEqual([10, 11, 0, 1, 12])
    expect(numbers(await corpus.ask({ text, limit: 2 }))).toEqual([10, 0])
    expect(numbers(await corpus.ask({ text, limit: 50 })).slice(0, 4)).toEqual([10, 11, 0, 1])
    const asked = `Which of ${article(5)} and ${article(6)} sets ${PROHIBITED}?`
    expect(numbers(await corpus.ask({ text: asked, limit: 5 })).slice(0, 4)).toEqual([0, 1, 10, 19])
  })

  test('show each provision once, in the revision in force', async () => {
    for (const [day, expected] of [
      ['2024-06-01', [20, 21, 22, 23, 24]],
      ['2025-06-01', [25, 26, 27, 28, 29]],
    ] as const) {
      const reply = await corpus.ask({ text: article(7), limit: 10, ranking: { ...RANKING, collapseRevisionsOn: day } })
      expect(numbers(reply).filter((n) => n >= 20 && n < 30)).toEqual(expected)
      expect(reply.passages.slice(0, 5).every(({ named }) => named)).toBe(true)
    }
  })

  test('keep their order and their place in front when a reader prefers others', async () => {
    const { passages } = await corpus.ask({ text: article(6), vector: rows[40]?.vector, limit: 30 })
    const scores = passages.map((_, at) => at * (at % 2 === 0 ? 1 : -1))
    const { passages: after } = scoredList({ scores: 'order', passages: 30 }, passages, scores, 30)
    expect(after.slice(0, 10).map(numberOf)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
    expect(after.slice(10).map(numberOf)).not.toEqual(passages.slice(10).map(numberOf))
  })
})

describe('the predictors of a named provision', () => {
  test('say that it is in the list and how much of the question it lacks', async () => {
    const bare = await corpus.ask({ text: article(6) })
    const held = await corpus.ask({ text: `Does ${article(6)} set ${PROHIBITED}?` })
    const absurd = await corpus.ask({ text: `Does ${article(5)} mention helicopters?` })
    for (const reply of [bare, held, absurd]) expect(predictor(reply, 'named')).toBe(1)
    expect(predictor(bare, 'named_missing')).toBe(0)
    expect(predictor(held, 'named_missing')).toBeLessThan(predictor(absurd, 'named_missing'))
  })

  test('are 0 where the question names none, names one that is not held, or the filters exclude it', async () => {
    const others = { ...EVERYTHING, documents: [rows[0]?.record.document.id ?? ''] }
    const held = rows[0]?.record.references[0] ?? ''
    expect(held).not.toMatch(/#99$/)
    for (const reply of [
      await corpus.ask({ text: 'Which pizza is food?' }),
      await corpus.ask({ text: `${article(99)} and pizza` }),
      await corpus.ask({ text: article(ARTICLES.find((each) => !held.includes(`#${each}`)) ?? 0), filters: others }),
    ])
      expect([predictor(reply, 'named'), predictor(reply, 'named_missing')]).toEqual([0, 0])
  })

  test('see the passage that a reply of five shows, however late in the provision it stands', async () => {
    const missing = async (text: string): Promise<number> => predictor(await corpus.ask({ text }), 'named_missing')
    expect(await missing(`Does ${article(6)} set ${PROHIBITED}?`)).toBeLessThan(2)
    expect(await missing(`Does ${article(5)} set ${PROHIBITED}?`)).toBeGreaterThan(5)
  })

  test('say what it lacks, and whether a passage beside it in the document says more', async () => {
    const measured = async (text: string): Promise<readonly number[]> => {
      const reply = await corpus.ask({ text })
      return [predictor(reply, 'named_missing'), predictor(reply, 'named_elsewhere')]
    }
    expect(await measured(`Does Article 6(9) GDPR mention ${PROHIBITED}?`)).toEqual([0, 0])
    const [missing, elsewhere] = await measured(`Does Article 6(1) GDPR mention ${PROHIBITED}?`)
    expect(missing).toBeGreaterThan(5)
    expect(elsewhere).toBeGreaterThan(0.9)
    // Passages of other documents say it.
    const [ofOthers, inOthers] = await measured(`Does ${article(5)} mention pizza and pasta?`)
    expect(ofOthers).toBeGreaterThan(1)
    expect(inOthers).toBe(0)
  })

  test('say by how much other passages are nearer, unless the question asks for the provision alone', async () => {
    const vectorOf = (n: number): Float32Array | undefined =>
      rows.find(({ record }) => record.source_id.endsWith(`#r${n}`))?.vector
    const marginOf = async (text: string, near: number): Promise<number> =>
      predictor(await corpus.ask({ text, vector: vectorOf(near) }), 'named_margin')
    expect(await marginOf(`Does ${article(6)} mention pizza?`, 12)).toBe(0)
    expect(await marginOf(`Does ${article(6)} mention pizza?`, 40)).toBeLessThan(0)
    expect(await marginOf(`What does ${article(6)} say?`, 40)).toBe(0)
    expect(predictor(await corpus.ask({ text: `Does ${article(6)} mention pizza?` }), 'named_margin')).toBe(0)
  })

  test('do not depend on how many passages are wanted', async () => {
    const text = `What do ${article(6)} and ${article(5)} say about ${PROHIBITED}?`
    const [few, many] = [await corpus.ask({ text, limit: 1 }), await corpus.ask({ text, limit: 10 })]
    expect(few.predictors).toEqual(many.predictors)
  })

  test('read a bounded number of passages of each provision, however many it holds', async () => {
    const many = testRows({
      rows: 400,
      dimensions: 8,
      seed: 32,
      traits: (n) => ({
        references: [`${GDPR}#${n < 200 ? 5 : 6}/${n}`],
        text: `Paragraph ${n} on ${n >= 200 ? 'zebras' : 'hives'}.`,
      }),
    })
    const { mapping, close } = await searchable({ rows: many, acts: [{ id: GDPR, aliases: ['GDPR'] }] })
    onTestFinished(close)
    const { statistics, candidates } = createIndexVersion(mapping)
    const read = new Set<number>()
    const passage = (row: number): ReturnType<typeof statistics.passage> => {
      read.add(row)
      return statistics.passage(row)
    }
    const text = `${article(5)}, ${article(6)}: ${Array.from({ length: 400 }, (_, n) => `h${n}ives`).join(' ')}`
    expect(text.length).toBeLessThanOrEqual(SEARCH_BOUNDS.queryCharactersMax)
    const input = inputOf({ text, limit: 5 })
    const reply = await search({ candidates, statistics: { ...statistics, passage } }, input, UNLIMITED)
    expect(predictor(reply, 'named')).toBe(1)
    expect(read.size).toBeLessThan(50)
    // Of the second provision, which follows two hundred passages of the first.
    const ofSecond = inputOf({ text: `Do ${article(5)} and ${article(6)} mention zebras?` })
    const found = await search({ candidates, statistics }, ofSecond, UNLIMITED)
    expect(predictor(found, 'named_missing')).toBe(0)
  })
})

describe('a reference without an act', async () => {
  /** § 433 has nine passages in one act and one in another; § 7 and § 8 are in one act each. */
  const referencesOf = (n: number): readonly string[] => {
    if (n < 9) return [n === 0 ? 'de:bgb#433' : `de:bgb#433/${n}`]
    return { 9: ['de:bgb#7'], 10: ['de:hgb#433/1'], 11: ['de:hgb#8'] }[n] ?? []
  }
  const acts = [
    { id: 'de:bgb', aliases: ['BGB'] },
    { id: 'de:hgb', aliases: ['HGB'] },
  ]
  const traits = (n: number): PassageTraits => ({ references: referencesOf(n), text: `Kaufvertrag Nummer ${n}.` })
  const german = await openCorpus({ rows: testRows({ rows: 20, dimensions: 8, seed: 33, traits }), acts })

  test('that two acts answer is no named provision, although passages of one fill the reply', async () => {
    for (const text of ['§ 433', 'Kaufvertrag: was regelt § 433?']) {
      const reply = await german.ask({ text, limit: 5 })
      expect(reply.passages.every(({ named }) => named)).toBe(true)
      expect([predictor(reply, 'named'), predictor(reply, 'named_missing')]).toEqual([0, 0])
    }
  })

  test('that one act answers is a named provision, as is one whose act is named', async () => {
    for (const text of ['§ 7', '§ 433 BGB', '§ 433 HGB', 'Was regeln § 7 und § 8?'])
      expect(predictor(await german.ask({ text }), 'named'), text).toBe(1)
  })

  test('that the filters leave in one act is a named provision', async () => {
    for (const n of [0, 10]) {
      const filters = { ...EVERYTHING, documents: [testPassage(n).document.id] }
      expect(predictor(await german.ask({ text: '§ 433', filters }), 'named')).toBe(1)
    }
  })
})
