import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { splitText } from '#law/import/parts/split.ts'
import { codePointsOf } from '#law/readers/text.ts'

const withoutSpace = (text: string): string => text.replaceAll(/\s+/g, '')
const piece = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      'The keeper registers. ',
      'Art. 5 applies. ',
      '(a)\n',
      '1.  ',
      '\n\n',
      '\n',
      ' ',
      '§ 3 Abs. 1 Nr. 2 gilt. ',
      '\r\n',
      '𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ',
      '👩‍👩‍👧‍👦',
      'e\u0301',
      '—',
      '\u2028',
    ),
  },
)

describe('splitting a text', () => {
  test('loses nothing and keeps every part within the bound, whatever the text (astral characters too)', () => {
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 60 }),
        fc.integer({ min: 5, max: 80 }),
        fc.constantFrom('en', 'de', 'fr'),
        (pieces, charactersMax, language) => {
          const text = pieces.join('')
          const parts = splitText(text, language, charactersMax)
          expect(withoutSpace(parts.join(''))).toBe(withoutSpace(text))
          let from = 0
          for (const part of parts) {
            expect(codePointsOf(part)).toBeLessThanOrEqual(charactersMax)
            expect(part.isWellFormed()).toBe(true)
            const at = text.indexOf(part, from)
            expect(text.slice(from, at).trim()).toBe('')
            from = at + part.length
          }
        },
      ),
      { numRuns: 400 },
    )
  })

  test('leaves a text of exactly the bound whole, counted in code points', () => {
    expect(splitText('𝔘'.repeat(40), 'en', 40)).toEqual(['𝔘'.repeat(40)])
    expect(splitText('𝔘'.repeat(41), 'en', 40)).toHaveLength(2)
  })

  test('cuts at paragraphs where they are short enough', () => {
    const paragraphs = [
      'First one. It has two sentences.',
      'Second one. It has two sentences.',
      'Third one. It has two sentences.',
    ]
    expect(splitText(paragraphs.join('\n\n'), 'en', 40)).toEqual(paragraphs)
  })

  test('cuts a long paragraph at sentences, never after an abbreviation or inside a hard-wrapped line', () => {
    const text =
      'Nach Art. 5 Abs. 1 Nr. 2\ngilt die Pflicht des Imkers fort. Nach Art. 6 gilt sie\nauch für den Erben des Imkers.'
    expect(splitText(text, 'de', 70)).toEqual([
      'Nach Art. 5 Abs. 1 Nr. 2\ngilt die Pflicht des Imkers fort.',
      'Nach Art. 6 gilt sie\nauch für den Erben des Imkers.',
    ])
  })

  test('keeps the number of a clause with its text', () => {
    const text = '(a)\nthe keeper of the bees;\n(b)\nthe owner of the hives;\n(c)\nthe tenant of the land.'
    expect(splitText(text, 'en', 35)).toEqual([
      '(a)\nthe keeper of the bees;',
      '(b)\nthe owner of the hives;',
      '(c)\nthe tenant of the land.',
    ])
  })

  test('cuts inside a sentence only if it is too long by itself, and then at a word', () => {
    expect(splitText('one two three four five six seven', 'en', 12)).toEqual([
      'one two',
      'three four',
      'five six',
      'seven',
    ])
  })

  test('leaves no crumb at the end where parts can be of about equal length', () => {
    const text = Array.from({ length: 11 }, (_, index) => `Sentence number ${String(index).padStart(2, '0')}.`).join(
      ' ',
    )
    const lengths = splitText(text, 'en', 200).map((part) => part.length)
    expect(Math.min(...lengths)).toBeGreaterThan(80)
  })
})
