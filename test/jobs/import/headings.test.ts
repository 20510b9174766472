import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutAtHeadings } from '#jobs/import/headings.ts'
import type { Section } from '#jobs/import/headings.ts'

function sectionsOf(body: string): readonly Section[] {
  return cutAtHeadings(body, 1) ?? []
}

function cuts(body: string): readonly (readonly [number, string, string])[] {
  return sectionsOf(body).map(({ line, heading, text }) => [line, heading, text])
}

describe('a heading cuts', () => {
  test.each([
    ['ATX', '# One\nText.\n\n### Two ###\nMore.\n'],
    ['ATX, indented by up to three spaces', '   # One\nText.\n\n  ## Two #\nMore.\n'],
    ['setext', 'One\n===\nText.\n\nTwo\n---\nMore.\n'],
    ['setext between lone carriage returns', 'One\r=\rText.\r\rTwo\r-\rMore.\r'],
  ])('%s', (_kind, body) => {
    expect(cuts(body)).toEqual([
      [1, 'One', 'Text.'],
      [body.includes('=') ? 5 : 4, 'Two', 'More.'],
    ])
  })

  test('as setext over several lines, which become one heading', () => {
    expect(cuts('The register\n  of hives\n---\nText.\n')).toEqual([[1, 'The register of hives', 'Text.']])
  })
})

test.each([
  ['a fence', '````sh\n# no\n```\n## nor this\n````'],
  ['a fence that is never closed', '~~~\n# no'],
  ['HTML', '<div>\n# no\n</div>'],
  ['a comment over blank lines', '<!--\n\n# no\n\nno\n===\n-->'],
  ['a block quote', '> # no\n>\n> no\n> ==='],
  ['a list', '- item\n\n  # no\n\n  no\n  ---'],
  ['a fence within a list', '- ```\n  # no\n  ```'],
  ['indented code', 'a\n\n    # no'],
])('no heading within %s cuts', (_where, block) => {
  expect(cuts(`# One\n\n${block}\n`)).toEqual([[1, 'One', block]])
})

test('a heading after a list, a quote or closed HTML cuts', () => {
  const blocks = ['- a\n  - b', '> a', '<div>\na\n</div>', '| a |\n| --- |', '[a]: https://a.example']
  const body = blocks.map((block, index) => `# Heading ${index}\n\n${block}\n`).join('\n')
  expect(sectionsOf(body).map(({ heading, text }) => [heading, text])).toEqual(
    blocks.map((block, index) => [`Heading ${index}`, block]),
  )
})

test('the text of a section is the exact text between its heading and the next one', () => {
  const odd = 'A *b* [c](d "e")\\\n\t&amp; <x>\u00A0\u2028\n\n\n1)  z  \n\n```js\nx\n```'
  expect(cuts(`\n\n# One\n\n${odd}\n\n\n# Two\r\n\r\nx\r\ny\r\n`)).toEqual([
    [3, 'One', odd],
    [expect.any(Number), 'Two', 'x\ny'],
  ])
})

test('headings and texts of any Markdown together hold each of its words, in order', () => {
  const piece = fc.constantFrom('# a', '## b', 'c', '===', '---', '> d', '- e', '  f', '```', '<p>', '', '1. g', '\tk')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 25 }), fc.constantFrom('\n', '\r\n', '\r'), (lines, end) => {
      const body = lines.join(end)
      const sections = sectionsOf(body)
      const held = sections.map(({ parents, heading, text }) => [...parents, heading, text].join(' ')).join(' ')
      for (const word of body.match(/[a-z]/g) ?? []) expect(held).toContain(word)
      for (const { text } of sections) expect(body.replaceAll('\r\n', '\n')).toContain(text)
      expect(new Set(sections.map(({ anchor }) => anchor)).size).toBe(sections.length)
    }),
  )
})

describe('an anchor', () => {
  const anchors = (body: string): readonly (readonly [string, string | undefined])[] =>
    sectionsOf(body).map(({ anchor, fragment }) => [anchor, fragment])

  test('of the publisher is kept, whatever an earlier heading without one is called', () => {
    expect(anchors('# Scope\na\n# Range {#scope}\nb\n# Scope\nc\n')).toEqual([
      ['scope-2', undefined],
      ['scope', 'scope'],
      ['scope-3', undefined],
    ])
  })

  test('that the publisher uses again gets a number that nothing else has, and names the first line', () => {
    const body = '# A {#x}\na\n# B {#x-2}\nb\n# C {#x}\nc\n# D {#x}\nd\n'
    expect(sectionsOf(body).map(({ anchor, fragment, repeatsLine }) => [anchor, fragment, repeatsLine])).toEqual([
      ['x', 'x', undefined],
      ['x-2', 'x-2', undefined],
      ['x-3', undefined, 1],
      ['x-4', undefined, 1],
    ])
  })

  test('of a heading that is called like the text before the first heading differs from it', () => {
    expect(anchors('Lead.\n\n# Start\na\n#\nb\n')).toEqual([
      ['start', undefined],
      ['start-2', undefined],
      ['section', undefined],
    ])
    expect(anchors('# Start\na\n')).toEqual([['start', undefined]])
  })

  test('ends the heading: braces elsewhere are words', () => {
    expect(
      sectionsOf('# a {#b} c\nx\n# d {#e f}\nx\n# g {#h}  ##\nx\n# {#i}\nx').map(({ heading, anchor }) => [
        heading,
        anchor,
      ]),
    ).toEqual([
      ['a {#b} c', 'a-b-c'],
      ['d {#e f}', 'd-e-f'],
      ['g', 'h'],
      ['', 'i'],
    ])
  })
})
