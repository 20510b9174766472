import { describe, expect, inject, test } from 'vitest'
import type { SearchResult } from '#core/domain/search.ts'
import type { SearchInput } from '#search-node/search/interfaces.ts'
import { EVERYTHING, RANKING } from '#test/support/search.ts'
import { ownWord, queryNear, questionOn, seededRandom, wordedRows, type PassageTraits } from '#test/support/passages.ts'
import { openCorpus } from '#test/support/fixtures.ts'

const { seed } = inject('random')

/** Passages of one rulebook among many that are of none. */
const TRAITS: Readonly<Record<number, PassageTraits>> = {
  33: { references: ['rulebook:bee#6/5/2'] },
  71: { references: ['rulebook:bee#6/5/3/a'] },
  120: { references: ['rulebook:bee#9/1'], language: 'de' },
  201: { references: ['rulebook:bee#7/4'], status: 'withdrawn' },
  230: { references: ['rulebook:bee#8/2'], inForceFrom: '2020-01-01', inForceTo: '2024-01-01' },
}

const rows = wordedRows({ rows: 400, dimensions: 16, seed, clusters: 20, traits: (n) => TRAITS[n] ?? {} })
const acts = [{ id: 'rulebook:bee', aliases: ['BEE', 'Bee Rulebook'] }]
const corpus = await openCorpus({ rows, acts })

const ask = (change: Partial<SearchInput>): Promise<SearchResult> => corpus.ask(change)
const sourceOf = (n: number): string => `doc-${Math.floor(n / 10)}#r${n}`
const named = ({ passages }: SearchResult): string[] =>
  passages.filter((passage) => passage.named).map(({ sourceId }) => sourceId)
const vector = (): Float32Array => queryNear(rows, 5, seededRandom(seed))
const ENGLISH = { ...EVERYTHING, languages: ['en'] }

describe('a provision that the query names', () => {
  test.each<[string, Partial<SearchInput>]>([
    ['words alone', {}],
    ['weighted scores', { vector: undefined }],
    ['weighted scores, nearly all on the vector', { ranking: { ...RANKING, denseWeight: 0.99 } }],
  ])('comes first and is marked, however much better others match by %s', async (name, change) => {
    const text = `What does BEE 6.5.2 say of ${ownWord(5)} and ${questionOn(3, seededRandom(seed))}?`
    const reply = await ask({ text, limit: 10, ...(name === 'words alone' ? {} : { vector: vector() }), ...change })
    expect(reply.passages[0]).toMatchObject({ sourceId: sourceOf(33), named: true })
    expect(named(reply)).toEqual([sourceOf(33)])
    expect(reply.passages.length).toBeGreaterThan(1)
    expect(reply.unsupported).toEqual([])
    const [first, ...others] = reply.passages.map(({ score }) => score)
    expect(first).toBeGreaterThanOrEqual(0.5)
    expect(Math.max(...others)).toBeLessThanOrEqual(0.5)
  })

  test('is served although no word of it and no vector finds it', async () => {
    for (const change of [{}, { vector: vector() }])
      expect(named(await ask({ text: 'BEE 6.5.2', limit: 1, ...change }))).toEqual([sourceOf(33)])
  })

  test('brings the passages of its parts', async () => {
    expect(new Set(named(await ask({ text: 'Explain BEE 6.5.', limit: 5 })))).toEqual(
      new Set([sourceOf(33), sourceOf(71)]),
    )
  })

  test('is served by its name alone where the query has many names', async () => {
    const reply = await ask({ text: 'Bee Rulebook 6.5.2 and BEE 9.1', limit: 2, vector: vector() })
    expect(new Set(named(reply))).toEqual(new Set([sourceOf(33), sourceOf(120)]))
  })

  test('is looked for in the words, never where only a vector asks', async () => {
    expect(named(await ask({ vector: vector() }))).toEqual([])
  })
})

describe('a provision that cannot be served', () => {
  const text = 'Does BEE 9.1 apply?'
  const unsupported = { text: 'BEE 9.1', normalized: 'rulebook:bee#9/1' }

  test('is outside the filters where other rows were asked for', async () => {
    const onlyRows = new Uint8Array(rows.length / 8)
    expect((await ask({ text, onlyRows })).unsupported).toEqual([{ ...unsupported, reason: 'outside_filters' }])
  })

  test('is not in the corpus where the caller is not entitled to it, whatever the corpus holds', async () => {
    expect((await ask({ text, filters: ENGLISH, vector: vector() })).unsupported).toEqual([
      { ...unsupported, reason: 'not_in_corpus' },
    ])
    expect((await ask({ text: 'BEE 7.4' })).unsupported).toEqual([
      { text: 'BEE 7.4', normalized: 'rulebook:bee#7/4', reason: 'not_in_corpus' },
    ])
  })

  test('is not in the corpus from the day on which it has ended', async () => {
    const on = (day: string): Partial<SearchInput> => {
      const filters = { ...EVERYTHING, inForceOn: day }
      return { text: 'BEE 8.2', filters, entitled: filters }
    }
    expect(named(await ask(on('2023-12-31')))).toEqual([sourceOf(230)])
    expect((await ask(on('2024-01-01'))).unsupported).toEqual([
      { text: 'BEE 8.2', normalized: 'rulebook:bee#8/2', reason: 'not_in_corpus' },
    ])
  })

  test(
    'is told from one that is not held by looking the entitlement up once, however many passages are ' +
      'of the provision',
    async () => {
      let lookUps = 0
      const entitled = {
        ...EVERYTHING,
        get documents() {
          lookUps += 1
          return EVERYTHING.documents
        },
      }
      await ask({ text: 'BEE 6 and BEE 9.1', filters: ENGLISH, entitled: EVERYTHING })
      await ask({ text: 'BEE 6 and BEE 9.1', filters: ENGLISH, entitled })
      expect(lookUps).toBe(1)
    },
  )

  test('is told once each and in the order of the query, beside what can be served', async () => {
    const reply = await ask({
      text: 'Compare BEE 40.1, BEE 6.5.2, BEE 9.1 and BEE 40.1.',
      filters: ENGLISH,
      entitled: EVERYTHING,
      vector: vector(),
    })
    expect(reply.unsupported.map(({ normalized, reason }) => [normalized, reason])).toEqual([
      ['rulebook:bee#40/1', 'not_in_corpus'],
      ['rulebook:bee#9/1', 'outside_filters'],
    ])
    expect(named(reply)).toEqual([sourceOf(33)])
  })

  test('changes nothing in the passages', async () => {
    const [with40, without] = await Promise.all(
      ['BEE 40.1', 'BEE'].map((name) =>
        ask({ text: `${ownWord(5)} ${name}`, vector: vector(), ranking: { ...RANKING, denseWeight: 1 } }),
      ),
    )
    expect(with40?.passages).toEqual(without?.passages)
    expect(with40?.passages).toHaveLength(5)
  })
})
