import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutAtHeadings, type Section } from '#law/import/record/markdown/headings.ts'
import { UnreadableFile } from '#law/readers/tree.ts'

function sectionsOf(body: string): readonly Section[] {
  return cutAtHeadings(body, 1).sections
}

function warnedLines(body: string): readonly number[] {
  return cutAtHeadings(body, 1).warnings.map(({ line }) => line)
}

function cuts(body: string): readonly (readonly [number, string, string])[] {
  return sectionsOf(body).map(({ line, heading, text }) => [line, heading, text])
}

describe('a heading cuts', () => {
  test.each([
    ['ATX', '# One\nText.\n\n### Two ###\nMore.\n'],
    ['ATX, indented by up to three spaces', '   # One\nText.\n\n  ## Two #\nMore.\n'],
    ['ATX, between lone carriage returns', '# One\rText.\r\r## Two\rMore.\r'],
  ])('%s', (_kind, body) => {
    expect(cuts(body)).toEqual([
      [1, 'One', 'Text.'],
      [4, 'Two', 'More.'],
    ])
  })
})

function refusalOf(body: string, firstLine = 1): UnreadableFile | undefined {
  try {
    cutAtHeadings(body, firstLine)
    return undefined
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    return error
  }
}

function faultOf(body: string): number | undefined {
  return refusalOf(body)?.line
}

test.each([
  ['one line above ---', 'Exemption\n---'],
  ['one line above ===', 'Exemption\n==='],
  ['one line above one sign', 'Exemption\n='],
  ['several lines above ---', 'The keeper must act within 14 days\nof the request.\n---'],
  ['a clause above ===', '(a) must never lend a hive, or\n==='],
  ['signs that are indented', 'Exemption\n    ==='],
  ['signs of full width', 'Exemption\n\uFF1D\uFF1D'],
  ['a comment between', 'Exemption\n<!-- a -->\n==='],
  ['code', '    Exemption\n    ---'],
])('underlined text refuses the file at its line: %s', (_kind, text) => {
  expect(faultOf(`# Duty\n\n${text}\n\n### Exemption\nFree.\n`)).toBe(3)
})

test.each(['<a id="b"></a>', '<!-- a -->', '- a keeper', '1. a keeper', '> a keeper', '| a keeper |'])(
  'underlined text refuses the file below %s',
  (above) => {
    for (const signs of ['===', '---'])
      expect(faultOf(`# Duty\n\n${above}\nExemption\n${signs}\n\nFree.\n`)).toBeGreaterThanOrEqual(3)
  },
)

test.each(['Must.\n\n---', '- a\n- b\n---', '> a\n---', '</div>\n---', '```\na\n---\n```'])(
  'a rule below a block is text: %j',
  (block) => {
    expect(cuts(`# One\n---\n\n${block}\n`)).toEqual([[1, 'One', `---\n\n${block}`]])
  },
)

test('a heading that is structure but reads like a rule refuses the file', () => {
  expect(faultOf('# Title\n## A keeper must not lend.\n### Guidance\nFree.\n')).toBe(2)
  expect(cuts('# Title\n## A rule.\nText.\n').map(([, heading]) => heading)).toEqual(['A rule.'])
})

test.each([
  '###BEE 1.3 Lending',
  '#no space',
  '    ### BEE 1.3 in a paragraph or code',
  '\t### BEE 1.3',
  '####### seven',
  '\u200B### BEE 1.3',
  '\uFF03\uFF03 BEE 1.3',
  '> ### BEE 1.3',
  '- ### BEE 1.3',
  '- item\n\n  # no',
  '1. a\n   ### BEE 1.3',
  '> no\n> ===',
  '<h3>BEE 1.3</h3>',
  '```\n# BEE 1.3\n```',
])('a line that only looks like a heading refuses the file: %j', (block) => {
  for (const before of ['', 'Text.\n', 'Text.\n\n'])
    expect(faultOf(`# One\n\n${before}${block}\n`)).toBeGreaterThanOrEqual(3)
})

test.each(['a # b', '\\# no', 'C# and F#', '```sh\n# no\n```', '`# no`', '<!-- a\n# no\n--> b'])(
  'what no reader takes for a heading is text: %j',
  (block) => {
    expect(faultOf(`# One\n\n${block}\n`)).toBeUndefined()
  },
)

test.each([
  '~~ten~~',
  '<del>ten</del>',
  '<strike>ten</strike>',
  '<span hidden>ten</span>',
  '<b class="repealed">ten</b>',
])('%s is left out by a rule, in a text and a heading, and the text in force is whole', (gone) => {
  const cut = cutAtHeadings(`# One ${gone}\n\nThe fee is ${gone} <ins>twenty</ins> crowns, \`~~so~~\`.\n`, 1)
  expect(cut.sections.map(({ heading, text }) => [heading, text])).toEqual([
    ['One', 'The fee is twenty crowns, `~~so~~`.'],
  ])
  expect(cut.omissions.map(({ text }) => text.trim())).toEqual([gone, gone, '<ins>', '</ins>'])
})

