import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EXPLICIT_REFERENCES_MAX, NAMED_ROWS_MAX } from '#search-node/search/candidates/references/resolve.ts'
import { NEARNESS, type NamedBy, type Nearness } from '#search-node/search/interfaces.ts'
import { resolve, type Passage } from './resolved.ts'

const own = (...references: readonly string[]): Passage => ({ references })
const named = (nearness: Nearness, reference = 0, withoutAct = false): NamedBy => ({ reference, nearness, withoutAct })
const ART_6 = 'celex:32016R0679#6'

describe('a provision that the query names', () => {
  test('raises its own passage, and then those of its parts, above all others', () => {
    const { ids, unsupported } = resolve('What does Article 6(1) GDPR allow?', [
      own(`${ART_6}/1/f`),
      own(`${ART_6}/1`),
      own(`${ART_6}/2`),
      own('celex:32016R0679#61'),
    ])
    expect(ids).toEqual(
      new Map([
        [0, named(NEARNESS.part)],
        [1, named(NEARNESS.exact)],
      ]),
    )
    expect(unsupported).toEqual([])
  })

  test('without its act is found in every act', () => {
    const { ids } = resolve('Welche Pflichten nennt § 433?', [
      own('de:bgb#433'),
      own('de:hgb#433/1'),
      own('de:hgb#434'),
    ])
    expect(ids).toEqual(
      new Map([
        [0, named(NEARNESS.exact, 0, true)],
        [1, named(NEARNESS.part, 0, true)],
      ]),
    )
  })

  test('in small letters and without its act counts if the corpus holds it in one document', () => {
    const [wills, pacts] = [own('fr:code-civil#970'), own('fr:code-civil#515-3')]
    const trade = { ...own('fr:code-de-commerce#970'), document: 1 }
    const query = 'Testament olographe art. 970 conditions'
    const ids = new Map([[0, named(NEARNESS.exact, 0, true)]])
    for (const other of [pacts, { ...trade, entitled: false }])
      expect(resolve(query, [wills, other])).toMatchObject({ ids, remainder: 'Testament olographe   conditions' })
    for (const corpus of [[pacts], [wills, trade]])
      expect(resolve(query, corpus)).toEqual({ ids: new Map(), unsupported: [], remainder: query })
    expect(resolve(query, [{ ...wills, allowed: false }]).unsupported).toMatchObject([{ reason: 'outside_filters' }])
  })

  test('by a number without a word for its kind counts if the corpus holds it, and is no reference otherwise', () => {
    const corpus = [own('celex:32016R0679#17'), own('de:bgb#433/1')]
    expect([...resolve('GDPR 17', corpus).ids.keys()]).toEqual([0])
    expect([...resolve('433 Abs. 1 BGB', corpus).ids.keys()]).toEqual([1])
    for (const query of ['GDPR 18', '434 BGB'])
      expect(resolve(query, corpus)).toEqual({ ids: new Map(), unsupported: [], remainder: query })
  })

  test('of an act that is named and not held raises no article of another act, even beside a held act', () => {
    const corpus = [own(`${ART_6}/1`), own('celex:32016R0679#8'), own('celex:32016R0679#28')]
    for (const [query, normalized] of [
      ['Art. 8 EMRK', 'name:emrk#8'],
      ['Solvency II Article 28', 'name:solvency-ii#28'],
      ['UWG § 6', 'de:uwg#6'],
      ['article 6 of the Sale of Goods Act 1979', 'name:sale-of-goods-act-1979#6'],
      ["article L. 6 du code de l'urbanisme", 'fr:code-de-l-urbanisme#l6'],
    ] as const) {
      const { ids, unsupported } = resolve(query, corpus)
      expect(ids, query).toEqual(new Map())
      expect(unsupported).toMatchObject([{ normalized, reason: 'not_in_corpus' }])
    }
    const both = resolve('How do Article 6 GDPR and Article 8 ECHR differ?', corpus)
    expect([...both.ids.keys()]).toEqual([0])
    expect(both.unsupported).toMatchObject([{ normalized: 'name:echr#8', reason: 'not_in_corpus' }])
  })

  test('of a standard or a contract is no reference: nothing is raised and nothing is reported', () => {
    for (const query of ['ISO 27001 article 6', '§ 6 AGB', 'section 6(1) above', 'Article 6 of our terms'])
      expect(resolve(query, [own(`${ART_6}/1`)]), query).toEqual({ ids: new Map(), unsupported: [], remainder: query })
  })

  test('that the corpus does not hold is reported with its canonical form, and raises nothing', () => {
    expect(resolve('Is Article 99 GDPR met?', [own(`${ART_6}/1`)])).toEqual({
      ids: new Map(),
      remainder: 'Is   met?',
      unsupported: [{ text: 'Article 99 GDPR', normalized: 'celex:32016R0679#99', reason: 'not_in_corpus' }],
    })
  })

  test('is outside the filters only where the entitlement reaches it', () => {
    const query = 'Is Article 6 GDPR met?'
    expect(resolve(query, [{ references: [`${ART_6}/1`], allowed: false }]).unsupported).toMatchObject([
      { reason: 'outside_filters' },
    ])
    expect(resolve(query, [{ references: [`${ART_6}/1`], entitled: false }]).unsupported).toMatchObject([
      { reason: 'not_in_corpus' },
    ])
    expect(resolve(query, [{ references: [`${ART_6}/1`], allowed: false }, own(`${ART_6}/2`)])).toMatchObject({
      ids: new Map([[1, named(NEARNESS.part)]]),
      unsupported: [],
    })
  })

  test('is withdrawn where a passage of exactly it is, whatever else of its document is left', () => {
    const query = 'Is Article 6 GDPR met?'
    const withdrawn = { references: [ART_6], withdrawn: true }
    for (const rest of [[], [own(ART_6)], [own(`${ART_6}/1`)], [{ references: [ART_6], allowed: false }]])
      expect(resolve(query, [withdrawn, ...rest])).toMatchObject({
        ids: new Map(),
        unsupported: [{ reason: 'withdrawn' }],
      })
    expect(resolve(query, [withdrawn, { references: [ART_6], document: 1 }])).toMatchObject({
      ids: new Map([[1, named(NEARNESS.exact)]]),
      unsupported: [],
    })
  })

  test('is supported by the parts that are left, and withdrawn with the last of them', () => {
    const part = { references: [`${ART_6}/1`], withdrawn: true }
    expect(resolve('Is Article 6 GDPR met?', [part, own(`${ART_6}/2`)]).unsupported).toEqual([])
    for (const query of ['Is Article 6 GDPR met?', 'Is Article 6(1) GDPR met?', 'Does the GDPR apply?'])
      expect(resolve(query, [part]).unsupported, query).toMatchObject([{ reason: 'withdrawn' }])
    expect(resolve('Does the GDPR apply?', [part, own(`${ART_6}/2`)]).unsupported).toEqual([])
  })

  test('that the filters exclude is outside them, withdrawn or not', () => {
    const passage = { references: [ART_6], allowed: false, withdrawn: true }
    expect(resolve('Is Article 6 GDPR met?', [passage]).unsupported).toMatchObject([{ reason: 'outside_filters' }])
  })

  test('named twice is reported once', () => {
    expect(resolve('Article 99 GDPR, I mean Art. 99 GDPR?', [own(ART_6)]).unsupported).toHaveLength(1)
  })

  test('stands beside others: each is looked up for itself', () => {
    const { ids, unsupported } = resolve('Compare Article 6 GDPR with Article 99 GDPR and BEE 1.2.', [
      own(ART_6),
      own('rulebook:bee#1/2'),
    ])
    expect([...ids]).toEqual([
      [0, named(NEARNESS.exact)],
      [1, named(NEARNESS.exact, 2)],
    ])
    expect(unsupported.map(({ normalized }) => normalized)).toEqual(['celex:32016R0679#99'])
  })
})

