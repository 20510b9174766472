import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalReference, createActAliases, referencesIn } from '#law/citations/parser.ts'
import { cpuMs } from '#test/support/processes.ts'
import PIECES from './cases/pieces.json' with { type: 'json' }
import { CORPUS_ALIASES, readCases, readLanguageCases, type Case } from './cases.ts'

const CASES = [...readCases('first'), ...readCases('second'), ...readCases('third'), ...readCases('fourth')]
const FAMILIES = ['us', 'eu', 'uk', 'de', 'fr', 'rulebook']
const NO_ALIASES = createActAliases([])

function namesOf(query: string, aliases = CORPUS_ALIASES): string[] {
  return referencesIn(query, aliases).certain.map(({ reference }) => canonicalReference(reference))
}

/** Over references, not over cases: each named one is right or wrong, each expected one found or not. */
function score(cases: readonly Case[]) {
  let right = 0
  let found = 0
  let expected = 0
  const misses: string[] = []
  for (const one of cases) {
    const names = namesOf(one.query)
    const left = [...names]
    for (const name of one.expected) {
      const index = left.indexOf(name)
      if (index >= 0) left.splice(index, 1)
    }
    right += names.length - left.length
    found += names.length
    expected += one.expected.length
    if (left.length > 0 || names.length < one.expected.length)
      misses.push(`${one.query}: expected [${one.expected.join(' ')}], named [${names.join(' ')}]`)
  }
  return { precision: right / found, recall: right / expected, misses }
}

describe('on the table of written cases', () => {
  test('there are at least 300 different queries, 100 of them hard negatives, and every family has both', () => {
    expect(new Set(CASES.map((one) => one.query)).size).toBeGreaterThanOrEqual(300)
    expect(CASES.filter((one) => one.expected.length === 0).length).toBeGreaterThanOrEqual(100)
    for (const family of FAMILIES) {
      const own = CASES.filter((one) => one.family === family)
      expect(own.filter((one) => one.expected.length === 0).length).toBeGreaterThanOrEqual(10)
      expect(own.filter((one) => one.expected.length > 0).length).toBeGreaterThanOrEqual(20)
    }
    expect(new Set(CASES.map((one) => one.family))).toEqual(new Set(FAMILIES))
  })

  test.each(['all', ...FAMILIES])('precision and recall are at least 0.95 each: %s', (family) => {
    const result = score(CASES.filter((one) => family === 'all' || one.family === family))
    const figures = `precision ${result.precision.toFixed(3)}, recall ${result.recall.toFixed(3)}`
    const report = [`${family}: ${figures}`, ...result.misses].join('\n  ')
    if (result.misses.length > 0) console.log(report)
    expect(result.precision, report).toBeGreaterThanOrEqual(0.95)
    expect(result.recall, report).toBeGreaterThanOrEqual(0.95)
  })

  test('numerals, letters, parts and ranges of numbers, plain sections and clauses after a provision are read', () => {
    for (const { query, expected } of readCases('fifth'))
      expect(namesOf(query).toSorted(), query).toEqual(expected.toSorted())
  })

  test('a text that states law takes no act from afar; acts by year, lists, remarks and divisions are read', () => {
    for (const { query, expected } of readCases('sixth'))
      expect(namesOf(query).toSorted(), query).toEqual(expected.toSorted())
  })

  test('letters apart, numbers in brackets, short words for acts and the names of kinds of acts are read', () => {
    for (const { query, expected } of readCases('seventh'))
      expect(namesOf(query).toSorted(), query).toEqual(expected.toSorted())
  })

  test('a name is read to its end: numbers that go on, places, longer names, and what is attached to a provision', () => {
    for (const { family, query, expected } of readCases('names'))
      expect(namesOf(query).toSorted(), `${family}: ${query}`).toEqual(expected.toSorted())
  })

  test('names of a version in a language without a grammar are read, and those of acts that it lacks are names', () => {
    const cases = readLanguageCases()
    expect(new Set(cases.map(({ family }) => family)).size).toBeGreaterThanOrEqual(23)
    for (const { family, query, expected, aliases } of cases)
      expect(namesOf(query, aliases).toSorted(), `${family}: ${query}`).toEqual(expected.toSorted())
  })

  test('case, kinds of space and compatibility characters do not matter', () => {
    const spaced = 'Article\u00a06(1)(f)\u202fGDPR'
    for (const query of [
      spaced,
      'article 6(1)(f) gdpr',
      'ARTICLE 6(1)(f) GDPR',
      'Ａｒｔｉｃｌｅ ６（１）（f） GDPR',
      'Art\u00adicle \u200e6 (1) (f) GDPR',
    ]) {
      expect(namesOf(query), query).toEqual(['celex:32016R0679#6/1/f'])
    }
  })
})

