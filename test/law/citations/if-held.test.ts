import { describe, expect, test } from 'vitest'
import { canonicalReference, createActAliases, referencesIn } from '#law/citations/parser.ts'

const ALIASES = createActAliases([['Code civil', 'fr:code-civil']])

function ifHeld(query: string): readonly string[] {
  return referencesIn(query, ALIASES).ifHeld.map(({ reference }) => canonicalReference(reference))
}

describe('a number without a word for its kind', () => {
  test('may be a provision of the act beside it, or a section of a part of the corpus', () => {
    for (const [query, expected] of [
      ['GDPR 17', ['celex:32016R0679#17']],
      ['GDPR 17: erasure', ['celex:32016R0679#17']],
      ['dora 6', ['celex:32022R2554#6']],
      ['BGB 280 Schadensersatz', ['de:bgb#280']],
      ['Erkläre mir 433 BGB', ['de:bgb#433']],
      ['Pflichten nach 433 II BGB', ['de:bgb#433/2']],
      ['433 Abs. 1 BGB', ['de:bgb#433/1']],
      ['613a BGB', ['de:bgb#613a']],
      ['C. civ. 1382', ['fr:code-civil#1382']],
      ['1382 du code civil', ['fr:code-civil#1382']],
      ['Que dit le code civil 1382 ?', ['fr:code-civil#1382']],
      ['1009.3 disclosures', ['cfr:12/1009#3']],
      ['What does 1005.10 say?', ['cfr:12/1005#10']],
      ['Reg E error resolution 1005.11', ['cfr:12/1005#11']],
      ['art 1147 responsabilité contractuelle', ['*#1147']],
      ['article 720 ouverture des successions', ['*#720']],
    ] as const)
      expect(ifHeld(query), query).toEqual(expected)
  })

  test('may be one of a short code of the corpus; with three digits, or raised ones of its own, it is one', () => {
    const aliases = createActAliases([['SC', 'rulebook:sc']])
    for (const [query, certain, ifHeldOnly] of [
      ['What does SC 18³ say?', ['rulebook:sc#18^3'], []],
      ['SC 18³ or SC 183', ['rulebook:sc#18^3', 'rulebook:sc#183'], []],
      ['What does SC 183 say?', ['rulebook:sc#183'], []],
      ['SC 100 crowns', [], ['rulebook:sc#100']],
      ['SC 6-bis', [], ['rulebook:sc#6bis']],
      ['SC 30 days', [], []],
    ] as const) {
      const found = referencesIn(query, aliases)
      expect(
        found.certain.map(({ reference }) => canonicalReference(reference)),
        query,
      ).toEqual(certain)
      expect(
        found.ifHeld.map(({ reference }) => canonicalReference(reference)),
        query,
      ).toEqual(ifHeldOnly)
    }
  })

  test('is none where it counts, measures, or is a year, a part or an amount', () => {
    for (const query of [
      'GDPR 30 days',
      'Which GDPR 7 principles are there?',
      'GDPR 2018',
      'Was galt 1900 im BGB?',
      'Das Code civil 1804',
      'Was sagt Absatz 1 BGB?',
      'Satz 2 BGB',
      'Die 5 BGB-Fälle der Klausur',
      'The zip code is 1003.2 miles away, says the app.',
      'It costs $1005.10.',
      'We paid 1005.33 dollars',
      'Version 1.5 of the app',
    ])
      expect(ifHeld(query), query).toEqual([])
  })
})

describe('an article in small letters without an act', () => {
  test('may be one of the corpus where the words about it ask', () => {
    for (const [query, expected] of [
      ['Testament olographe art. 970 conditions de validité', ['*#970']],
      ['Comment conclure un PACS ? art. 515-3', ['*#515-3']],
      ['testament olographe, article 970', ['*#970']],
      ['article 970 : quelles conditions ?', ['*#970']],
      ['Divorce, art. 229 et 230', ['*#229', '*#230']],
      ['what does article 6 say about consent?', ['*#6']],
      ['is article 35(3) about cameras?', []],
      ['was regelt artikel 17 für Kunden?', ['*#17']],
      ['Löschung (art. 17)', ['*#17']],
    ] as const)
      expect(ifHeld(query), query).toEqual(expected)
    expect(referencesIn('is article 35(3) about cameras?', ALIASES).certain).toHaveLength(1)
  })

  test('is none where the words name another thing, a non-statutory source or an act, or state law', () => {
    for (const query of [
      'The article 5 colleagues wrote won a prize.',
      'The leather article 7 days old was returned.',
      'He is in year 10 and studies art 3 hours a day.',
      'article 5 of the newspaper on data leaks',
      'article 12 de nos CGV',
      "l'article 4 ci-dessus",
      'voir art. 3 du bail commercial',
      'la norme ISO 9001 art. 7.5',
      'art. 8 EMRK',
      'Que dit le Code civil, et le code de commerce, art. 970 ?',
      'Les parts qui sont attribuées en vertu de art. 970 sont partagées entre les héritiers.',
    ])
      expect(ifHeld(query), query).toEqual([])
  })
})