describe('a provision finer than the corpus is cut', () => {
  const paragraph: Passage = {
    references: [`${ART_6}/1`],
    text: '1.   Processing is lawful only if:\n(a)\nconsent;\n(f)\ninterests.',
  }

  test('is supported by the passage around it that marks it', () => {
    expect(resolve('Article 6(1)(f) GDPR?', [paragraph])).toMatchObject({
      ids: new Map([[0, named(NEARNESS.enclosing)]]),
      unsupported: [],
    })
  })

  test('is not in the corpus where the passage around it does not mark it', () => {
    expect(resolve('Article 6(1)(z) GDPR?', [paragraph])).toMatchObject({
      ids: new Map(),
      unsupported: [{ reason: 'not_in_corpus' }],
    })
  })

  test('is not supported by the act alone, nor by a part beside it', () => {
    const { unsupported } = resolve('Article 7(1)(f) GDPR?', [
      own('celex:32016R0679'),
      { references: ['celex:32016R0679#7/2'], text: '(1)\n(f)' },
    ])
    expect(unsupported).toMatchObject([{ reason: 'not_in_corpus' }])
  })

  test('may leave a level out, as people do', () => {
    expect(resolve('Article 6(f) GDPR?', [paragraph, { references: [`${ART_6}/2`], text: '(a) other' }]).ids).toEqual(
      new Map([[0, named(NEARNESS.enclosing)]]),
    )
    expect(resolve('Article 6(3) GDPR?', [{ ...paragraph, text: '(3)\n(f)' }]).unsupported).toMatchObject([
      { reason: 'not_in_corpus' },
    ])
    expect(resolve('Article 6(g) GDPR?', [paragraph]).unsupported).toMatchObject([{ reason: 'not_in_corpus' }])
  })

  test('is outside the filters where they exclude the passage around it', () => {
    expect(resolve('Article 6(1)(f) GDPR?', [{ ...paragraph, allowed: false }]).unsupported).toMatchObject([
      { reason: 'outside_filters' },
    ])
  })
})