test('no heading within a fence cuts', () => {
  const block = '````sh\n# no\n```\n## nor this\n````'
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
  ['a struck element', 'a <del>b\n\nc</del>', 3],
  ['a hidden element', '<p hidden>\n\nc', 3],
])('%s without an end is a fault of the file, with its line', (what, block, line) => {
  const kinds = ['code fence', 'HTML comment', 'struck or hidden element']
  const reason = `${kinds.find((each) => what.includes(each.slice(-7)))} without an end`
  expect(refusalOf(`# One\n\n${block}\n`, 11)).toMatchObject({ line: line + 10, message: reason })
})

test.each([
  ['on lines of its own', 'Must.\n<!--\n# no\n\nneed not\nno\n===\n-->\nSo.', 'Must.\n\nSo.'],
  ['within a sentence', 'Must <!-- need not -->act, `a <!--` b.', 'Must act, `a <!--` b.'],
  ['within HTML, over a blank line', '<div>\n<!--\n\n# no\n-->\nMust.\n</div>', '<div>\n\nMust.\n</div>'],
  ['before text on its last line', '<!--\nneed not\n--> Must.', 'Must.'],
  ['within a quote', '> Must.\n> <!-- need\n> not --> So.', '> Must.\n>  So.'],
])('an HTML comment %s is no law: it is cut out and listed with its line and text', (_where, block, text) => {
  const body = `# One\n\n${block}\n\n# Two <!-- b -->{#two}\nMore.\n`
  const [one, two] = sectionsOf(body)
  expect([one?.heading, one?.text]).toEqual(['One', text])
  expect([two?.heading, two?.anchor, two?.text]).toEqual(['Two', 'two', 'More.'])
  const opening = block.split('\n').findIndex((line) => line.replaceAll(/`[^`]*`/g, '').includes('<!--'))
  const { omissions, warnings } = cutAtHeadings(body, 1)
  expect(warnings).toEqual([])
  expect(omissions).toEqual([
    {
      line: opening + 3,
      rule: 'HTML comment',
      text: expect.stringMatching(/^<!--[^]*need[^]*-->$|^<!--[^]*no[^]*-->$/),
    },
    {
      line: body.split('\n').findIndex((line) => line.startsWith('# Two')) + 1,
      rule: 'HTML comment',
      text: '<!-- b -->',
    },
  ])
})

test('what only looks like an HTML comment is text', () => {
  for (const text of ['`<!--`', '`` ` <!-- ``', '\\<!-- a', '    <!-- a', '```\n<!--\n```', '< !-- a', '<!- a -->'])
    expect(cuts(`# One\n\na\n\n${text}\n`)).toEqual([[1, 'One', `a\n\n${text}`]])
  for (const empty of ['<!-- -->', '<!---->', '<!-->', '<!--\n\n-->'])
    expect(cuts(`# One\na\n\n${empty}\n`)).toEqual([[1, 'One', 'a']])
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

test('any Markdown is refused, or is whole in the headings that passages show, the texts and what is listed', () => {
  const marks = ['# a', '## b', '#c', 'd', '===', '---', '> e', '- f', '  g', '```', '<p>', '', '1. h', '\ti', '  ## j']
  const more = [
    '<!-- k -->',
    'l <!-- m',
    'n --> o',
    '## p <!-- q -->',
    '   # r',
    '> # s',
    '<h2>t',
    '~~~ u',
    '## v {#w}',
  ]
  const lines = fc.array(fc.constantFrom(...marks, ...more), { maxLength: 25 })
  let read = 0
  fc.assert(
    fc.property(lines, fc.constantFrom('\n', '\r\n', '\r'), (written, end) => {
      const body = written.join(end)
      if (refusalOf(body) !== undefined) return
      read += 1
      const { sections, omissions } = cutAtHeadings(body, 1)
      const held = [
        ...sections.map(({ parents, heading, anchor, text }) => [...parents, heading, anchor, text].join(' ')),
        ...omissions.map(({ text }) => text),
      ].join(' ')
      const count = (text: string, letter: string): number => text.split(letter).length - 1
      for (const letter of 'abcdefghijklmnoqrstuv') {
        const without = letter === 'h' ? body.replaceAll('<h2>', '') : body
        expect([letter, count(held, letter) >= count(without, letter)]).toEqual([letter, true])
      }
      expect(new Set(sections.map(({ anchor }) => anchor)).size).toBe(sections.length)
    }),
    { numRuns: 2_000 },
  )
  expect(read).toBeGreaterThan(50)
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
