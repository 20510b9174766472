import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutAtHeadings } from '#jobs/import/headings.ts'
import type { CutMarkdown, Section } from '#jobs/import/headings.ts'

function cutOf(body: string): CutMarkdown {
  const cut = cutAtHeadings(body, 1)
  if ('reason' in cut) throw new Error(`line ${cut.line}: ${cut.reason}`)
  return cut
}

function sectionsOf(body: string): readonly Section[] {
  return cutOf(body).sections
}

function warnedLines(body: string): readonly number[] {
  return cutOf(body).warnings.map(({ line }) => line)
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
})

test.each([
  ['several lines', 'The keeper must act within 14 days\nof the request.'],
  ['several lines without the end of a sentence', 'The register\n  of hives'],
  ['the end of a sentence', 'The keeper must act within 14 days.'],
  ['the end of a sentence before a bracket and an anchor', '(The keeper may not act!) {#a}'],
  ['a colon', 'The keeper keeps:'],
])('underlined text of %s is text, with a warning that names its line', (_kind, text) => {
  const rule = `${text}\n---`
  const body = `# Duty\n${rule}\nSource: Gazette 3.\n\n### Exemption\nFree.\n`
  const next = body.split('\n').indexOf('### Exemption') + 1
  expect(cuts(body)).toEqual([
    [1, 'Duty', `${rule}\nSource: Gazette 3.`],
    [next, 'Exemption', 'Free.'],
  ])
  expect(warnedLines(body)).toEqual([2])
  expect(cuts(`# Duty\n${rule}\n### Exemption\nFree.\n`)[0]).toEqual([1, 'Duty', rule])
})

test('a heading that is structure but reads like a rule is named in a warning', () => {
  const body = '# A keeper must not lend.\n## Guidance\nFree.\n# Title\n## A rule.\nText.\n'
  expect(cuts(body).map(([, heading]) => heading)).toEqual(['Guidance', 'A rule.'])
  expect(warnedLines(body)).toEqual([1])
})

test.each([
  ['a fence', '````sh\n# no\n```\n## nor this\n````'],
  ['a block quote', '> # no\n>\n> no\n> ==='],
  ['a list', '- item\n\n  # no\n\n  no\n  ---'],
  ['a fence within a list', '- ```\n  # no\n  ```'],
  ['indented code', 'a\n\n    # no'],
])('no heading within %s cuts', (_where, block) => {
  expect(cuts(`# One\n\n${block}\n`)).toEqual([[1, 'One', block]])
})

test('a line in a fence that looks like a heading is named in a warning', () => {
  expect(warnedLines('# One\n\n```sh\nls\n# no\n## nor this\n```\n\n~~~\n#no\n~~~\n')).toEqual([5])
})

test.each([
  ['a code fence', '```\n# Two\nMore.', 3],
  ['a code fence at the very end', '~~~', 3],
  ['a code fence whose end is too short', '````\n# Two\n```', 3],
  ['an HTML comment', 'a\n\n<!-- note\n\n# Two\nMore.', 5],
  ['an HTML comment within a paragraph', 'a\nb <!-- note\n# Two\n-->', 4],
  ['an HTML comment within HTML', '<div>\n<!-- note\n\n# Two\n</div>', 4],
  ['a second HTML comment', '<!-- a --> b <!-- c\n# Two\nMore.', 3],
])('%s without an end is a fault of the file, with its line', (what, block, line) => {
  const reason = what.includes('fence') ? 'code fence without an end' : 'HTML comment without an end'
  expect(cutAtHeadings(`# One\n\n${block}\n`, 11)).toEqual({ line: line + 10, reason })
})

test.each([
  ['on lines of its own', 'Must.\n<!--\n# no\n\nneed not\nno\n===\n-->\nSo.', 'Must.\n\nSo.'],
  ['within a sentence', 'Must <!-- need not -->act, `a <!--` b.', 'Must act, `a <!--` b.'],
  ['within HTML, over a blank line', '<div>\n<!--\n\n# no\n-->\nMust.\n</div>', '<div>\n\nMust.\n</div>'],
  ['before text on its last line', '<!--\nneed not\n--> Must.', 'Must.'],
  ['within a quote', '> Must.\n> <!-- need\n> not --> So.', '> Must.\n>  So.'],
])('an HTML comment %s is no law: it is cut out, with a warning', (_where, block, text) => {
  const body = `# One\n\n${block}\n\n# Two <!-- b -->{#two}\nMore.\n`
  const [one, two] = sectionsOf(body)
  expect([one?.heading, one?.text]).toEqual(['One', text])
  expect([two?.heading, two?.anchor, two?.text]).toEqual(['Two', 'two', 'More.'])
  const opening = block.split('\n').findIndex((line) => line.replaceAll(/`[^`]*`/g, '').includes('<!--'))
  expect(warnedLines(body)).toEqual([opening + 3, body.split('\n').findIndex((line) => line.startsWith('# Two')) + 1])
})

test('what only looks like an HTML comment is text, and a comment without words gives no warning', () => {
  for (const text of ['`<!--`', '`` ` <!-- ``', '\\<!-- a', '    <!-- a', '```\n<!--\n```', '< !-- a', '<!- a -->'])
    expect(cuts(`# One\n\na\n\n${text}\n`)).toEqual([[1, 'One', `a\n\n${text}`]])
  for (const empty of ['<!-- -->', '<!---->', '<!-->', '<!--\n\n-->'])
    expect([cuts(`# One\na\n\n${empty}\n`), warnedLines(`# One\na\n\n${empty}\n`)]).toEqual([[[1, 'One', 'a']], []])
})

test.each(['<a name="x">', '<div>', '<pre>\n\na', '<script>', '<?a', '<![CDATA[', '</p>', '<!X'])(
  'HTML never swallows a heading: %s',
  (html) => {
    const body = `# One\n\n${html}\n# Two\nText.\n\n\`\`\`\n# no\n\`\`\`\n\n${html}\nb\n### Three\nMore.\n`
    expect(sectionsOf(body).map(({ heading }) => heading)).toEqual(['One', 'Two', 'Three'])
  },
)

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
  const lines = fc.array(piece, { maxLength: 25 })
  fc.assert(
    fc.property(lines, fc.constantFrom('\n', '\r\n', '\r'), (written, end) => {
      const body = written.join(end)
      const cut = cutAtHeadings(body, 1)
      fc.pre('sections' in cut)
      const { sections } = cut
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

  test('is the same for one heading in NFC and in NFD', () => {
    expect(anchors('# Caf\u00E9 1\na\n')).toEqual(anchors('# Cafe\u0301 1\na\n'))
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
