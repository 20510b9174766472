import { describe, expect, test } from 'vitest'
import { importContents, importLines, line, type Imported } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

function idsOf({ passages }: Imported, language: string): unknown {
  return passages
    .filter(({ metadata }) => metadata.language === language)
    .map(({ source_id, chunk_id, provision, in_force_from, in_force_to }) => ({
      source_id,
      chunk_id,
      provision,
      in_force_from,
      in_force_to,
    }))
}

describe('a document in several languages', () => {
  const en = [line('e', 'EN 2020', { effective: '2020-01-01', lang: 'en' })]
  const fr = ['2020', '2024'].map((year) => line(`f${year}`, `FR ${year}`, { effective: `${year}-01-01`, lang: 'fr' }))

  test('has provisions of its own in each, which no other language changes', async () => {
    const alone = await importLines(fr)
    const both = await importLines([...en, ...fr])
    expect(idsOf(both, 'fr')).toEqual(idsOf(alone, 'fr'))
    const [english, french, later] = both.passages.map(({ provision }) => provision)
    expect(french).toBe(later)
    expect(french).not.toBe(english)
  })

  test('keeps every Markdown id when a file of another language is added, also where texts are equal', async () => {
    const files = Object.fromEntries(
      ['en', 'fr', 'cy'].map((language) => [`${language}.md`, beeRules('# A {#a}\n1, 2, 3\n', { language })] as const),
    )
    const [two, three] = await Promise.all([
      importContents({ 'en.md': files['en.md'] ?? '', 'fr.md': files['fr.md'] ?? '' }),
      importContents({ 'cy.md': files['cy.md'] ?? '', 'en.md': files['en.md'] ?? '', 'fr.md': files['fr.md'] ?? '' }),
    ])
    for (const language of ['en', 'fr']) expect(idsOf(three, language)).toEqual(idsOf(two, language))
    expect(three.passages.map(({ source_id }) => source_id)).toEqual(['bees#a', 'bees#a', 'bees#a'])
    expect(new Set(three.passages.map(({ chunk_id }) => chunk_id)).size).toBe(3)
    expect(three.report.warnings.count).toBe(0)
  })
})