describe('what the query asks about the provisions', () => {
  const asked = (query: string): string =>
    resolve(query, [own(ART_6)])
      .remainder.replaceAll(/\s+/g, ' ')
      .trim()

  test('is the query without its references, held or not, in its own order', () => {
    expect(asked('Does Article 6 GDPR mention pizza?')).toBe('Does mention pizza?')
    expect(asked('Does Article 6 GDPR, unlike Article 99 GDPR, mention pizza?')).toBe('Does , unlike , mention pizza?')
    expect(asked('Article 6 GDPR')).toBe('')
  })

  test('keeps all else of any query, however its references follow each other', () => {
    const parts = fc.constantFrom(
      'Article 6 GDPR',
      'Art. 6(1) GDPR',
      'GDPR',
      '§ 6',
      ' pizza ',
      ' and ',
      ', ',
      '6',
      '(1)',
    )
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 12 }), (chosen) => {
        const remainder = asked(chosen.join(''))
        const pizzas = (text: string): number => text.split('pizza').length
        expect(pizzas(remainder)).toBe(pizzas(chosen.join('')))
        expect(remainder.length).toBeLessThanOrEqual(chosen.join('').length + chosen.length)
      }),
    )
  })
})

describe('what is more than a provision', () => {
  test('a chapter of a rulebook is the rules that its number begins', () => {
    const { ids, unsupported } = resolve('What does Chapter 9 of the BEE Rulebook ask for?', [
      own('rulebook:bee#9/1/1'),
      own('rulebook:bee#1/9'),
    ])
    expect([...ids.keys()]).toEqual([0])
    expect(unsupported).toEqual([])
  })

  test('an appendix of a rulebook is found by the number of its rules alone', () => {
    expect(resolve('Which factor does Rule A6.4.1 set?', [own('rulebook:bee#app6/4/1')]).ids).toEqual(
      new Map([[0, named(NEARNESS.exact, 0, true)]]),
    )
  })

  test('a chapter counts as its act where no passage says in which chapter it stands', () => {
    const query = 'What does Chapter III GDPR grant?'
    expect(resolve(query, [own(`${ART_6}/1`)])).toMatchObject({ ids: new Map(), unsupported: [] })
    expect(resolve(query, [own(`${ART_6}/1`, 'celex:32016R0679#chapter-2')]).unsupported).toMatchObject([
      { reason: 'not_in_corpus' },
    ])
    expect(resolve(query, [own('celex:32016R0679#12/1', 'celex:32016R0679#chapter-3')]).ids).toEqual(
      new Map([[0, named(NEARNESS.exact)]]),
    )
    expect(resolve('What does Annex III GDPR say?', [own(ART_6)]).unsupported).toMatchObject([
      { normalized: 'celex:32016R0679#annex-3' },
    ])
  })

  test('an act is supported by any passage of it, and raises none', () => {
    expect(resolve('What is the General Data Protection Regulation about?', [own(`${ART_6}/1`)])).toMatchObject({
      ids: new Map(),
      unsupported: [],
    })
    expect(
      resolve('What is the General Data Protection Regulation about?', [own('de:bgb#1')]).unsupported,
    ).toMatchObject([{ reason: 'not_in_corpus' }])
  })

  test('a query without references changes nothing', () => {
    const query = 'When must a keeper register a hive?'
    expect(resolve(query, [own(ART_6)])).toEqual({ ids: new Map(), unsupported: [], remainder: query })
  })
})

describe('bounds', () => {
  test('a query of nothing but references is looked up as far as the bound', () => {
    const query = Array.from({ length: EXPLICIT_REFERENCES_MAX + 10 }, (_, n) => `Article ${n + 100} GDPR`).join(', ')
    expect(resolve(query, [own(ART_6)]).unsupported).toHaveLength(EXPLICIT_REFERENCES_MAX)
  })

  test('the nearest rows are kept where a provision holds more than may be raised', () => {
    const many = Array.from({ length: NAMED_ROWS_MAX + 5 }, (_, n) => own(`${ART_6}/${n}`))
    const { ids } = resolve('Article 6 GDPR?', [...many, own(ART_6)])
    expect(ids.size).toBe(NAMED_ROWS_MAX)
    expect(ids.get(many.length)).toEqual(named(NEARNESS.exact))
    expect(ids.has(0)).toBe(true)
    expect(ids.has(many.length - 1)).toBe(false)
  })
})
