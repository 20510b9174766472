import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ancestorsOf, canonicalReference, createActAliases, parseReference } from '#law/citations/parser.ts'
import { CORPUS_ALIASES, readCases } from './cases.ts'

function written(label: string): string | undefined {
  const reference = parseReference(label, CORPUS_ALIASES)
  return reference === undefined ? undefined : canonicalReference(reference)
}

describe('what a publisher writes', () => {
  test.each(readCases('labels'))('$query is $expected', ({ query, expected }) => {
    expect([written(query)]).toEqual(expected)
  })

  test.each(['', '   ', 'Preamble', 'Table of contents', '#', '*', 'Version 2.0.1', '§', 'SECTION II.A.'])(
    '%j names none',
    (label) => {
      expect(written(label)).toBeUndefined()
    },
  )
})

describe('canonical forms', () => {
  test('stand for themselves', () => {
    for (const one of [...readCases('first'), ...readCases('second'), ...readCases('third')]) {
      for (const canonical of one.expected) expect(written(canonical)).toBe(canonical)
    }
  })

  test('a form read from any text is read again as itself', () => {
    const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[a-z*]{1,6}:?[a-zA-Z0-9/#:.-]{0,20}$/))
    const readAgain = (text: string): void => {
      const canonical = written(text)
      expect(canonical === undefined ? undefined : written(canonical)).toBe(canonical)
    }
    expect(() => fc.assert(fc.property(texts, readAgain), { numRuns: 2000 })).not.toThrow()
  })

  test('the ancestors are the provisions above, nearest first, then the act when it is known', () => {
    const ancestors = (act: string | undefined): string[] =>
      ancestorsOf({ act, path: ['2', 'g', '1'] }).map(canonicalReference)
    expect(ancestors('cfr:12/1003')).toEqual(['cfr:12/1003#2/g', 'cfr:12/1003#2', 'cfr:12/1003'])
    expect(ancestors(undefined)).toEqual(['*#2/g', '*#2'])
    expect(ancestorsOf({ act: 'de:bgb', path: [] })).toEqual([])
  })

  test('a passage named by its chapter, section or rule is found through the ancestors of its label', () => {
    const ancestorsOfLabel = (label: string): string[] => {
      const reference = parseReference(label, CORPUS_ALIASES)
      return reference === undefined ? [] : ancestorsOf(reference).map(canonicalReference)
    }
    expect(ancestorsOfLabel('AML 9.5.1.Guidance.6.')).toEqual(
      expect.arrayContaining([written('AML Rule 9.5.1'), written('Chapter 9 of the AML Rulebook')]),
    )
    expect(ancestorsOfLabel('PRU APP4.A4.7.22')).toContain(written('Appendix 4 of PRU'))
    expect(ancestorsOfLabel('12 CFR 1026.43(c)(4)')).toContain(written('Regulation Z § 1026.43'))
    expect(parseReference('BGB § 433', createActAliases([]))).toEqual({ act: 'de:bgb', path: ['433'] })
  })
})
