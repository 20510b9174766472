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
    ['a tab and a line end', 'Article\t6\n', 'Article 6'],
  ])('has %s', (_what, one, other) => {
    expect(foldKey(one)).toBe(foldKey(other))
  })

  const codes = (...all: readonly number[]): readonly (readonly [string, string])[] =>
    all.map((code) => [`U+${code.toString(16).padStart(4, '0').toUpperCase()}`, String.fromCodePoint(code)])

  test.each(
    codes(
      ...[0x05_8a, 0x05_be, 0x14_00, 0x18_06, 0x20_10, 0x20_11, 0x20_12, 0x20_13, 0x20_14, 0x20_15, 0x20_43, 0x22_12],
      ...[0x2e_17, 0x2e_3a, 0x30_1c, 0xfe_31, 0xfe_58, 0xfe_63, 0xff_0d],
    ),
  )('has the dash %s', (_name, dash) => {
    expect(foldKey(`§ 5${dash}1`)).toBe(foldKey('§ 5-1'))
  })

  test.each(
    codes(
      ...[0x00_ad, 0x03_4f, 0x06_1c, 0x18_0e, 0x20_0b, 0x20_0c, 0x20_0d, 0x20_0e, 0x20_0f, 0x20_2a, 0x20_60, 0x20_66],
      ...[0xfe_0f, 0xfe_ff, 0xff_f9, 0x1_d1_73, 0xe_00_20, 0xe_01_00],
    ),
  )('has the invisible character %s', (_name, invisible) => {
    expect(foldKey(`Se${invisible}cond${invisible}`)).toBe(foldKey('second'))
  })

  test.each(
    codes(0x00_09, 0x00_0a, 0x00_0b, 0x00_85, 0x00_a0, 0x16_80, 0x20_07, 0x20_09, 0x20_28, 0x20_2f, 0x20_5f, 0x30_00),
  )('has the white space %s', (_name, space) => {
    expect(foldKey(`General${space}${space}rules 1`)).toBe(foldKey('general rules 1'))
  })
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
