import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { partsOf } from '#law/import/parts/parts.ts'
import { codePointsOf, withoutSpace } from '#law/readers/text.ts'
import { importLines, line } from '#test/support/import.ts'
import LEADS from './lead-ins.json' with { type: 'json' }

/** A text of a whole number of words of one letter, about so long. */
function words(length: number, letter = 'x'): string {
  return `${letter.repeat(7)} `.repeat(length / 8).trim()
}

const PROHIBITION = 'The following practices shall be prohibited:'

test('a part that begins in a list repeats what introduces the list, and its label says so', async () => {
  const items = ['a', 'b', 'c', 'd'].map((mark) => `(${mark})\n${words(1_600, mark)};`)
  const text = `1.   ${PROHIBITION}\n${items.join('\n')}`
  const { passages } = await importLines(line('a', text))
  expect(passages.map(({ citation }) => citation.label)).toEqual([
    'Bees s. 1 (part 1 of 2)',
    'Bees s. 1 (part 2 of 2, lead-in repeated)',
  ])
  expect(passages[1]?.text.startsWith(`1.   ${PROHIBITION}\n[…]\n(c)\nccccccc`)).toBe(true)
  expect(decodeURIComponent(passages[1]?.citation.source_anchor ?? '')).toContain(':~:text=ccccccc')
})

test('a part that begins in a list within a list repeats both introductions', () => {
  const inner = ['i', 'ii', 'iii', 'iv'].map((mark) => `    ${mark})  ${words(1_600, mark[0])},`)
  const text = `In Klauseln ist unwirksam\n\n1.  (Frist) eine Bestimmung, durch die\n\n${inner.join('\n\n')}`
  const [, second] = partsOf(text, 'de', 4_000)
  expect(second?.text).toContain('In Klauseln ist unwirksam\n1.  (Frist) eine Bestimmung, durch die\n[…]\n')
})

test('a part that begins with a paragraph of its own, or after the list, repeats nothing', () => {
  const flat = ['(1)', '(2)', '(3)'].map((mark) => `${mark} ${words(1_800)}.`).join('\n\n')
  expect(partsOf(flat, 'de', 4_000).map(({ leadIn }) => leadIn)).toEqual(['none', 'none'])
  const after = `The keeper\n\n1.  ${words(1_500)};\n\n2.  ${words(1_500)}.\n\nThis section ${words(2_000)}.`
  expect(partsOf(after, 'en', 4_000).map(({ leadIn }) => leadIn)).toEqual(['none', 'none'])
})

test('the ninth letter continues its list, and a Roman number begins one', () => {
  const letters = [...'abcdefghijkl'].map((mark) => `(${mark})\n${words(700, mark)};`).join('\n')
  const parts = partsOf(`A keeper shall not:\n${letters}`, 'en', 4_000)
  expect(parts.length).toBeGreaterThan(2)
  for (const { text } of parts.slice(1)) expect(text.startsWith('A keeper shall not:\n[…]\n(')).toBe(true)
})

test('bullets are one list, and a first number again begins a list beside the one before', () => {
  const bullets = [...'abcdef'].map((mark) => `- ${words(1_200, mark)},`).join('\n')
  for (const { text } of partsOf(`A keeper keeps:\n${bullets}`, 'en', 4_000).slice(1))
    expect(text).toMatch(/^A keeper keeps:\n\[…\]\n- /)
  const two = `A shall:\n(a)\n${words(1_600)};\n(b)\n${words(1_600)}.\nB shall not:\n(a)\n${words(800)};\n(b)\n${words(3_000)}.`
  expect(partsOf(two, 'en', 4_000).at(-1)?.text).toMatch(/(?:^B shall not:|\nB shall not:\n\(a\))/)
})

test('a paragraph number after a list within the paragraph before repeats nothing of that list', () => {
  const text = `(1) The keeper\nkeeps\n\n1.  ${words(1_500)},\n    and\n\n2.  ${words(1_500)}.\n\n(2) The ${words(3_000)}.`
  expect(partsOf(text, 'en', 4_000).at(-1)).toMatchObject({ leadIn: 'none' })
})

test('an inserted number continues its list', () => {
  const items = ['1.', '1a.', '2.', '2a.'].map((mark) => `${mark}  (Frist)\n\n    eine ${words(1_500)};`)
  for (const { text } of partsOf(`In Klauseln ist unwirksam\n\n${items.join('\n\n')}`, 'de', 4_000).slice(1))
    expect(text).toMatch(/^In Klauseln ist unwirksam\n\[…\]\n/)
})

