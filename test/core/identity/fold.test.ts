import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foldKey } from '#core/identity/fold.ts'

describe('one key', () => {
  test.each([
    ['letter case', 'COB-M 2.1', 'cob-m 2.1'],
    ['a German ß in capitals', 'STRASSE 5', 'Straße 5'],
    ['a long s', 'Geſetz', 'Gesetz'],
    ['a Greek sigma at the end', 'ΝΟΜΟΣ', 'νομοσ'],
    ['Turkish capitals', 'KISIM İKİ', 'kısım iki'],
    ['full-width letters and figures', 'ＣＯＢ－Ｍ　２．１', 'COB-M 2.1'],
    ['a ligature', 'ﬁling', 'filing'],
    ['a composed and a decomposed letter', 'Verträge', 'Vertra\u0308ge'],
    ['no space after a section sign', '§5-1', '§ 5-1'],
    ['two spaces', '§  5-1', '§ 5-1'],
    ['spaces at both ends', ' § 5-1 ', '§ 5-1'],
    ['spaces around a dash', '§ 5 - 1', '§ 5-1'],
    ['no space before a number', 'COB-M2.1', 'COB-M 2.1'],
    ['a space before a bracket', '§ 33 (1)', '§ 33(1)'],
    ['a space after a full stop', 'Art. 6', 'Art.6'],
    ['no full stop after an abbreviation', 'Art. 6', 'Art 6'],
    ['no full stop at its end', 'GEN 8.4.1.', 'GEN 8.4.1'],
    ['a curved apostrophe', 'l’article 3', "l'article 3"],
    ['Cyrillic capitals that look Latin', 'СОВ 2.1', 'COB 2.1'],
    ['Greek capitals that look Latin', 'ΑΜΟ 2', 'AMO 2'],
    ['a Cyrillic letter in a Latin word', 'Аrticle 6', 'Article 6'],
    ['a tab and a line end', 'Article\t6\n', 'Article 6'],
  ])('has %s', (_what, one, other) => {
    expect(foldKey(one)).toBe(foldKey(other))
  })

  const codes = (all: string): readonly (readonly [string, string])[] =>
    all.split(' ').map((code) => [`U+${code}`, String.fromCodePoint(Number.parseInt(code, 16))])

  test.each(codes('058A 05BE 1400 1806 2010 2011 2012 2013 2014 2015 2043 2212 2E17 2E3A 301C FE31 FE58 FE63 FF0D'))(
    'has the dash %s',
    (_name, dash) => {
      expect(foldKey(`§ 5${dash}1`)).toBe(foldKey('§ 5-1'))
    },
  )

  test.each(codes('00AD 034F 061C 180E 200B 200C 200D 200E 200F 202A 2060 2066 FE0F FEFF FFF9 1D173 E0020 E0100'))(
    'has the invisible character %s',
    (_name, invisible) => {
      expect(foldKey(`Se${invisible}cond${invisible}`)).toBe(foldKey('second'))
    },
  )

  test.each(codes('0009 000A 000B 0085 00A0 1680 2007 2009 2028 202F 205F 3000'))(
    'has the white space %s',
    (_name, space) => {
      expect(foldKey(`General${space}${space}rules 1`)).toBe(foldKey('general rules 1'))
    },
  )
})

describe('two keys', () => {
  test.each([
    ['a lettered section and its letter', '§ 5a', '§ 5 a'],
    ['numbers that a space separates', '1 11', '11 1'],
    ['words that a space separates', 'can not', 'cannot'],
    ['numbers that a dash separates', '5-1', '51'],
    ['numbers that a full stop separates', '2.11', '21.1'],
    ['a letter with and without its mark', 'Türe', 'Ture'],
    ['a bracketed number', '33(1)', '331'],
    ['a raised digit and a digit', '18³', '183'],
    ['words of other scripts that look like no Latin word', 'Закон', 'Закони'],
  ])('are %s', (_what, one, other) => {
    expect(foldKey(one)).not.toBe(foldKey(other))
  })
})

test('the form of a form is itself, whatever is written', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(foldKey(foldKey(text))).toBe(foldKey(text))
    }),
    { numRuns: 3_000 },
  )
})

test('invisible characters, case and width change no key, whatever is written', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (before, after) => {
      expect(foldKey(`${before}\u200b${after}`)).toBe(foldKey(before + after))
      expect(foldKey(before.toUpperCase())).toBe(foldKey(before.toLowerCase()))
    }),
  )
})
