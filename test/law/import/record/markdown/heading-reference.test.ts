import { describe, expect, test } from 'vitest'
import { importContents } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

const FRONT = beeRules('', { citation_prefix: 'BEE' })

async function labelsOf(body: string): Promise<readonly string[]> {
  const { passages, report } = await importContents({ 'a.md': FRONT + body })
  expect(report.entries).toEqual([])
  return passages.map(({ citation }) => citation.label)
}

describe('the label of a provision is read whole', () => {
  test.each([
    ['BEE 2.1 Right to cancel', 'BEE 2.1'],
    ['BEE 2\\.1 Right', 'BEE 2.1'],
    ['BEE 2&#46;1 Right', 'BEE 2.1'],
    ['BEE 3 (2) Right', 'BEE 3 (2)'],
    ['BEE 3(2)(a) Right', 'BEE 3(2)(a)'],
    ['BEE 4 bis Right', 'BEE 4 bis'],
    ['BEE § 5-1a: 10 days', 'BEE § 5-1a'],
    ['BEE 2.1 — Right', 'BEE 2.1'],
    ['BEE 2.1 (Repealed in part)', 'BEE 2.1'],
    ['BEE 2.1 A keeper', 'BEE 2.1'],
    ['BEE 2.1.', 'BEE 2.1'],
    ['BEE Rulebook', 'Bee Rulebook, BEE Rulebook'],
  ])('%s is cited as %s', async (heading, label) => {
    expect(await labelsOf(`### ${heading}\nText.\n`)).toEqual([label])
  })

  test.each([
    'BEE 2 . 1 Right',
    'BEE 2 1 Right',
    'BEE 2\\_1 Right',
    'BEE 3 [2] Right',
    'BEE 3, 4 and 5',
    'BEE 3 - 4 Right',
    'BEE 2.Right',
    'Bee 2.1 Right',
    'B\u200BEE 2.1 Right',
    '**BEE 2.1** Right',
    'BEE \u200B2.1 Right',
  ])('a number that is not understood refuses the file: %s', async (heading) => {
    const { passages, report } = await importContents({ 'a.md': `${FRONT}### One\nText.\n### ${heading}\nText.\n` })
    expect(passages).toEqual([])
    expect(report.entries).toMatchObject([{ source: 'a.md', line: 15 }])
    expect(report.lost).toBe(1)
  })

  test('a numbered line in bold refuses the file: its text would count as part of the provision before it', async () => {
    const { report } = await importContents({ 'a.md': `${FRONT}### BEE 1.1 One\nText.\n\n**BEE 1.2 Two**\n\nMore.\n` })
    expect(report.entries).toMatchObject([{ line: 13 }])
  })
})

test('a heading below a numbered one is cited under its number', async () => {
  const body = '### BEE 1.1 Register\nText.\n#### Exception\nMore.\n##### Detail\nLess.\n### Annex\nEnd.\n'
  const { passages } = await importContents({ 'a.md': FRONT + body })
  expect(passages.map(({ citation, references, text }) => [citation.label, references[0], text])).toEqual([
    ['BEE 1.1', 'rulebook:bee#1/1', 'Text.'],
    ['BEE 1.1, Exception', 'rulebook:bee#1/1', 'More.'],
    ['BEE 1.1, Exception, Detail', 'rulebook:bee#1/1', 'Less.'],
    ['Bee Rulebook, Annex', 'rulebook:bee', 'End.'],
  ])
})

test('text between a heading and its first sub-heading is a passage', async () => {
  const body = 'Lead.\n\n# Bees\nOne.\n## Chapter\nTwo.\n### BEE 1.1 Register\nThree.\n'
  const { passages } = await importContents({ 'a.md': FRONT + body })
  expect(passages.map(({ text }) => text)).toEqual(['Lead.', 'One.', 'Two.', 'Three.'])
})

test('the report lists each comment with its place and text', async () => {
  const { report } = await importContents({ 'a.md': `${FRONT}### One\nText <!-- not so -->.\n` })
  expect(report.omissions).toEqual([{ source: 'a.md', line: 14, rule: 'HTML comment', text: '<!-- not so -->' }])
})
