import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compilePattern, patternFault } from '#law/import/mapping/pattern.ts'

/** At 100,000 characters each cost between 100 and 900 ms. */
const COSTLY = [
  '(?i)(?:k|ſ|\\pL){1,240}9',
  '(?i)([\\p{L}\\s]*)a([\\p{L}\\s]{0,150})z',
  '[ab]{1,60}z',
  '^(?s).*a.{60}z',
  '\\pL{45}9',
]

describe('a pattern', () => {
  test.each([
    '^[^_]{0,200}_{2,}$',
    'a long literal that is not active as a whole, whatever the text before it is, and is cheap',
    '^(?:a long literal|another of them|a third one, which is the longest) [a-z]+ and what follows it$',
  ])('that is long, but cheap at each character, is allowed: %s', (source) => {
    expect(patternFault(source)).toBeUndefined()
  })

  test('matches as a regular expression with flag u does, wherever both know the syntax', () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '.',
      '[ab]',
      '[^a]',
      '\\d',
      '\\w',
      '\\p{L}',
      '\\P{L}',
      'é',
      '🐝',
      '(a)',
      '(?:b)',
    )
    const quantified = fc
      .tuple(atom, fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,2}', '*?', '+?', '??'))
      .map((parts) => parts.join(''))
    const source = fc
      .tuple(fc.constantFrom('', '^'), fc.array(quantified, { minLength: 1, maxLength: 5 }), fc.constantFrom('', '$'))
      .map(([start, parts, end]) => `${start}${parts.join('')}${end}`)
    const text = fc
      .array(fc.constantFrom('a', 'b', '1', ' ', 'é', '🐝', '_'), { maxLength: 12 })
      .map((all) => all.join(''))
    fc.assert(
      fc.property(source, text, (written, subject) => {
        const expected = new RegExp(written, 'u').exec(subject)
        const pattern = compilePattern(written)
        const found = pattern.exec(subject)
        expect(pattern.test(subject)).toBe(expected !== null)
        expect(found?.(0)).toBe(expected?.[0])
        expect(found?.(1)).toBe(expected?.[1])
      }),
      { numRuns: 2_000 },
    )
  })

  test.each(['(a*)*b', '(a|aa)+$', '(a+)+b', '(.*)(.*)(.*)b', '^(([a-z])+.)+[A-Z]([a-z])+$', '(?:a?){12}a{12}b'])(
    'is not exponential: %s',
    (source) => {
      const pattern = compilePattern(source)
      const text = 'a'.repeat(20_000)
      expect(pattern.test(text)).toBe(source === '(a|aa)+$')
      expect(pattern.exec(text) !== undefined).toBe(source === '(a|aa)+$')
    },
  )

  test.each([
    '(?=a)',
    '(?!a)',
    '(?<=a)b',
    '(?<!a)b',
    '(a)\\1',
    '(?<x>a)\\k<x>',
    'a**',
    '[',
    '(?:.{400}){2}',
    ...COSTLY,
  ])('that cannot be matched in linear time, or is none, is refused with a reason: %s', (source) => {
    expect(patternFault(source)).toMatch(/^(has .+ at `.+`; write it in RE2 syntax|is too large: )/)
  })
})
