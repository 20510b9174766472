import { describe, expect, test } from 'vitest'
import { canonicalReference, createActAliases, referencesIn } from '#core/index/references/parser/parser.ts'

const ALIASES = createActAliases([['Code civil', 'fr:code-civil']])

function possible(query: string): readonly string[] {
  return referencesIn(query, ALIASES).possible.map(({ reference }) => canonicalReference(reference))
}

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
      expect(possible(query), query).toEqual(expected)
    expect(referencesIn('is article 35(3) about cameras?', ALIASES).named).toHaveLength(1)
  })

  test('is none where the words name another thing, another work or an act, or state law', () => {
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
      expect(possible(query), query).toEqual([])
  })
})
