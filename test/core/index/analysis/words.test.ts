import { describe, expect, test } from 'vitest'
import { fold, words } from '#core/index/analysis/words.ts'

describe('words of a text', () => {
  test('keep legal references whole and also give the number before the brackets', () => {
    expect(words('See § 1005.34(a)(1), Art. 33(1) and Regulation (EU) 2016/679, § 5a.')).toEqual([
      'see',
      '1005.34(a)(1)',
      '1005.34',
      'art',
      '33(1)',
      '33',
      'and',
      'regulation',
      'eu',
      '2016/679',
      '5a',
    ])
  })

  test('are the same however thousands are grouped with commas', () => {
    expect(words('75,000 crowns')).toEqual(words('75000 crowns'))
  })

  test('lose possessives and French elisions, with straight and curly apostrophes', () => {
    expect(words("the firm's file")).toEqual(['the', 'firm', 'file'])
    expect(words('l’article qu’il')).toEqual(['article', 'il'])
  })

  test('give the parts of hyphenated words', () => {
    expect(words('anti-money-laundering')).toEqual(['anti', 'money', 'laundering'])
  })

  test('of punctuation alone are none', () => {
    expect(words('… ?! — § ')).toEqual([])
  })

  test('keep scripts without case and characters outside the basic plane whole', () => {
    expect(words('個人データ 𝔸𠮷 Ἀθῆναι')).toEqual(['個人データ', 'a𠮷', 'αθηναι'])
  })
})

describe('folding', () => {
  test('joins composed, decomposed, full-width and upper-case spellings', () => {
    expect(fold('Vertra\u0308ge')).toBe(fold('VERTRÄGE'))
    expect(fold('Ｒｕｌｅ ７')).toBe('rule 7')
    expect(fold('Straße')).toBe(fold('STRASSE'))
  })

  test('does not follow the Turkish dotless i, whatever the locale of the machine', () => {
    expect(fold('IDENTITY')).toBe('identity')
    expect(fold('İdentity')).toBe('identity')
  })

  test('is idempotent and accepts lone surrogates', () => {
    for (const text of ['Œuvre', 'İstanbul', 'ﬁnance', 'a\ud800b', 'soft\u00adhyphen', '각하'])
      expect(fold(fold(text))).toBe(fold(text))
  })
})
