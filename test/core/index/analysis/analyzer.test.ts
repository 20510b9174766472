import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { analyze, analyzeQuestion, createAnalyzer, primaryLanguage } from '#core/index/analysis/analyzer.ts'

describe('the terms of a text', () => {
  test.each([
    ['en', ['notify', 'notifies', 'notified', 'notifying', 'NOTIFY']],
    ['en', ['company', 'companies', "company's"]],
    ['de', ['Vertrag', 'Vertrages', 'Verträge', 'Verträgen']],
    ['de', ['Kündigung', 'Kündigungen', 'KUENDIGUNG'.replace('UE', 'Ü')]],
    ['fr', ['condamné', 'condamnée', 'condamnées', 'condamnes']],
    ['fr', ['obligation', 'obligations', 'l’obligation']],
    ['es', ['notificación', 'notificaciones', 'notificacion']],
    ['it', ['contratto', 'contratti']],
    ['nl', ['verplichting', 'verplichtingen']],
    ['pt', ['contrato', 'contratos']],
    ['sv', ['skyldighet', 'skyldigheter']],
  ])('fold the inflections of a word together, in %s: %j', (language, inflections) => {
    expect(new Set(inflections.map((word) => analyze(word, language).join(' ')))).toHaveLength(1)
  })

  test('keep legal tokens whole and give the provisions around them besides', () => {
    expect(analyze('12 CFR 1003.2(g)(1)', 'en')).toEqual(['12', 'cfr', '1003.2(g)(1)', '1003.2(g)', '1003.2'])
    expect(analyze('§ 433', 'de')).toEqual(['433'])
    expect(analyze('32024R1689', 'en')).toContain('32024r1689')
    expect(analyze('Regulation (EU) 2016/679', 'en')).toContain('2016/679')
  })

  test('leave out the function words of their own language only', () => {
    expect(analyze('the car of die Stadt', 'en')).toEqual(['car', 'die', 'stadt'])
    expect(analyze('die Stadt car', 'de')).toEqual(['stadt', 'car'])
    expect(analyze('car la ville', 'fr')).toEqual(['vill'])
  })

  test('are the folded words in a language without a stemmer', () => {
    expect(analyze('Συμβάσεις договоры', 'el')).toEqual(['συμβασεις', 'договоры'])
  })

  test('of scripts without spaces are pairs of neighbouring characters', () => {
    expect(analyze('個人データ', 'ja')).toEqual(['個人', '人デ', 'デー', 'ータ'])
    expect(analyze('法', 'zh')).toEqual(['法'])
  })

  test('are never empty, never longer than 192 bytes, and well-formed, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 400 }),
        fc.constantFrom('en', 'de', 'fr', 'es', 'xx'),
        (text, language) => {
          for (const term of analyze(text.repeat(3), language)) {
            expect(Buffer.byteLength(term)).toBeGreaterThan(0)
            expect(Buffer.byteLength(term)).toBeLessThanOrEqual(192)
            expect(term.isWellFormed()).toBe(true)
          }
        },
      ),
    )
    expect(
      analyze('𝔸'.normalize('NFC').repeat(3) + '𠮷'.repeat(200) + 'a'.repeat(500), 'en').every(
        (term) => term.length <= 64,
      ),
    ).toBe(true)
  })
})

test('an analyzer that remembers words gives the same terms, in languages turn about', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.lorem(), fc.constantFrom('en', 'de', 'fr', 'en-GB')), { maxLength: 20 }),
      (texts) => {
        const remembering = createAnalyzer()
        for (const [text, language] of texts) expect(remembering(text, language)).toEqual(analyze(text, language))
      },
    ),
  )
})

describe('the words of a question', () => {
  test('stand for their terms in every language that the version holds, once each', () => {
    const { words } = analyzeQuestion('Are services notified, notifying services?', ['en', 'de'])
    expect(
      words.map(({ word, count, terms }) => [word, count, ...terms.map((each) => Object.values(each).join(':'))]),
    ).toEqual([
      ['are', 1, 'de:are'],
      ['services', 2, 'en:servic', 'de:servic'],
      ['notified', 1, 'en:notifi', 'de:notified'],
      ['notifying', 1, 'en:notifi', 'de:notifying'],
    ])
  })

  test('of function words only are none', () => {
    expect(analyzeQuestion('what is it that was there', ['en']).words).toEqual([])
  })

  test('cover every term that the same text is indexed under', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            'Verträge',
            'notified',
            '33(1)(a)(ii)',
            '32024R1689',
            'données',
            'the',
            '個人データ',
            '75,000',
          ),
          { maxLength: 12 },
        ),
        (parts) => {
          for (const language of ['en', 'de', 'fr']) {
            const looked = analyzeQuestion(parts.join(' '), [language]).words.flatMap(({ terms }) =>
              terms.map(({ term }) => term),
            )
            expect(new Set(looked)).toEqual(new Set(analyze(parts.join(' '), language)))
          }
        },
      ),
    )
  })

  test('are bounded, and so is the time that a question of many costs', () => {
    const many = Array.from({ length: 5_000 }, (_, n) => `word${n}`).join(' ')
    expect(analyzeQuestion(many, ['en', 'de', 'fr']).words).toHaveLength(256)
  })
})

test('languages are told apart by their primary subtag', () => {
  expect(['de-AT', 'DE', 'de'].map(primaryLanguage)).toEqual(['de', 'de', 'de'])
})

test('the lists of function words are those of the languages they are used for', () => {
  for (const [language, own] of [
    ['en', ['which', 'shall']],
    ['de', ['welche', 'nicht']],
    ['fr', ['lesquelles', 'pas']],
  ] as const)
    for (const other of ['en', 'de', 'fr'])
      expect(own.every((word) => analyze(word, other).length === 0)).toBe(other === language)
})
