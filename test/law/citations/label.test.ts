import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ancestorsOf, canonicalReference, createActAliases, parseReference } from '#law/citations/parser.ts'
import { CORPUS_ALIASES, readCases } from './cases.ts'

function written(label: string): string | undefined {
  const reference = parseReference(label, CORPUS_ALIASES)
  return reference === undefined ? undefined : canonicalReference(reference)
}

describe('what a publisher writes', () => {
  test.each([
    ['12 CFR 1003.2(g)(1)', 'cfr:12/1003#2/g/1'],
    ['12 CFR Part 1003', 'cfr:12/1003'],
    ['12 CFR 1005.20(c), unnumbered paragraph 2', 'cfr:12/1005#20/c'],
    ['12 CFR Part 1003, Supplement I, Comment 1003.2(g)-1', 'cfr:12/1003#comment/2/g/-1'],
    ['12 CFR Part 1002, Appendix C-5, paragraph 53', 'cfr:12/1002#appendix-c-5/53'],
    ['15 U.S.C. 1681a(d)', 'usc:15#1681a/d'],
    ['celex:32016R0679 art 6(1)(f)', 'celex:32016R0679#6/1/f'],
    ['Regulation (EU) 2016/679 Article 6(1)', 'celex:32016R0679#6/1'],
    ['Regulation (EU) 2016/679 Recital 12', 'celex:32016R0679#recital-12'],
    ['Regulation (EU) 2024/1689, Annex III, item 1', 'celex:32024R1689#annex-3/1'],
    ['Regulation (EU) No 910/2014 Article 5c(2)', 'celex:32014R0910#5c/2'],
    ['02014R0910-20241018', 'celex:32014R0910'],
    ['celex:02014R0910-20241018', 'celex:32014R0910'],
    ['http://data.europa.eu/eli/reg/2016/679', 'celex:32016R0679'],
    ['http://data.europa.eu/eli/reg/2016/679/art_6/par_1/pnt_f', 'celex:32016R0679#6/1/f'],
    ['http://data.europa.eu/eli/reg_del/2024/1774/oj', 'celex:32024R1774'],
    ['https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=CELEX:32022L2555', 'celex:32022L2555'],
    ['http://www.legislation.gov.uk/id/ukpga/2018/12/section/12/1', 'ukpga:2018/12#12/1'],
    ['https://www.legislation.gov.uk/uksi/2017/692/regulation/18', 'uksi:2017/692#18'],
    ['https://www.legislation.gov.uk/ukpga/2018/12/schedule/2/paragraph/5', 'ukpga:2018/12#schedule-2/5'],
    ['BGB § 433', 'de:bgb#433'],
    ['GG Art. 5', 'de:gg#5'],
    ['Code civil, article 515-14', 'fr:code-civil#515-14'],
    ['AML 6.4.3.(1)', 'rulebook:aml#6/4/3/1'],
    ['COBS 21.5.Guidance.7.', 'rulebook:cobs#21/5/guidance/7'],
    ['PRU APP3.A3.9.1', 'rulebook:pru#app3/9/1'],
    ['FSMR Part 8.77.(1)', 'rulebook:fsmr#77/1'],
    ['FSMR Schedule 2.Chapter 3.41.', 'rulebook:fsmr#schedule-2/41'],
    ['FUNDS PART 4.11.2.Guidance.3', 'rulebook:funds#11/2/guidance/3'],
    ['Fees Rules (FEES) 2.8.4', 'rulebook:fees#2/8/4'],
    ['GEN Rule 5.7', 'rulebook:gen#5/7'],
    ['COB-F 2.1', 'rulebook:cob-f#2/1'],
    ['AML 18³', 'rulebook:aml#18^3'],
    ['AML 6-bis', 'rulebook:aml#6bis'],
    ['recital 26', '*#recital-26'],
    ['SEC. 2', '*#2'],
    ['Annex XI, Article 3', '*#annex-11/3'],
    ['Schedule 1, paragraph 10', '*#schedule-1/10'],
    ['paragraph 4 of the Schedule', '*#schedule/4'],
    ['Annex', '*#annex'],
    ['Art. 6-bis', '*#6bis'],
    ['42 U.S.C. 254l–1 note', 'usc:42#254l-1-note'],
    ['Art. 229 § 5 EGBGB', 'de:egbgb#229/5'],
  ])('%s is %s', (label, expected) => {
    expect(written(label)).toBe(expected)
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