describe('acts of the corpus', () => {
  test('a short code names a provision only where the corpus has it as an alias', () => {
    expect(namesOf('COBS 3.4.1')).toEqual(['rulebook:cobs#3/4/1'])
    expect(referencesIn('COBS 3.4.1', NO_ALIASES).certain).toEqual([])
  })

  test('the corpus decides what a well-known name stands for', () => {
    const aliases = createActAliases([['GDPR', 'eur:2016/679']])
    expect(
      referencesIn('Article 6 GDPR', aliases).certain.map(({ reference }) => canonicalReference(reference)),
    ).toEqual(['eur:2016/679#6'])
  })

  test('one alias for two acts means the same whatever the order they come in', () => {
    const entries: [string, string][] = [
      ['Blue Book', 'rulebook:b'],
      ['Blue Book', 'rulebook:a'],
    ]
    const acts = [entries, entries.toReversed()].map(
      (order) => referencesIn('Blue Book 1.2', createActAliases(order)).certain[0]?.reference.act,
    )
    expect(acts).toEqual(['rulebook:a', 'rulebook:a'])
  })

  test('a section takes the part it is numbered under as its act, where the corpus has that part', () => {
    const aliases = createActAliases([['Regulation S-P', 'cfr:17/248']])
    expect(referencesIn('§ 248.30(a)', aliases).certain.map(({ reference }) => canonicalReference(reference))).toEqual([
      'cfr:17/248#30/a',
    ])
    expect(
      referencesIn('§ 248.30(a)', NO_ALIASES).certain.map(({ reference }) => canonicalReference(reference)),
    ).toEqual(['*#248/30/a'])
  })
})

describe('an unresolved act: one whose name no table holds', () => {
  const OWN = readCases('fourth')

  test('is an act of its own, wherever it stands and however it is written; standards and contracts are none', () => {
    expect(OWN.filter(({ expected }) => expected.some((name) => /^(?:name|de|fr):/.test(name))).length).toBeGreaterThan(
      40,
    )
    expect(OWN.filter(({ expected }) => expected.length === 0).length).toBeGreaterThan(35)
    for (const { query, expected } of OWN) expect(namesOf(query).toSorted(), query).toEqual(expected.toSorted())
  })

  test('is the listed act where the corpus lists the name, also in other figures or in the genitive', () => {
    const aliases = createActAliases([
      ['Solvency II', 'celex:32009L0138'],
      ['AGB', 'bank:terms'],
      ['Arbeitszeitgesetz', 'de:arbzg'],
      ['EMRK', 'coe:echr'],
      ['SGB 4', 'de:sgb4'],
      ['Public Law 115–999', 'rulebook:public-law115-999'],
    ])
    const read = (query: string): string[] =>
      referencesIn(query, aliases).certain.map(({ reference }) => canonicalReference(reference))
    expect(read('Solvency 2 Article 28')).toEqual(['celex:32009L0138#28'])
    expect(read('§ 4 AGB')).toEqual(['bank:terms#4'])
    expect(read('§ 4 der AGB')).toEqual(['bank:terms#4'])
    expect(read('§ 3 des Arbeitszeitgesetzes')).toEqual(['de:arbzg#3'])
    expect(read('Art. 8 EMRK')).toEqual(['coe:echr#8'])
    for (const name of ['SGB IV', 'Viertes Buch Sozialgesetzbuch', 'des Vierten Buches Sozialgesetzbuch'])
      expect(read(`§ 7 ${name}`), name).toEqual(['de:sgb4#7'])
    for (const query of ['section 2 of Public Law 115-999', 'Pub. L. 115–999, § 2', 'Pub. L. No. 115-999 § 2'])
      expect(read(query), query).toEqual(['rulebook:public-law115-999#2'])
  })
})

/** Pieces of references and of prose, joined and separate, so that random texts resemble the grammar. */
const NEARLY_LEGAL = fc
  .array(
    fc.oneof(
      fc.constantFrom(...PIECES.near),
      fc.nat(9999).map(String),
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constant(' '),
    ),
    { maxLength: 60 },
  )
  .map((pieces) => pieces.join(''))

describe('on any text', () => {
  test('references stand in order without overlap, and their text is what the query has there', () => {
    fc.assert(
      fc.property(
        fc.oneof(NEARLY_LEGAL, fc.string({ unit: 'binary' }), fc.constantFrom(...CASES.map((one) => one.query))),
        (query) => {
          let end = 0
          for (const found of referencesIn(query, CORPUS_ALIASES).certain) {
            expect(found.start).toBeGreaterThanOrEqual(end)
            expect(found.end).toBeGreaterThan(found.start)
            expect(found.text).toBe(query.slice(found.start, found.end))
            expect(canonicalReference(found.reference)).toMatch(/^\S+$/)
            end = found.end
          }
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('surrounding prose changes nothing', () => {
    for (const one of CASES)
      expect(namesOf(`Please tell me: ${one.query} Thanks`), one.query).toEqual(namesOf(one.query))
  })

  test('time grows with the length, not with its square', () => {
    for (const piece of PIECES.repeated) {
      const timeMs = (length: number): number => {
        const query = piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
        const times = [0, 1, 2, 3, 4].map(() => cpuMs(() => referencesIn(query, CORPUS_ALIASES).certain))
        return Math.min(...times)
      }
      // Sixteen times the text: quadratic time would take 256 times as long, however often it is measured.
      let ratio = Infinity
      for (let round = 0; round < 4 && ratio >= 80; round++) {
        const short = timeMs(2_000)
        expect(short, piece).toBeLessThan(100)
        ratio = Math.min(ratio, timeMs(32_000) / Math.max(short, 1))
      }
      expect(ratio, piece).toBeLessThan(80)
    }
  })
})