test('a lead-in beyond its bound is not repeated, and the label says so', async () => {
  const text = `The keeper shall not ${words(1_200)}:\n(a)\n${words(1_800)};\n(b)\n${words(1_800)};\n(c)\n${words(400)}.`
  const { passages } = await importLines(line('a', text))
  expect(passages.at(-1)?.citation.label).toContain(', without its lead-in)')
})

test('a part of a list whose sentence ends in another part says so', async () => {
  const items = ['a', 'b', 'c'].map((mark) => `(${mark}) ${words(1_600, mark)};`).join('\n')
  for (const [end, note] of [
    ['commits an offence.', ', without its closing words'],
    ['A keeper commits an offence.', ''],
  ]) {
    const { passages } = await importLines(line('a', `A keeper who:\n${items}\n${end}`))
    expect(passages.map(({ citation }) => citation.label)).toEqual([
      `Bees s. 1 (part 1 of 2${note})`,
      'Bees s. 1 (part 2 of 2, lead-in repeated)',
    ])
  }
})

test('a lead-in that holds the mark of the gap is not repeated', () => {
  const text = `The keeper […] shall not:\n(a)\n${words(2_400)};\n(b)\n${words(2_400)}.`
  expect(partsOf(text, 'en', 4_000).at(-1)).toMatchObject({ leadIn: 'not repeated' })
})

describe('parts of any text', () => {
  test('are within the bound and whole', () => {
    const piece = fc.constantFrom(
      'The keeper shall: ',
      '\n',
      '\n\n',
      '(a)\n',
      '(i) ',
      '1.  ',
      '- ',
      'aa) ',
      '    b) ',
      'no bees. ',
      `${words(400)} `,
      '(1) ',
    )
    fc.assert(
      fc.property(fc.array(piece, { minLength: 20, maxLength: 120 }), (pieces) => {
        const text = pieces.join('')
        const parts = partsOf(text, 'en', 4_000)
        expect(withoutSpace(parts.map(({ own }) => own).join(''))).toBe(withoutSpace(text))
        for (const part of parts) {
          expect(codePointsOf(part.text)).toBeLessThanOrEqual(4_000)
          expect(part.text.endsWith(part.own)).toBe(true)
        }
      }),
    )
  })
})

const LEAD = 'No boat may, without consent:'
test.each([
  ['1°', '2°', '3°', '4°'],
  ['1º', '2º', '3º', '4º'],
  ['[1]', '[2]', '[3]', '[4]'],
  ['1.1', '1.2', '1.3', '1.4'],
  ['2.3.1.', '2.3.2.', '2.3.3.', '2.3.4.'],
  ['(1bis)', '(2bis)', '(3bis)', '(4bis)'],
  ['1bis.', '2bis.', '3bis.', '4bis.'],
  ['', '', '', ''],
])('items marked %s and %s repeat what introduces them, on lines and in paragraphs', (...marks) => {
  const items = marks.map((mark, index) => `${mark} ${words(1_400, 'abcd'[index])};`.trim())
  for (const gap of ['\n', '\n\n'])
    for (const { text } of partsOf(`${LEAD}${gap}${items.join(gap)}`, 'en', 4_000).slice(1))
      expect(text.startsWith(`${LEAD}\n[…]\n`)).toBe(true)
})

test.each(Object.entries(LEADS))('below %s the items %j repeat it', (lead, marks) => {
  const items = marks.map((mark, index) => `${mark}${words(1_400, 'abcd'[index])};`)
  for (const { text } of partsOf([lead, ...items].join('\n'), 'en', 4_000).slice(1))
    expect(text.startsWith(`${lead}\n[…]\n`)).toBe(true)
})

test('what follows a sentence below items without a mark repeats nothing', () => {
  const text = `${LEAD}\n\nmoor ${words(1_500)};\n\nsail ${words(1_500)}.\n\nThis Act ${words(2_000)}.`
  expect(partsOf(text, 'en', 4_000).map(({ leadIn }) => leadIn)).toEqual(['none', 'none'])
})

test.each([
  ['| Class | Fee until 2025 (no longer due) |\n| --- | --- |', (row: string) => `| Vessel ${row} | 11 |`],
  ['Class | Fee until 2025 (no longer due)', (row: string) => `Vessel ${row} | 11`],
])('rows of a table repeat its head and the sentence before it', (head, rowOf) => {
  const rows = Array.from({ length: 300 }, (_, index) => rowOf(String(index)))
  const parts = partsOf(`The second column is no longer due.\n\n${head}\n${rows.join('\n')}\n\nEnd.`, 'en', 4_000)
  expect(parts.length).toBeGreaterThan(1)
  for (const { text, leadIn } of parts.slice(1)) {
    expect(leadIn).toBe('repeated')
    expect(text.startsWith(`The second column is no longer due.\n${head.split('\n')[0]}\n[…]\n`)).toBe(true)
  }
})
